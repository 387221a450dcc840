"""What of a page is read: its content, wherever its markup puts that, and not what is around it."""

import pytest

from app.adapters.loading.web_page import read_page

PROSE = "Stop the database and copy it. "
LINKS = "<ul><li><a href=/a>Start here</a><li><a href=/b>All about it</a></ul>"


def markdown(body):
    page = f"<!doctype html><html><head><title>T</title></head><body>{body}</body></html>"
    return read_page(page, "http://h/x").markdown


def test_a_form_around_the_page_is_read_and_its_controls_are_not():
    controls = "<input type=hidden value=a><input type=search><select><option>All</select>"
    page = f"""<a href="#m">Skip to content</a><form id="aspnetForm">{controls}<h1>Backup</h1>
        <p>{PROSE * 20}</p><button>Go</button></form>"""
    read = markdown(page)
    assert read.startswith("Skip to content\n\n# Backup\n\nStop the database")
    assert "All" not in read
    assert "Go" not in read


def test_a_form_with_the_page_s_heading_is_read_however_short_it_is():
    form = "<form><input type=search><h1>Backup</h1><p>Copy the file.</p></form>"
    assert markdown(f"<p>Skip to content</p>{form}").endswith("# Backup\n\nCopy the file.")


def test_a_form_without_controls_is_a_text():
    assert markdown("<p>Before.<form><p>Copy the zanzibar file.</form>") == (
        "Before.\n\nCopy the zanzibar file."
    )


@pytest.mark.parametrize(
    "attributes", ["role=dialog", "role=alertdialog aria-modal=true", "aria-modal=true"]
)
def test_a_dialog_such_as_a_notice_on_cookies_is_left_out_unless_it_is_all_there_is(attributes):
    notice = f"<div id=cookie-law {attributes}><p>{'We use cookies. ' * 20}</p></div>"
    assert markdown(f"{notice}<h1>Backup</h1><p>Copy it.</p>") == "# Backup\n\nCopy it."
    assert markdown(notice).startswith("We use cookies.")


def test_a_form_to_fill_in_is_left_out():
    form = "<form><h2>News by mail</h2><label>Address <input></label><button>Go</button></form>"
    assert markdown(f"<p>Content.</p>{form}") == "Content."


@pytest.mark.parametrize("frame", ["main", "article", "div role=main"])
def test_a_frame_with_next_to_nothing_in_it_is_not_the_content(frame):
    end = frame.split(maxsplit=1)[0]
    beside = f"<div><h1>Guide</h1><p>{PROSE * 30}</p></div>"
    read = markdown(f"{beside}<{frame}><h3>News</h3><p>2.0 is out</p></{end}><p>Then restart.</p>")
    assert read.startswith("# Guide\n\nStop the database")
    assert read.endswith("### News\n\n2.0 is out\n\nThen restart.")


def test_an_article_is_the_content_where_the_main_element_is_an_empty_frame():
    page = f"<main><p>skip</p></main><div><article><h1>Real</h1><p>{PROSE * 10}</article></div>"
    assert markdown(page).startswith("# Real\n\nStop the database")


def test_a_short_main_element_stands_against_a_long_notice_and_long_menus():
    notice = f"<div>{'We use cookies. ' * 10}</div>"
    menu = f"<div class=other>{LINKS * 50}</div>"
    assert markdown(f"{menu}<main><p>Copy the file by hand.</p></main>{notice}") == (
        "Copy the file by hand."
    )


def test_what_a_script_shows_later_is_read_where_it_holds_the_main_element():
    page = '<div style="display:none"><main><p>content</p></main></div><p>Loading…</p>'
    assert markdown(page) == "content"


def test_what_is_hidden_or_beside_is_read_where_next_to_nothing_is_left_without():
    page = f"<nav>menu</nav><div hidden><p>{PROSE * 10}</p></div><p>Loading…</p><footer>f</footer>"
    assert markdown(page) == f"{(PROSE * 10).strip()}\n\nLoading…"


def test_a_header_with_a_text_is_read_and_one_with_a_menu_is_not():
    text = "<header><h1>Spec</h1><p>Abstract: port 4711.</p></header>"
    menu = f"<header><h1>Site</h1><p>All for you.</p><nav>{LINKS}</nav></header>"
    sections = f"<section><header><h2>1</h2></header><p>{PROSE * 30}</p></section>"
    read = markdown(menu + text + sections)
    assert read.startswith("# Spec\n\nAbstract: port 4711.\n\n## 1\n\nStop the database")


