"""Headings of web pages head what follows them, and titles of the boxes in a page do not."""

import time

import pytest

from app.adapters.loading.web_page import read_page
from tests.processor_speed import is_within


def markdown(body):
    return read_page(f"<body>{body}</body>", "http://h/x").markdown


def page(box):
    return f"<main><h1>Pump</h1><h2>Install</h2><p>Do so.</p>{box}<p>Then go on.</p></main>"


@pytest.mark.parametrize(
    "box",
    [
        "<div class='alert alert-info'><h4 class=alert-heading>Note:</h4>Mind it.</div>",
        """<div class="awsdocs-note"><div class="awsdocs-note-title"><i aria-hidden=true>!</i>
        <h6>Note:</h6></div><div class="awsdocs-note-text"><p>Mind it.</p></div></div>""",
        """<div class="admonition admonition-note alert alert--secondary"><div
        class="admonition-heading"><h5><span><svg></svg></span>Note:</h5></div><div><p>Mind it.
        </p></div></div>""",
        "<div class=Warning><div><h3>Note:</h3></div><p>Mind it.</p></div>",
        "<div><h3 class=md_callout_title>Note:</h3><p>Mind it.</p></div>",
        "<aside><h3>Note:</h3><p>Mind it.</p></aside>",
        "<aside><div><div><div><h2>Note:</h2></div></div></div><p>Mind it.</p></aside>",
    ],
    ids=["Docsy", "AWS", "Docusaurus", "around", "own", "aside", "deep in an aside"],
)
def test_the_title_of_a_note_heads_nothing(box):
    assert markdown(page(box)) == (
        "# Pump\n\n## Install\n\nDo so.\n\n**Note:**\n\nMind it.\n\nThen go on."
    )


@pytest.mark.parametrize(
    "box",
    [
        "<div class=note><h2>Use</h2><p>a</p><h2>Mend</h2><p>b</p></div>",
        "<div class=release-notes><h2>Use</h2><p>a</p></div>",
        "<div class=footnote><h2>Use</h2><p>a</p></div>",
        "<article class=note><h2>Use</h2><p>a</p></article>",
        "<div class=note><div><div><h2>Use</h2><p>a</p></div></div></div>",
        "<div class=important><h1>Use</h1></div>",
    ],
    ids=["wrapper", "longer word", "part of a word", "article", "further up", "title"],
)
def test_the_headings_of_a_page_stay_headings_whatever_is_around_them(box):
    assert "# Use\n" in markdown(page(box))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<b>Mind</b> it", "**Mind** it"),
        ("The <code>-f</code> option", "**The `-f` option**"),
        ("<i></i>", ""),
    ],
)
def test_the_title_of_a_note_keeps_its_marks(title, expected):
    read = markdown(f"<p>a</p><div class=note><h4>{title}</h4></div><p>b</p>")
    assert read.split("\n\n") == ["a", *filter(None, [expected]), "b"]


JAVADOC = """<ul class="details-list"><li><section class="method-details"><h2>Methods</h2>
    <ul class="member-list"><li><section class="detail"><h3>size</h3><p>How many.</p></section></li>
    <li><section class="detail"><h3>clear</h3><p>None left.</p></section></li></ul></section></li>
    </ul>"""
JAVADOC_8 = """<ul class="blockList"><li class="blockList"><a name="m"></a><h2>Methods</h2><ul
    class="blockList"><li class="blockList"><h3>size</h3><p>How many.</p></li></ul><ul
    class="blockListLast"><li class="blockList"><h3>clear</h3><p>None left.</p></li></ul></li></ul>
    """
CARDS = """<h2>Methods</h2><{0} class=cards><li><a href=/s><img src=x><h3>size</h3></a>How many.
    </li><li><div><h3>clear</h3></div><p>None left.</p></li></{0}>"""


@pytest.mark.parametrize(
    "sections",
    [JAVADOC, JAVADOC_8, CARDS.format("ul"), CARDS.format("ol")],
    ids=["javadoc", "older javadoc", "cards", "numbered"],
)
def test_headings_that_begin_the_items_of_a_list_head_sections(sections):
    assert markdown(sections) == ("## Methods\n\n### size\n\nHow many.\n\n### clear\n\nNone left.")


def test_a_list_of_sections_may_have_a_few_items_without_a_heading():
    items = "".join(f"<li><h3>Step {number}</h3>" for number in range(9))
    assert markdown(f"<ul>{items}<li>The end</ul>").endswith("\n\n### Step 8\n\nThe end")
    assert markdown(f"<ul>{items}<li>The<li>end</ul>").endswith("\n- ### Step 8\n- The\n- end")


@pytest.mark.parametrize(
    "item",
    ["<h3>A</h3>a", "<p>a</p><section><h3>A</h3></section>", "a<h3>A</h3>", "<i></i>"],
)
def test_other_lists_with_headings_stay_lists(item):
    assert markdown(f"<ul><li>{item}</ul><p>b</p>").startswith("- ") == ("a" in item)


@pytest.mark.parametrize(
    "body",
    [
        "<ul><li>" * 45 + "<i></i>" * 10_000 + "<h2>a</h2>",
        "<ul>" + "<li><h2>a</h2>x" * 5_000,
        "<ul><li><section>" * 30 + "<h2>a</h2>x" * 5_000,
        "<div class=note>" * 90 + "<p>x" * 5_000 + "<h2>a</h2></div>" * 90,
        "<div class=note><h2>a</h2>" + "<i>x</i>" * 8_000 + "<h2>b</h2>" * 8_000,
        "<aside>" + "<h2>a <i>b</i></h2>" * 8_000,
    ],
    ids=["empty", "many items", "nested lists", "nested", "many in one", "aside"],
)
def test_headings_in_lists_and_boxes_take_linear_time(body):
    started = time.process_time()
    markdown(body)
    assert is_within(10, started)
