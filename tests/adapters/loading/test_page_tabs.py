"""The labels of tabs on web pages stand above what they show, or not at all."""

import pytest

from app.adapters.loading.web_page import read_page

TWO = "npm\n\nnpm add x\n\nYarn\n\nyarn add x"
PANELS = '<div role="tabpanel">npm add x</div><div role="tabpanel" hidden>yarn add x</div>'


def markdown(body):
    return read_page(f"<body>{body}</body>", "http://h/x").markdown


def tab_list(*tabs, tag="div"):
    return f'<{tag} role="tablist" class="nav nav-tabs">{"".join(tabs)}</{tag}>'


BUTTONS = tab_list("<button role=tab>npm</button>", "<button role=tab>Yarn</button>")
ITEMS = tab_list("<li role=tab>npm</li>", "<li role=tab>Yarn</li>", tag="ul")
ITEMS_OF_BUTTONS = tab_list(
    "<li><button role=tab>npm</button>", "<li><button role=tab>Yarn</button>", tag="ul"
)
LINKS = tab_list(
    "<li role=presentation><a role=tab href='#n'>npm</a>",
    "<li role=presentation><a role=tab href='#y'><b>Yarn</b></a>",
    tag="ul",
)
MATERIAL = """<div class="tabbed-set"><input type="radio"><input type="radio"><div
    class="tabbed-labels"><label>npm</label><label>Yarn</label></div><div class="tabbed-content">
    <div class="tabbed-block"><p>npm add x</p></div><div class="tabbed-block">yarn add x</div></div>
    </div>"""
DESIGN = """<div class="sd-tab-set"><input type="radio"><label class="sd-tab-label">npm</label><div
    class="sd-tab-content">npm add x</div><input type="radio"><label>Yarn</label><div>yarn add x
    </div></div>"""


@pytest.mark.parametrize(
    "page",
    [
        BUTTONS + PANELS,
        f"<div>{ITEMS}<div>{PANELS}</div></div>",
        f"{ITEMS_OF_BUTTONS}<div>{PANELS}</div>",
        f"<section><div>{LINKS}</div>{PANELS}</section>",
        MATERIAL,
        DESIGN,
    ],
    ids=["Sphinx", "Docusaurus", "Docsy", "Starlight", "Material", "sphinx-design"],
)
def test_the_label_of_a_tab_stands_above_what_it_shows(page):
    assert markdown(page) == TWO


def test_code_in_tabs_has_their_labels_and_no_name_of_its_language():
    block = '<div class="language-sh"><span class="lang">sh</span><pre><code>{} add x</code></div>'
    page = f"""<div class="vp-code-group"><div class="tabs"><input type="radio"><label>npm</label>
        <input type="radio"><label>Yarn</label></div><div class="blocks">{block.format("npm")}
        {block.format("yarn")}</div></div>"""
    assert markdown(page) == ("npm\n\n```sh\nnpm add x\n```\n\nYarn\n\n```sh\nyarn add x\n```")


CODE = "<pre role=tabpanel class=language-sh>npm add x</pre><pre role=tabpanel>yarn add x</pre>"
IN_BLOCKS = "npm\n\n```sh\nnpm add x\n```\n\nYarn\n\n```\nyarn add x\n```"


def indented(first, mark, blank):
    """What is expected of code in tabs within something that marks its lines."""
    lines = IN_BLOCKS.split("\n")
    return "\n".join([first + lines[0], *(mark + line if line else blank for line in lines[1:])])


