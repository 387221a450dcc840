"""What only says where the pages around a page are is not read, however it is written."""

import time

import pytest

from app.adapters.loading.web_page import read_page
from tests.processor_speed import is_within

LINUXDOC = "<a href=b>Next</a>\n<a href=a>Previous</a>\nContents\n<hr>"
SWI_PROLOG = """<div class=navigate><a href=i><img alt=Home></a> <a href=c><img alt=Contents></a>
    <a href=a><img alt=Previous></a> <a href=b><img alt=Next></a></div>"""
SCRIBBLE = """<div class=navsettop><div class=navleft><form><input></form>&nbsp;<a href=i>top</a>
    <a href=c>contents</a></div><div class=navright><a href=a>&larr; prev</a> <a href=u>up</a>
    <a href=b>next &rarr;</a></div></div>"""
GAP = """<div class=chlinkprevnexttop>&nbsp;<a href=i>[Top of Book]</a> <a href=c>[Contents]</a>
    <a href=a>[Previous Chapter]</a> <a href=b>[Next Chapter]</a></div>"""
EXIM = """<a class=previous_page href=a>&lt;-previous</a><a href=c>Table of Contents</a><a
    href=b>next-&gt;</a>"""
LATEX2HTML = """<a href=b><img alt=next></a> <a href=u><img alt=up></a> <a href=a><img alt=previous>
    </a><br><b> Next:</b> <a href=b>Restoring</a> <b>Up:</b> <a href=u>The Manual</a> <b>Previous:
    </b> <a href=a>Installing</a><br>"""
CELLS = "<table><tr><td><a href=a>Prev</a><td><a href=u>Up</a><td><a href=b>Next</a></table>"
TURNS = [LINUXDOC, SWI_PROLOG, SCRIBBLE, GAP, EXIM, LATEX2HTML, CELLS]
WRITERS = ["LinuxDoc", "SWI-Prolog", "Scribble", "GAP", "Exim", "LaTeX2HTML", "cells"]


def markdown(body):
    return read_page(f"<body>{body}</body>", "http://h/x").markdown


@pytest.mark.parametrize("turn", TURNS, ids=WRITERS)
def test_links_that_say_that_they_lead_to_the_pages_around_are_left_out(turn):
    read = markdown(f"{turn}<h2>Backup</h2><p>Copy it.</p><hr><p>Twice.</p>{turn}")
    assert read.replace("---", "").split() == ["##", "Backup", "Copy", "it.", "Twice."]


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("<p>Press <a href=n>Next</a> or <a href=p>Previous</a></p>", "Press Next or Previous"),
        ("<p>See <a href=n>Next</a></p>", "See Next"),
        ("<a href=n>Next</a>", "Next"),
        ("<p><a href=t>Top</a> <a href=c>Contents</a></p>", "Top Contents"),
        ("<p>Of Iterator: <code><a>next</a>, <a>prev</a></code></p>", "Of Iterator: `next, prev`"),
        ("<code><a href=n>Next</a>, <a href=p>Prev</a></code>", "`Next, Prev`"),
        ("<a href=n><code>Next</code></a>, <a href=p><code>Prev</code></a>", "`Next`, `Prev`"),
        ("<dl><dt><a href=n>Next</a>, <a href=p>Prev</a><dd>A.</dl>", "Next, Prev\n:   A."),
        ("<p><b>Previous</b> / <b>Next</b></p>", "**Previous** / **Next**"),
        ("<ul><li><b>Previous</b><li><b>Next</b></ul>", "- **Previous**\n- **Next**"),
        (
            "<table><tr><th>Button<th>Key<tr><td><b>Next</b><td><b>Page Up</b></table>",
            "| Button | Key |\n| --- | --- |\n| **Next** | **Page Up** |",
        ),
        ("<ul><li><a href=n>next</a><li><a href=p>previous</a></ul>", "- next\n- previous"),
        ("<p><b>Next:</b> <a href=b>Restoring</a></p>", "**Next:** Restoring"),
    ],
)
def test_the_same_words_in_a_text_and_as_names_are_read(body, read):
    assert markdown(f"<h1>T</h1>{body}<p>End.</p>") == f"# T\n\n{read}\n\nEnd."


def test_many_such_links_beside_a_text_take_linear_time():
    started = time.process_time()
    read = markdown("<p>" + "<a href=n>Next</a> " * 5_000 + "word</p>")
    assert read.endswith("Next word")
    assert is_within(4, started)


def test_many_such_labels_within_a_line_take_linear_time():
    started = time.process_time()
    read = markdown("<p><span>" + "<b>Next</b>" * 5_000 + "</span> word</p>")
    assert read.endswith("Next** word")
    assert is_within(4, started)