def test_a_header_with_the_page_s_only_title_is_read_unless_it_is_a_menu():
    title = '<header id="title-block-header"><h1 class="title">Pandoc</h1>{}</header>'
    text = f"<h2>One</h2><p>{PROSE * 30}</p>"
    assert markdown(title.format("") + text).startswith("# Pandoc\n\n## One\n\nStop")
    assert markdown(title.format(f"<nav>{LINKS}</nav>") + text).startswith("## One")
    assert markdown(title.format(f"{LINKS}") + text).startswith("## One")
    assert markdown(title.format("") + "<h1>Page</h1>" + text).startswith("# Page\n\n## One")


OF_CLASS = "<h2>Lamp(name)</h2><div class=class-description>A lamp lit from afar.</div>"
METHODS = f"<article><h3>Methods</h3><p>{PROSE * 3}</p></article>"


def test_the_header_of_the_section_that_an_only_article_stands_in_is_read():
    page = f"""<div id=main><h1 class=page-title>Class: Lamp</h1><section>\n<header>{OF_CLASS}
        </header>\n<!-- members -->\n{METHODS}</section></div><div>By us</div>"""
    assert markdown(page) == (
        f"## Lamp(name)\n\nA lamp lit from afar.\n\n### Methods\n\n{PROSE * 3}".strip()
    )


@pytest.mark.parametrize(
    "before",
    [
        f"<header>{OF_CLASS}</header>",
        f"<section><header>{OF_CLASS}<nav>{LINKS}</nav></header>",
        f"<section><header><h2>Lamps</h2>{LINKS}</header>",
        "<section><header>Lit from afar.</header>",
        f"<section><header>{OF_CLASS}</header><p>Read this first.</p>",
        f"<section><header>{OF_CLASS}</header></section>",
    ],
    ids=["the page's", "with a menu", "of links", "no heading", "further up", "another section"],
)
def test_another_header_before_an_only_article_is_left_out(before):
    assert markdown(f"{before}{METHODS}") == f"### Methods\n\n{PROSE * 3}".strip()


def test_an_only_article_below_a_heading_of_the_text_is_one_part_of_it():
    function = f"<article><h4>run(Name)</h4><p>{PROSE * 3}</p></article>"
    page = f"""<h1>lamps</h1><nav>{LINKS}</nav><h3>Description</h3><p>{PROSE}</p>
        <h3>Exports</h3><div>{function}</div><h3>See also</h3><p>torches(3)</p>"""
    read = markdown(page)
    assert [line for line in read.splitlines() if line.startswith("#")] == [
        *("# lamps", "### Description", "### Exports", "#### run(Name)", "### See also"),
    ]
    assert "Start here" not in read


@pytest.mark.parametrize(
    "before",
    [
        "<h1>Our site</h1>",
        "<h2>Just another site</h2>",
        "<header><h1>Our site</h1><h2>It is about lamps</h2></header>",
        "<aside><h2>News</h2><p>2.0 is out</p></aside>",
    ],
    ids=["the site's", "of the same level", "in a header", "beside"],
)
def test_an_only_article_below_another_heading_is_the_content(before):
    article = f"<article><h2>Lamps</h2><h3>Lit from afar</h3><p>{PROSE * 3}</p></article>"
    read = markdown(f"{before}{article}<div><h3>2 comments</h3><p>Nice.</p></div>")
    assert read == f"## Lamps\n\n### Lit from afar\n\n{PROSE * 3}".strip()


@pytest.mark.parametrize("around", ["{}", "<main>{}</main>"])
def test_the_footer_of_a_quotation_or_figure_is_read_and_that_of_its_page_is_not(around):
    quote = "<blockquote>Wise words<footer>— Einstein</footer></blockquote>"
    figure = "<figure><p>A table</p><footer>From a book</footer></figure>"
    read = markdown(around.format(f"{quote}{figure}<p>Text.</p><footer>By us</footer>"))
    assert read == "> Wise words\n>\n> — Einstein\n\nA table\n\nFrom a book\n\nText."