@pytest.mark.parametrize(
    ("page", "read"),
    [
        (BUTTONS + CODE, IN_BLOCKS),
        (f"<section>{LINKS}<div>{CODE}</div></section>", IN_BLOCKS),
        (f"<ol><li>{BUTTONS}{CODE}</ol>", indented("1. ", "   ", "")),
        (f"<blockquote>{BUTTONS}{CODE}</blockquote>", indented("> ", "> ", ">")),
        (
            """<div class=vp-code-group><div class=tabs><label>npm\n i</label></div><div
            class=blocks><pre><div>a</div><div>b</div></pre></div></div>""",
            "npm i\n\n```\na\nb\n```",
        ),
        (
            f"<table><tr><th>A<th>B<tr><td>{BUTTONS}{CODE}<td>c</table>",
            "| A | B |\n| --- | --- |\n| npm `npm add x` Yarn `yarn add x` | c |",
        ),
        (f"<pre>{BUTTONS}{CODE}</pre>", "```\nnpm\nnpm add x\nYarn\nyarn add x\n```"),
        (
            f"{BUTTONS}<pre role=tabpanel></pre><pre role=tabpanel>x</pre>",
            "npm\n\nYarn\n\n```\nx\n```",
        ),
    ],
    ids=[
        "plain",
        "in a div",
        "in a list",
        "in a quote",
        "in a code group",
        "in a cell",
        "in code",
        "empty",
    ],
)
def test_code_that_a_tab_shows_by_itself_has_its_label(page, read):
    assert markdown(page) == read


def test_the_labels_of_code_are_those_of_tabs():
    assert markdown("<pre data-tab-label=x>code</pre>") == "```\ncode\n```"


def test_a_word_of_the_class_of_such_names_is_read_elsewhere():
    assert markdown("<p>The word <span class=lang>sh</span> is short.") == "The word sh is short."


def test_tabs_within_a_tab_have_their_own_labels():
    inner = "<div role=tablist><b role=tab>1</b><b role=tab>2</b></div><p role=tabpanel>x</p>"
    page = f"{BUTTONS}<div role=tabpanel>{inner}<p role=tabpanel>y</div><div role=tabpanel>z</div>"
    assert markdown(page) == "npm\n\n1\n\nx\n\n2\n\ny\n\nYarn\n\nz"


def test_tabs_that_follow_others_have_their_own_labels():
    assert markdown(f"<div>{BUTTONS}{PANELS}{ITEMS}{PANELS}</div>") == f"{TWO}\n\n{TWO}"


@pytest.mark.parametrize("tabs", [BUTTONS, ITEMS, LINKS])
def test_tabs_that_only_filter_what_is_below_are_left_out(tabs):
    assert markdown(f"{tabs}<div role=tabpanel>all</div>") == "all"


@pytest.mark.parametrize("tabs", [BUTTONS, ITEMS_OF_BUTTONS, LINKS])
def test_tabs_that_lead_elsewhere_are_left_out(tabs):
    assert markdown(f"{tabs}<p>text</p>") == "text"


def test_labels_without_anything_to_show_are_not_glued_together():
    page = tab_list("<span role=tab>npm</span>", "<span role=tab>Yarn</span>")
    assert markdown(f"{page}<p>text</p>") == "npm\n\nYarn\n\ntext"


def test_what_unfolds_below_its_own_heading_stays_as_it_is():
    unfolding = "<h3 role=tab>{}</h3><div role=tabpanel>{}</div>"
    page = f"<div role=tablist>{unfolding.format('A', 'a')}{unfolding.format('B', 'b')}</div>"
    assert markdown(page) == "### A\n\na\n\n### B\n\nb"


@pytest.mark.parametrize("inner", ["<p>text</p>", f"<a role=tab>A</a><p>{'text ' * 30}</p>"])
def test_what_else_stands_in_a_list_of_tabs_is_read(inner):
    assert "text" in markdown(f"<div role=tablist>{inner}</div><div role=tabpanel>x</div>")


def test_a_tab_that_is_a_text_is_no_switch():
    text = "What it costs and why. " * 9
    page = f"<div role=tablist><div role=tab>{text}</div></div><div role=tabpanel>x</div>"
    assert markdown(page) == f"{text.strip()}\n\nx"


def test_an_empty_item_of_a_list_is_not_written():
    assert markdown("<ol><li>a<li><i></i><li>c</ol>") == "1. a\n3. c"
