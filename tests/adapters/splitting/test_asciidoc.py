"""Plain text that is AsciiDoc, as manuals are, is read by its own marks, and no other text is."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.recursive import RecursiveTextSplitter
from tests.processor_speed import is_within

MANUAL = """\
= The Manual

[[start]]
== First steps

Say:

------------------------------------------------
$ thing init
------------------------------------------------

[NOTE]
=================
Where it says *none*:
+
-------------------
# no heading
-------------------
=================

=== Deeper [[deeper]]

++++++++++
== none
++++++++++

////
== commented out
////

== Last ==

|====
| a | what a thing is
| b | what it is not, and never was
|====

The end.
"""

UNDERLINED = """\
include::attributes.txt[]

thing(1)
========

:manual: Things
Name
----
thing - does things

// of no one
[[more]]
More of it
~~~~~~~~~
Text of one line
------------------------
$ thing
------------------------
"""

SHOWS_IT = [
    "include::other.txt[]",
    "ifdef::stalks[]",
    "See linkgit:thing[1] for it.",
    "See link:other.html[the other] for it.",
    "[verse]\n'thing' --all",
    "[[start]]\n== Start",
    "[[start]]\nStart\n-----",
    "[NOTE]\n===========\ntext\n===========",
    "[source,python]\n--------\ncode\n--------",
    ".Use\n-------------\ncode\n-------------",
    "a::\n    b\n+\n--------\ncode\n--------",
    "== One\n\ntext\n\n== Two",
]

OTHERS = [
    "",
    "[see also]",
    "[[Page]]",
    "[[page]]\ntext",
    "[NOTE]\n------",
    ".bashrc\n-------",
    "`link:x[y]` of AsciiDoc",
    "http://example.org/link:8080",
    "See link: a[1]",
    "+\n+----\n+\n----",
    "== One ==\n\ntext\n\n== Two ==",
    ">>> a\n== b\n== c",
    "include::other.txt[]\n\n.. note::\n   of reStructuredText",
]


def headings(text, name="manual.txt"):
    """The heading paths of its chunks, each once."""
    chunks = RecursiveTextSplitter(20, 0).split_text(text, name=name)
    return list(dict.fromkeys(chunk.heading_path for chunk in chunks))


def test_titles_of_one_line_are_headings_and_listings_are_none():
    top = ("The Manual",)
    assert headings(MANUAL) == [
        top,
        (*top, "First steps"),
        (*top, "First steps", "Deeper"),
        (*top, "Last"),
    ]


def test_underlined_titles_have_the_levels_of_their_marks():
    path = ("thing(1)", "Name")
    assert headings(UNDERLINED) == [(), path[:1], path, (*path, "More of it")]


def test_listings_and_tables_stay_whole_and_are_known():
    chunks = RecursiveTextSplitter(115, 0).split_text(MANUAL, name="manual.txt")
    kinds = {chunk.chunk_type: chunk.content for chunk in chunks}
    rule = "-" * 48
    assert any(f"{rule}\n$ thing init\n{rule}" in chunk.content for chunk in chunks)
    assert {"code", "table"} <= kinds.keys()
    assert kinds["table"].count("|====") == 2


@pytest.mark.parametrize("sign", SHOWS_IT)
def test_what_only_asciidoc_writes_shows_it(sign):
    text = f"Title\n=====\n\n{sign}\n\n----\nnone\n----\n\nend"
    assert headings(text)[0] == ("Title",)
    assert not any("none" in path for path in headings(text))


@pytest.mark.parametrize("text", OTHERS)
def test_what_others_write_as_well_shows_nothing(text):
    text = f"Title\n=====\n\n{text}\n\n-------\nSection\n-------\n\nend"
    assert headings(text)[-1][-1] == "Section"


@pytest.mark.parametrize("sign", SHOWS_IT[:6])
def test_a_text_in_markdown_that_shows_asciidoc_somewhere_keeps_its_headings(sign):
    end = "## End\n\nThis is the end of it."
    text = f"# Guide\n\ntext\n\n## Use\n\n{sign}\n\n### More\n\ntext\n\n{end}"
    assert headings(text)[-1] == ("Guide", "End")
    fenced = f"# Guide\n\n```\n{sign}\n```\n\n{end}"
    assert headings(fenced)[-1] == ("Guide", "End")


def test_comments_in_listings_of_asciidoc_are_no_headings_of_markdown():
    text = "include::x[]\n\n----\n## one\n\n## two\n----\n\nend"
    assert headings(text) == [()]


def test_only_plain_text_may_be_asciidoc():
    text = "include::x[]\n\n# Title\n\n----\n\nSection\n-----------\n\nend"
    for name in ("a.md", ""):
        assert headings(text, name)[-1] == ("Title", "Section")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{'-' * length}\n\n" for length in range(4, 2000)) + "a\n" * 100_000,
        "----\na\n" * 100_000 + "-----\n",
        "link:" + "-link:" * 300_000,
        "= a" + " " * 500_000 + "b",
        "[" + "[" * 500_000,
        "include::" + "[" * 500_000,
        "== a\n\n" * 100_000,
    ],
    ids=["unclosed", "closed", "links", "blanks", "brackets", "macro", "titles"],
)
def test_any_text_is_read_in_good_time(text):
    started = time.process_time()
    RecursiveTextSplitter(1000, 200).split_text("include::x[]\n\n" + text, name="a.txt")
    assert is_within(5, started)


@given(st.lists(st.sampled_from([*MANUAL.splitlines(), *UNDERLINED.splitlines(), "```", "----"])))
def test_nothing_is_lost_of_any_lines(lines):
    text = "\n".join(["include::x[]", *lines])
    chunks = RecursiveTextSplitter(60, 0).split_text(text, name="a.txt")
    assert all(text[chunk.start_index : chunk.end_index] == chunk.content for chunk in chunks)
    assert "".join(chunk.content for chunk in chunks).split() == text.split()
