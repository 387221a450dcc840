"""Text of web pages that looks like Markdown gives the page no structure; its elements do."""

import time

import pytest

from app.adapters.loading.page_lines import tidied_lines
from app.adapters.loading.page_markdown import MAX_ELEMENTS
from app.adapters.loading.web_page import read_page
from app.adapters.splitting.boundaries import map_text
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.structure import read_structure
from tests.processor_speed import is_within


def markdown(body):
    return read_page(f"<body>{body}</body>", "http://h/x").markdown


def structure(text):
    return read_structure(Lines(text, map_text(text)))


def headings(text):
    return [heading.path[-1] for heading in structure(text).headings]


TEXTS = {
    "tildes": ("<p>~~~~~~~~</p>", "\\~~~~~~~~"),
    "ticks": ("<p>```</p>", "\\```"),
    "ticks with a language": ("<p>```py</p>", "\\```py"),
    "hash": ("<p># apt install foo</p>", "\\# apt install foo"),
    "hashes in lines": ("<div># a<br># b<br>ls</div>", "\\# a\n\\# b\nls"),
    "hash in a soft line": ("<p>foo\n## bar</p>", "foo\n\\## bar"),
    "hash alone": ("<p>#</p>", "\\#"),
    "underline": ("<p>Foo<br>---<br>bar</p>", "Foo\n\\---\nbar"),
    "short underline": ("<p>Foo<br>=<br>bar</p>", "Foo\n\\=\nbar"),
    "rule": ("<p>Long text<br>***<br>bar</p>", "Long text\n\\***\nbar"),
    "line to write on": ("<p>Your name:<br>______</p>", "Your name:\n\\______"),
    "underline of reStructuredText": ("<p>Foo<br>^^^^</p>", "Foo\n\\^^^^"),
    "prompts": ("<p>Foo<br>&gt;&gt;&gt;</p>", "Foo\n\\>>>"),
    "over and under": ("<p>===<br>Foo<br>===</p>", "===\nFoo\n\\==="),
    "ruler of a table": ("<p>=== ==<br>a b</p>", "\\=== ==\na b"),
    "comment of MDX": ("<p>{/* a */}</p>", "\\{/* a */}"),
    "heading in HTML": ("<p>&lt;H1&gt;a&lt;/H1&gt;</p>", "\\<H1>a</H1>"),
    "heading in elements": (
        "<p>&lt;div&gt; &lt;a href=x&gt;&lt;h3 id=y&gt;a&lt;/h3&gt;</p>",
        "\\<div> <a href=x><h3 id=y>a</h3>",
    ),
    "item": ("<ul><li># a<br>b<li>~~~</ul>", "- \\# a\n  b\n- \\~~~"),
    "quote": ("<blockquote># a<br>--</blockquote>", "> \\# a\n> \\--"),
    "definition": ("<dl><dt>a<dd>```</dl>", "a\n:   \\```"),
    "struck out": ("<p><del>~a</del></p>", "\\~~~a~~"),
    "lines in code": ("<p><code>a<br># b</code></p>", "`a\n\\# b`"),
    "label of a tab": (
        "<div role=tablist><a role=tab># a</a></div><pre role=tabpanel>x</pre>",
        "\\# a\n\n```\nx\n```",
    ),
    "control characters": ("<p>&#2;# a</p>", "\\# a"),
}


@pytest.mark.parametrize(("body", "expected"), TEXTS.values(), ids=TEXTS)
def test_text_that_markdown_would_read_as_structure_is_escaped(body, expected):
    read = markdown(f"<h2>Install</h2>{body}<h2>Use</h2>")
    assert read == f"## Install\n\n{expected}\n\n## Use"
    assert headings(read) == ["Install", "Use"]


@pytest.mark.parametrize(
    "text",
    [
        *("#12 is fixed", "C# is", "a ~~~ b", "~~a~~", "--flag", "- a", "> a", "***", "---"),
        *("Foo bar\n...", "-- \nx", "Foo\n--- a", "a\n- - -", "a_b *c*", "``` a ```"),
        *("a <h1>b</h1>", "<h7>a</h7>", "<div> a <h1>"),
    ],
)
def test_other_text_is_as_it_is_written(text):
    written = text.replace("<", "&lt;")
    expected = "\n".join(line.rstrip() for line in text.split("\n"))
    assert markdown(f"<p>a</p><p>{written}</p>") == f"a\n\n{expected}"


def test_the_headings_rules_and_code_of_a_page_are_not_escaped():
    code = "# a\n~~~\n\n\n---\n```"
    parts = f"<h3># real</h3>text<hr><pre>{code}</pre>"
    fenced = f"````\n{code}\n````"
    read = markdown(f"{parts}<ul><li>{parts}</ul><blockquote>{parts}</blockquote>")
    plain = f"### # real\n\ntext\n\n---\n\n{fenced}"
    assert read.startswith(f"{plain}\n\n- ### # real\n\n  text\n\n  ---\n\n  ````\n  # a\n  ~~~\n")
    assert "> ### # real\n>\n> text\n>\n> ---\n>\n> ````\n> # a\n> ~~~\n>\n>\n> ---\n" in read
    assert "\\" not in read
    assert len(structure(read).blocks) == 3


def test_code_in_a_definition_keeps_its_lines():
    read = markdown("<dl><dt>a<dd><pre># x\n\n\n# y</pre>b</dl>")
    assert read == "a\n:   ```\n    # x\n\n\n    # y\n    ```\n\n    b"


@pytest.mark.parametrize("mark", ["b", "em", "del", "code"])
def test_blocks_within_a_mark_stay_blocks(mark):
    read = markdown(f"<{mark}><h2>A</h2><pre># x</pre></{mark}><h2>B</h2>")
    assert read == "## A\n\n```\n# x\n```\n\n## B"


def test_the_text_of_a_page_of_very_many_elements_is_escaped_as_well_and_its_code_is_not():
    code = "<pre># a\n<span>b</span>\n----\n```\n  c &lt;p&gt;</pre>"
    read = markdown(f"{code}<p>~~~</p>" + "<p>b</p>" * MAX_ELEMENTS)
    lines = [line for line in read.splitlines() if line][:9]
    assert lines == ["````", "# a", "b", "----", "```", "  c <p>", "````", "\\~~~", "b"]


@pytest.mark.parametrize("empty", ["<h2></h2>", "<h2>&nbsp;</h2>", "<h2><img src='x.png'></h2>"])
def test_a_heading_without_text_is_none_and_leaves_what_follows_in_its_section(empty):
    read = markdown(f"<h1>Pump</h1><h2>Install</h2><p>a</p>{empty}<p>b</p>")
    assert read == "# Pump\n\n## Install\n\na\n\nb"


@pytest.mark.parametrize(
    "start", ["> ", ">", "- ", "1. ", "`", "=", "= ", "#", "-", " ", "<a>", "<a", "<"]
)
def test_long_lines_of_signs_are_read_in_linear_time(start):
    line = start * 200_000
    started = time.process_time()
    tidied_lines(f"{line}x\na\n{line}x\n{line}")
    assert is_within(1, started)  # 0.3 s
