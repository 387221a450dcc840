"""Of a text with markup, a reader sees the words alone; paragraphs without any are left out."""

import time

import pytest

from app.adapters.text_analysis.shown import MOST_CHARACTERS, shown_paragraphs
from tests.processor_speed import is_within


@pytest.mark.parametrize(
    ("path", "text", "seen"),
    [
        ("a.md", "see [the guide](x.md 'T') for all", ["see the guide for all"]),
        ("a.md", "see [the\nguide][ref], and *so* on", ["see the guide, and so on"]),
        ("a.md", "see [[Guides/a\\|the guide]] for [[all]]", ["see the guide for all"]),
        ("a.md", "if [[ $a || $b ]]\n\n[[all]]", ["if [[ $a || $b ]]"]),
        ("a.MD", "an ![image](a.png) here", ["an image here"]),
        ("https://x.org/", 'foo <b class="c">bar</b><br>baz', ["foo bar baz"]),
        ("a.md", "AT&amp;T and H<sub>2</sub>O[^1]", ["AT&T and H2O"]),
        ("a.md", "a **b**old move", ["a bold move"]),
        ("a.md", "plain\n\nwith [a](b)\n \nplain, *too*", ["with a"]),
        ("a.rst", "see :ref:`foo <bar>` and `text <http://x.org>`__ [1]_", ["see foo and text"]),
        ("a.md", "see {ref}`foo <bar>` and {class}`~a.b.C` here", ["see foo and C here"]),
        ("a.rst", "see [the guide](x.md)", ["see [the guide](x.md)"]),
        ("a.txt", "see :ref:`foo <bar>`", ["see :ref:foo <bar>", "see foo"]),
        ("a.txt", "foo <b>bar</b>", ["foo bar", "foo <b>bar</b>"]),
        ("a.py", "see [the guide](x.md)", []),
        ("a.md", "x" * MOST_CHARACTERS + "[a](b)", []),
        ("a.md", "", []),
    ],
)
def test_what_a_reader_sees(path: str, text: str, seen: list[str]):
    assert shown_paragraphs(text, path) == seen


@pytest.mark.parametrize(
    "sign", ["[", "[[", "[[a|", "![a", "](", "<a ", "`", "``a ", "{a}`", "&#1", "[^", "*a"]
)
def test_a_paragraph_of_signs_takes_no_long(sign: str):
    text = (sign * MOST_CHARACTERS)[: MOST_CHARACTERS - 8] + "[a](b)"
    started = time.process_time()
    shown_paragraphs(text, "a.md")
    assert is_within(2, started)
