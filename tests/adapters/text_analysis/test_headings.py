"""What titles and headings are called, and which of them a query calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.headings import MOST_CHARACTERS, heading_terms, names_of
from app.adapters.text_analysis.query import parse_query

ANALYSER = Analyser()


def is_called(heading: str, query: str) -> bool:
    return parse_query(query, ANALYSER).heading in heading_terms(heading, ANALYSER)


@pytest.mark.parametrize(
    ("heading", "query"),
    [
        ("Release Notes", "release notes"),
        ("FastAPI - Intro", "fastapi intro"),
        ("How do I make a back-up?", "How do I make a back-up"),
        ("2.1 Redirects", "redirects"),
        ("2.1 Redirects", "2.1 Redirects"),
        ("Chapter\u00a011.\u00a0Indexes", "Indexes"),
        ("E.1. Release 15", "release 15"),
        ("PEP 8 \u2013 Style Guide for Python Code", "style guide for python code"),
        ("`__slots__`", "__slots__"),
        ("C++", "c++"),
        ("\u6771\u4eac\u90fd", "\u6771\u4eac\u90fd"),
        ("Background Tasks", '"background tasks" -celery'),
        ("3.11", "3.11"),
    ],
)
def test_a_heading_is_called_what_it_says(heading: str, query: str):
    assert is_called(heading, query)


@pytest.mark.parametrize(
    ("heading", "query"),
    [
        ("Release Notes", "release notes of today"),
        ("Release Notes", "notes"),
        ("Python 3 support", "support"),
        ("`__slots__`", "slots"),
        ("C++", "c"),
        ("3.11", "311"),
        ("Background Tasks", "background -tasks"),
        ("", "anything"),
        ("---", "?"),
    ],
)
def test_what_says_more_or_less_calls_another(heading: str, query: str):
    assert not is_called(heading, query)


def test_what_is_pasted_or_long_calls_none():
    assert not parse_query("Release\nNotes", ANALYSER).heading
    assert not parse_query("word " * MOST_CHARACTERS, ANALYSER).heading
    assert heading_terms("word " * MOST_CHARACTERS, ANALYSER) == ()


def test_a_chunk_stands_under_its_innermost_heading_and_those_within_it():
    content = "# Guide\n\ntext\n\n## The `C#` way { #way } ##\n\nUnderlined\r\n----\ntext # no\n"
    assert names_of(("Guide",), ("Guide", "Start"), content, "guide.md") == [
        *("Start", "Guide", "The C# way", "Underlined")
    ]
    assert names_of(("Guide",), ("Guide", "Start"), "text", "guide.md") == ["Start"]
    assert names_of(("Guide",), ("Start",), "text", "guide.md") == ["Start", "Guide"]  # frontmatter
    assert names_of(("Guide",), (), "text", "guide.md") == ["Guide"]
    assert names_of((), (), "text", "guide.md") == []


def test_what_stands_under_no_heading_is_called_by_the_title_of_its_item():
    assert names_of(("r2", "Handbook"), (), "text", "r2.md") == ["r2", "Handbook"]
    assert names_of(("Guide", "Handbook"), ("Guide", "Start"), "text", "r2.md") == ["Start"]


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("text\n\n```sh\n# install\nmake\n```\n", "guide.md"),
        ("text\n\n    # install\n", "guide.md"),
        ("text\n\n.. code:: sh\n\n   # install\n", "guide.rst"),
        ("text\n\n# install\n", "guide.rst"),
        ("text\n\n=====\n=====\n", "guide.rst"),
    ],
)
def test_what_only_looks_like_a_heading_names_nothing(content: str, path: str):
    assert names_of(("Guide",), ("Guide",), content, path) == ["Guide"]


@pytest.mark.parametrize("underline", ["***", '"""', "..."])
def test_restructuredtext_underlines_with_any_sign(underline: str):
    content = f"text\n\nUse\n{underline}\n\ntext\n"
    assert names_of(("Guide",), ("Guide",), content, "guide.rst") == ["Guide", "Use"]


@given(st.text())
def test_any_text_is_a_heading_of_terms_without_spaces(text: str):
    assert all(term.split() == [term] for term in heading_terms(text, ANALYSER))
