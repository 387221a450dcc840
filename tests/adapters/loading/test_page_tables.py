"""The tables of web pages keep their cells in their columns."""

import time

import pytest

from app.adapters.loading.page_tables import MAX_FILLED_CELLS, MAX_REPEATED_CHARACTERS
from app.adapters.loading.web_page import read_page
from tests.processor_speed import is_within

HEAD = "<tr><th>Name</th><th>Type</th></tr>"


def rows(table):
    """The rows of a table below its rule, or all of them without one."""
    lines = read_page(f"<table>{table}</table>", "http://h/x").markdown.splitlines()
    return [line for line in lines if "---" not in line]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "<tr><td rowspan='2'><code>t</code></td><td>int</tr><tr><td>float</tr><tr><td>u<td>v",
            ["| `t` | int |", "| `t` | float |", "| u | v |"],
        ),
        (
            "<tr><td>t</td><td rowspan=3>int</td></tr><tr><td>u</td></tr><tr></tr>",
            ["| t | int |", "| u | int |", "|  | int |"],
        ),
        (
            "<tr><td rowspan=2>a<td rowspan=3>b</tr><tr></tr><tr><td>c</tr>",
            ["| a | b |", "| a | b |", "| c | b |"],
        ),
        (
            "<tr><td rowspan=2 colspan=2>a<td>b</tr><tr><td>c</tr>",
            ["| a | | b |", "| a | | c |"],
        ),
        (
            "<tr><td rowspan=9999>a<td>b</tr><tr><td>c</tr>",
            ["| a | b |", "| a | c |"],
        ),
    ],
    ids=["first column", "last column", "two", "over columns", "further than the table"],
)
def test_a_cell_over_rows_stands_in_each_of_them(table, expected):
    assert rows(HEAD + table)[1:] == expected


def test_a_header_of_two_rows_has_each_name_over_its_column():
    head = "<tr><th rowspan=2>Name<th colspan=2>Size</tr><tr><th>Least<th>Most</tr>"
    assert rows(f"{head}<tr><td>a<td>1<td>2</tr>") == [
        "| Name | Size | |",
        "| Name | Least | Most |",
        "| a | 1 | 2 |",
    ]


def test_a_long_cell_is_not_repeated_but_keeps_its_column():
    long = "x" * (MAX_REPEATED_CHARACTERS + 1)
    table = f"<tr><td rowspan=2>{long}<td>a</tr><tr><td>b</tr>"
    assert rows(HEAD + table)[1:] == [f"| {long} | a |", "|  | b |"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [("<h6>Properties</h6>", "Properties"), ("<pre>a = 1</pre>", "`a = 1`")],
    ids=["heading", "code"],
)
def test_a_heading_or_code_in_a_cell_is_not_glued_to_the_text_around_it(block, expected):
    page = f"<table><tr><th>Name<th>What<tr><td>opts<td>How it is.{block}<b>level</b></table>"
    row = read_page(page, "http://h/x").markdown.splitlines()[-1]
    assert row == f"| opts | How it is. {expected} **level** |"


def test_a_table_in_a_cell_does_not_mix_its_rows_with_those_around_it():
    inner = "<table><tr><th>i</tr><tr><td rowspan=2>j</tr></table>"
    table = f"<tr><td rowspan=2>a<td>{inner}</tr><tr><td>b</tr>"
    assert rows(HEAD + table)[-1] == "| a | b |"


@pytest.mark.parametrize("span", ["-1", "99999999", "x", "²"])
def test_a_span_that_is_no_small_number_is_none(span):
    table = f"<tr><td rowspan={span}>a<td>1</tr><tr><td>b<td>2</tr>"
    assert rows(HEAD + table)[1:] == ["| a | 1 |", "| b | 2 |"]


SPAN_OF_ALL = "<tr><td rowspan=0>a<td>1</tr><tr><td>2</tr><tr><td>3</tr>"
OF_ALL = ["| a | 1 |", "| a | 2 |", "| a | 3 |"]


def test_a_span_of_no_rows_goes_to_the_end_of_the_table():
    assert rows(HEAD + SPAN_OF_ALL)[1:] == OF_ALL


@pytest.mark.parametrize("span", ["0", "9"])
@pytest.mark.parametrize(
    "table",
    [
        "<thead>{head}</thead><tbody>{rows}</tbody><tbody>{after}</tbody>",
        "<thead>{head}<tbody>{rows}<tbody class=x>{after}",
        "<thead>{head}</thead>{rows}<tfoot>{after}</tfoot>",
        "{head}<tbody>{rows}</tbody>{after}",
    ],
    ids=["bodies", "no end tags", "foot", "row after a body"],
)
def test_a_cell_ends_with_its_group_of_rows(table, span):
    body = SPAN_OF_ALL.replace("rowspan=0", f"rowspan={span}")
    page = table.format(head=HEAD, rows=body, after="<tr><td>b<td>4</tr>")
    assert rows(page) == ["| Name | Type |", *OF_ALL, "| b | 4 |"]


def test_a_cell_of_the_header_does_not_reach_into_the_body():
    head = "<thead><tr><th rowspan=0>Name<th>Type</tr></thead>"
    assert rows(f"{head}<tbody><tr><td>b<td>4</tr></tbody>") == ["| Name | Type |", "| b | 4 |"]


def test_the_groups_of_a_table_in_a_cell_end_no_cell_around_it():
    inner = "<table><thead><tr><th>i</tr></thead><tbody><tr><td>j</tr></tbody></table>"
    table = f"<tr><td rowspan=0>a<td>{inner}</tr><tr><td>b</tr>"
    assert rows(HEAD + table)[-1] == "| a | b |"


@pytest.mark.parametrize("rowspan", ["0", "9999"])
def test_hostile_spans_make_no_page_many_times_its_size(rowspan):
    wide = "<tr>" + f"<td rowspan={rowspan} colspan=99>x" * 500 + "</tr>"
    page = f"<table>{HEAD}" + wide + "<tr></tr>" * 8_000 + f"{wide * 8}</table>"
    started = time.process_time()
    read = read_page(page, "http://h/x").markdown
    assert is_within(4, started)
    assert read.count("x") <= 9 * 500 + MAX_FILLED_CELLS + 500


GRID = """<div class="summary-table three-column-summary"><div class="table-header col-first">Type
    </div><div class="table-header col-second">Method</div><div class="table-header col-last">About
    </div><div class="col-first"><code>void</code></div><div class="col-second"><code><a>add</a>(E
    e)</code></div><div class="col-last"><div class="block">Appends.</div></div><div
    class="col-first"><code>int</code></div><div class="col-second"><code>size()</code></div><div
    class="col-last">&nbsp;</div>{}</div>"""


def test_the_summary_of_members_that_javadoc_lays_out_as_a_grid_is_a_table():
    assert read_page(GRID.format(""), "http://h/x").markdown.splitlines() == [
        "| Type | Method | About |",
        "| --- | --- | --- |",
        "| `void` | `add(E e)` | Appends. |",
        "| `int` | `size()` |  |",
    ]


def test_a_grid_with_other_text_in_it_stays_as_it_is():
    assert "|" not in read_page(GRID.format("text"), "http://h/x").markdown
    assert "text" in read_page(GRID.format("text"), "http://h/x").markdown
