"""Tables of web pages that are there for their looks are read as blocks and lines of text."""

import pytest

from app.adapters.loading.page_layout import MOST_IN_LINE
from app.adapters.loading.web_page import read_page


def markdown(body):
    return read_page(f"<p>Before.</p>{body}", "http://h/x").markdown.removeprefix("Before.\n\n")


TITLE = "<td class=icon><div class=title>Note</div>"
CONTENT = "<td>Copy it: <ul><li>first</li></ul>"
SIGN = "<td class=icon><i class='fa icon-note' title=Note></i>"
ICON = "<td rowspan=2><img alt='[Note]' src=n.png>"


@pytest.mark.parametrize(
    "note",
    [
        f"<div class='admonitionblock note'><table><tr>{TITLE}{CONTENT}</table></div>",
        f"<div class='admonitionblock note'><table><tr>{SIGN}{CONTENT}</table></div>",
        f"<div class=admonitionblock><table><tr>{TITLE}{CONTENT}</table></div>",
        f"<div class=note><table><tr>{ICON}<th>Note<tr>{CONTENT}</table></div>",
    ],
    ids=["Asciidoctor", "with icons of a font", "AsciiDoc", "DocBook"],
)
def test_a_table_that_is_all_of_a_note_is_read_as_its_text(note):
    assert markdown(note) == "Note\n\nCopy it:\n\n- first"


def test_the_kind_of_a_note_of_one_line_is_read_where_only_its_sign_names_it():
    row = (
        "<tr><td class=icon>\n<i class='fa icon-tip' title=Tipp></i>\n<td class=content>\nCopy it."
    )
    assert markdown(f"<div class=admonitionblock><table>{row}</table></div>").split() == [
        *("Tipp", "Copy", "it.")
    ]


def test_a_table_beside_other_text_of_a_note_is_a_table():
    table = "<table><tr><th>Name<th>Type<tr><td>t<td>int</table>"
    read = markdown(f"<div class=note><p>Note</p>{table}</div>")
    assert read == "Note\n\n| Name | Type |\n| --- | --- |\n| t | int |"


def test_members_of_a_class_are_a_line_each_where_a_heading_stands_in_their_table():
    members = """<table class="memberdecls">
        <tr class="heading"><td colspan="2"><h2>Public Functions</h2></td></tr>
        <tr><td>const Color &amp;&#160;</td><td><a>get</a> () const</td></tr>
        <tr><td>&#160;</td><td>Gets the <code>Color</code>.<br></td></tr></table>"""
    lines = markdown(members).splitlines()
    assert lines[:3] == ["## Public Functions", "", "const Color &\N{NO-BREAK SPACE}get () const"]
    assert lines[-1].strip() == "Gets the `Color`."


def test_the_signature_of_a_function_is_read_without_the_columns_that_align_it():
    signature = """<table class="memname">
        <tr><td class="memname">Color::set </td><td>(</td><td>int</td><td><em>red</em>, </td></tr>
        <tr><td></td><td></td><td>int</td><td><em>blue</em> = <code>0</code></td></tr>
        <tr><td></td><td>)</td><td></td></tr></table>"""
    words = markdown(signature).split()
    assert words == ["Color::set", "(", "int", "red,", "int", "blue", "=", "`0`", ")"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("<table><tr><td>Copy it.</table>", "Copy it."),
        ("<table><tr><td><td><img alt='a lock' src=l.png></table>", "a lock"),
        ("<table><tr><td><td></table><p>After.", "After."),
        ("<table><tr><td>a<td>b</table>", "|  |  |\n| --- | --- |\n| a | b |"),
        ("<table><tr><th>Copy it.</table>", "| Copy it. |\n| --- |"),
    ],
    ids=["one cell", "one image", "empty", "two cells", "a header"],
)
def test_a_table_of_a_single_cell_without_headers_is_its_text(table, expected):
    assert markdown(table) == expected


def test_lists_in_columns_are_read_one_after_another():
    columns = "<td><ul><li>add()<li>all()</ul></td>\n<td><ul><li>and\n<ul><li>not</ul></ul>"
    assert markdown(f"<table><tr>{columns}</table>").split("\n") == [
        *("- add()", "- all()", "", "- and", "  - not")
    ]


def test_a_list_beside_its_name_stays_in_its_row():
    table = "<table><tr><td>all()<td><ul><li>and</ul></table>"
    assert markdown(table).endswith("| all() | - and |")


def test_blocks_in_a_row_stay_apart():
    table = "<table><tr><td><p>Left.</p><td>Right.<tr><td><h2>Below</h2></table>"
    assert markdown(table) == "Left.\n\nRight.\n\n## Below"


def test_a_row_of_more_cells_than_a_line_has_is_read_as_blocks():
    row = "<td>x" * (MOST_IN_LINE + 1)
    assert markdown(f"<table><tr><td><h2>A</h2><tr>{row}</table>").endswith("x\n\nx\n\nx")