@pytest.mark.parametrize(
    "footer",
    [
        "<div id=footer><div id=footer-text>Last updated 2024-05-31 00:35:55 UTC</div></div>",
        "<div class=footer><hr>Generated by GTK-Doc V1.33.1</div>",
        "<hr><address class=footer><small>Generated by doxygen 1.9.4</small></address>",
        "<p class='page footer'>By us",
    ],
    ids=["Asciidoctor", "gtk-doc", "Doxygen", "other"],
)
def test_what_is_called_the_footer_of_a_page_is_left_out_unless_it_is_all_there_is(footer):
    page = markdown(f"<h1>Backup</h1><p>{PROSE}</p>{footer}")
    assert page.removesuffix("\n\n---") == f"# Backup\n\n{PROSE.strip()}"
    assert markdown(footer)


@pytest.mark.parametrize(
    "part",
    [
        "<div class=section id=footer><h2>The footer</h2><p>It holds the address.</p></div>",
        "<h2 id=footer>It holds the address.</h2>",
        "<article><div class=footer>It holds the address.</div></article>",
        "<section><p class=footer>It holds the address.</p></section>",
    ],
    ids=["section", "heading", "in an article", "in a section"],
)
def test_a_part_of_the_text_that_is_called_a_footer_is_read(part):
    assert "It holds the address." in markdown(f"<p>{PROSE}</p>{part}")


def test_the_name_of_the_project_above_each_page_of_doxygen_is_left_out():
    area = """<div id="titlearea"><table><tr><td id="projectlogo"><img alt="Logo" src="l.png"></td>
        <td><div id="projectname">Eigen 3.4.0</div></td></tr></table></div>"""
    assert markdown(f"{area}<h1>Backup</h1><p>{PROSE}") == f"# Backup\n\n{PROSE.strip()}"


def test_a_header_in_what_is_main_by_its_role_is_its_own():
    page = "<h1>Site</h1><div role=main><header><h1>Real heading</h1></header><p>Copy it.</p></div>"
    assert markdown(page) == "# Real heading\n\nCopy it."


@pytest.mark.parametrize("content", ["main", "article"])
@pytest.mark.parametrize(
    "part",
    [
        '<aside class="starlight-aside starlight-aside--danger">{}</aside>',
        '<aside class="footnote-list brackets"><aside role="doc-footnote">{}</aside></aside>',
        '<aside class="quote"><blockquote>{}</blockquote></aside>',
        '<aside class="sidebar">{}</aside>',
        "<div role=complementary>{}</div>",
        '<div role="tabpanel" hidden="">{}</div>',
        '<div style="display: none">{}</div>',
    ],
)
def test_an_aside_or_a_hidden_part_of_the_content_is_read(content, part):
    inside = part.format('<p>Never without a <a href="/b">backup of all files</a>.</p>')
    read = markdown(f"<{content}><h1>Upgrade</h1><p>Run it.</p>{inside}</{content}>")
    assert "Never without a backup of all files." in read


@pytest.mark.parametrize(
    "part",
    [
        '<aside class="footnote-list brackets"><aside role=note>{}</aside></aside>',
        '<aside class="footnote brackets">{}</aside>',
        '<aside role="doc-endnotes">{}</aside>',
    ],
)
def test_footnotes_are_read_where_a_page_does_not_say_where_its_content_is(part):
    notes = part.format("<p>It fails where quotas are hard.</p>")
    page = f"<div class=document><h1>Space</h1><p>{PROSE * 3}</p>{notes}<aside>News!</aside></div>"
    read = markdown(page)
    assert "It fails where quotas are hard." in read
    assert "News!" not in read


def test_the_title_of_a_note_is_read_though_those_who_listen_hear_it_as_a_label():
    title = '<p class="starlight-aside__title" aria-hidden=true><svg></svg>Did you know?</p>'
    note = f'<aside aria-label="Did you know?" class="starlight-aside">{title}<p>It is.</p></aside>'
    assert markdown(f"<main><p>Run it.</p>{note}</main>") == "Run it.\n\nDid you know?\n\nIt is."


