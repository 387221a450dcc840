"""Headings in the items of an outline head what follows; in any other list they head nothing."""

import pytest

from app.adapters.loading.titles import find_title
from app.adapters.splitting.recursive import RecursiveTextSplitter

PAGE = """\
type:: [[Feature]]
alias:: queries

- Written with [[Datalog]]
- ## Usage
  collapsed:: true
\t- Type `/query`
\t- ### Inputs
\t\t- ```clojure
\t\t  # no heading
\t\t  ```
\t\t- some of them
- ## See [[Pages|pages]]
\t- others
-
"""


def paths_of(text):
    chunks = RecursiveTextSplitter(40, 0).split_text(text, name="a.md")
    assert "".join(chunk.content for chunk in chunks) == text
    return list(dict.fromkeys(chunk.heading_path for chunk in chunks))


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["Unix", "Windows"])
def test_headings_of_a_page_of_logseq_are_found_in_its_items(ending):
    expected = [(), ("Usage",), ("Usage", "Inputs"), ("See pages",)]
    assert paths_of(PAGE.replace("\n", ending)) == expected


def test_a_page_of_logseq_is_called_by_the_name_of_its_file():
    assert find_title(PAGE, ".md") is None
    assert find_title("- # Usage\n\t- text\n", ".md") is None
    assert find_title("- item\n\n# Guide\n", ".md") == "Guide"


@pytest.mark.parametrize(
    "text",
    [
        "Steps:\n\n- ## One\n  text that is long enough\n- ## Two\n  and that of this one\n",
        "- ## One\n  text that is long enough\n\nand what follows the list is no item of it\n",
        "* ## One\n  text that is long enough, of two lines\n* and another item of some words\n",
    ],
)
def test_headings_in_the_items_of_any_other_list_head_nothing(text):
    assert paths_of(text) == [()]


WORDS = "  a sentence of some words, and another\n"


@pytest.mark.parametrize(
    "text", [f" # Guide\n\n- one\n{WORDS * 3}- two\n", f"- one\n  # Guide\n{WORDS * 3}- two\n"]
)
def test_headings_that_are_no_items_are_kept_where_only_items_stand_at_the_left(text):
    assert find_title(text, ".md") == "Guide"
    assert ("Guide",) in paths_of(text)