@pytest.mark.parametrize(
    "part",
    [
        f"<aside><h2>More</h2>{LINKS}</aside>",
        '<aside class="Ad">Buy this, and buy it now.</aside>',
        f"<div hidden>{LINKS}</div>",
        f"<div class=sidebar>{LINKS}</div>",
        f'<div class="x_y theme-doc-toc-desktop">{LINKS}</div>',
        '<ul class="x toc"><li><a href="#a">One</a></ul>',
    ],
)
def test_a_menu_or_an_advertisement_in_the_content_is_left_out(part):
    assert markdown(f"<main>{part}<p>Run it.</p></main>") == "Run it."


@pytest.mark.parametrize("content", ["main", "article", "div"])
def test_a_list_of_links_under_headings_is_the_content_where_there_is_no_other(content):
    page = f"<nav>n</nav><{content}><h1>Docs</h1><div class=toc>{LINKS}</div></{content}>"
    assert markdown(page) == "# Docs\n\n- Start here\n- All about it"


def test_a_page_of_a_heading_only_is_read_without_what_is_around_it():
    assert markdown("<nav>n</nav><main><h1>Docs</h1></main><div>By us</div><footer>f") == "# Docs"


def test_a_panel_of_tabs_is_read_wherever_it_stands():
    page = "<div role=tabpanel>Linux: <b>a</b></div><div role=tabpanel hidden>Windows: b</div>"
    assert markdown(page).split("\n\n") == ["Linux: **a**", "Windows: b"]


@pytest.mark.parametrize("frame", ["<main>{}</main>", "{}"])
def test_a_panel_of_tabs_is_read_though_it_is_hidden_from_those_who_listen(frame):
    panel = '<section role=tabpanel aria-hidden="true" hidden="hidden"><p>Use winget.</section>'
    assert markdown(frame.format(f"<p>Install it.</p>{panel}")) == "Install it.\n\nUse winget."


ANSWER = "Three days within the EU. Outside of it, up to two weeks."


@pytest.mark.parametrize(
    "answer",
    [
        f"<div class=faq-a aria-hidden=true><p>{ANSWER}</p></div>",
        f"<div aria-hidden=true><h4>Delivery</h4><ul><li>{ANSWER}</ul></div>",
        f"<p aria-hidden=true style='display: none'>{ANSWER}</p>",
    ],
    ids=["paragraph", "list", "not displayed"],
)
@pytest.mark.parametrize("content", ["main", "article"])
def test_a_folded_answer_in_the_content_is_read(content, answer):
    page = f"<{content}><h2>How long does it take?</h2>{answer}<p>Ask us.</p></{content}>"
    assert ANSWER in markdown(page)


@pytest.mark.parametrize(
    "part",
    [
        "<i aria-hidden=true>expand_more</i>",
        "<p aria-hidden=true>Read this aloud</p>",
        f"<span aria-hidden=true>{ANSWER}</span>",
        f"<div aria-hidden=true><h4>{ANSWER}</h4><p>See it.</p></div>",
        f"<div aria-hidden=true>{LINKS * 3}</div>",
        f"<div class='modal fade' aria-hidden=true><p>{ANSWER}</p></div>",
    ],
    ids=["icon", "short", "no block", "heading", "menu", "dialog"],
)
def test_other_parts_that_are_hidden_from_those_who_listen_are_not_read(part):
    assert markdown(f"<main><p>Ask us.{part}</main>") == "Ask us."


def test_the_link_to_edit_a_heading_is_no_part_of_it():
    link = '<span class="mw-editsection">[<a href="/e">edit</a>]</span>'
    assert markdown(f"<main><h2>History{link}</h2><p>x</p></main>") == "## History\n\nx"


def test_the_title_is_no_heading_that_is_left_out():
    page = "<header><h1>Site</h1></header><h1>Page</h1><p>text"
    assert read_page(page, "http://h/x").title == "Page"


def test_no_words_are_glued_or_blanks_lost_where_a_part_is_left_out():
    assert markdown("<p>a <span hidden>x </span> b<span hidden> x</span> c</p>") == "a b c"
    assert markdown("<pre>a <i hidden>x</i> b</pre>") == "```\na  b\n```"


def test_topics_beside_a_topic_are_left_out_where_they_are_rows_of_links():
    rows = "".join(
        f"<tr><td><a href='/t/{n}'>How do I mount the volume of number {n}?</a><td>{n}<td>June {n}"
        for n in range(5)
    )
    head = "<tr><th>Topic<th>Replies<th>Activity"
    beside = f"<div role=complementary><h3>Related topics</h3><table>{head}{rows}</table></div>"
    page = f"<div role=main><h1>Volumes</h1><p>How is that done here?</p>{beside}</div>"
    assert read_page(page, "http://h/x").markdown == "# Volumes\n\nHow is that done here?"


NEXT = "<a accesskey=n href=/c>Next</a>"


@pytest.mark.parametrize(
    "turn",
    [
        f"<div class=navheader><table><tr><th>2. Rows and columns<tr><td>{NEXT}</table></div>",
        f"<div class=navfooter><hr><a accesskey=p href=/b>Prev</a> | {NEXT}<br>3. Later</div>",
        "<div class=header><p>Next: <a href=/c rel=next>C</a>, Up: <a rel=up>B</a></p></div>",
        "<div class='spirit-nav nav-bar'><a accesskey=n href=/c><img alt=Next src=n.png></a></div>",
        """<table class=navigation><tr><td><a accesskey=p href=/b><img alt=Prev src=l.png></a>
            <th>The Reference Manual</table>""",
        "<ul class=docnav><li><a accesskey=p href=/b><b>Zurück</b>2. Tables</a></ul>",
        """<div class=prev-next-area><a class=left-prev href=/b><p>previous</p><p>Rows</p></a><a
            class=right-next href=/c><p>next</p><p>Later</p></a></div>""",
    ],
    ids=["DocBook's header", "its footer", "Texinfo", "Boost", "gtk-doc", "Publican", "PyData"],
)
def test_links_to_the_next_page_are_left_out(turn):
    page = f"{turn}<h1>Backup</h1><p>Copy it.</p>{turn}"
    assert markdown(page) == "# Backup\n\nCopy it."
    assert markdown(f"<main>{page}</main>") == "# Backup\n\nCopy it."


@pytest.mark.parametrize("turn", ["navheader", "navfooter", "docnav", "spirit-nav"])
def test_links_to_the_next_page_are_left_out_around_a_table_of_contents(turn):
    links = f"<div class={turn}><table><tr><th>2. Rows<tr><td>{NEXT}</table><hr></div>"
    contents = "<div class=toc><ul><li><a href=/c>Copies</a><li><a href=/d>Plans</a></ul></div>"
    assert markdown(f"{links}<h1>Backup</h1>{contents}{links}") == "# Backup\n\n- Copies\n- Plans"


def test_links_to_the_next_page_are_read_where_there_is_nothing_else():
    assert "2. Rows" in markdown(f"<div class=navheader><p>2. Rows</p>{NEXT}</div>")


@pytest.mark.parametrize(
    "header",
    [
        "<div class=header><h1>Backup</h1><a href=/c rel=next>Restore</a></div>",
        "<div class=header><p>Written by <a href=/a rel=author>Anna</a>.</p></div>",
    ],
    ids=["with the heading", "without a link to the next page"],
)
def test_what_is_called_a_header_and_turns_no_page_is_read(header):
    read = markdown(f"{header}<p>Copy it.</p>")
    assert read.startswith(("# Backup", "Written by Anna"))
    assert read.endswith("Copy it.")


@pytest.mark.parametrize(
    "menu", ["div id=toc", "ul id=breadcrumbs", "details id=TOC", "ul id=page-menu"]
)
def test_an_id_makes_a_menu_of_links_beside_the_content(menu):
    listed = f"<{menu}><li><a href=/a>Start here</a><li><a href=/b>All</a></{menu.split()[0]}>"
    assert markdown(f"{listed}<p>Copy it.</p>") == "Copy it."


@pytest.mark.parametrize(
    "page",
    [
        "<h2 id=menu><a href=#menu>Start here</a></h2><p>Copy it.</p>",
        f"<section id=menu><h2>Menu</h2>{LINKS}</section><p>Copy it.</p>",
        f"<main><p>Copy it.</p><div id=toc>{LINKS}</div></main>",
        f"<div id=toc>Whoever reads this has to know all of what is said in them.{LINKS}</div><p>x",
    ],
    ids=["heading", "section", "in the content", "text"],
)
def test_an_id_that_may_be_an_anchor_makes_no_menu(page):
    assert "Start here" in markdown(page)
