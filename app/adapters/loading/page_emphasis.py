"""Leaves out the marks of emphasis where they would be taken for something else."""

from collections.abc import Iterable, Set

from bs4 import BeautifulSoup, PageElement, Tag

from app.adapters.loading.html_elements import HEADINGS
from app.adapters.loading.page_tree import class_names

EMPHASIS = {"b", "strong", "i", "em"}
MARKED = EMPHASIS | {"del", "s", "code", "kbd", "samp"}
"""What has a mark before and after its text."""

BLOCKS = {"pre", "hr", *HEADINGS, "blockquote", "ul", "ol", "dl", "table"}
"""What is none behind a mark on its line."""

SIGN = "*"

SIGNATURE_TABLE = "memname"
"""Doxygen's class for a table that says how to call something: its cells only align the lines."""

SIGNATURE_CLASSES = {"sig", "sig-object", "sig-param", SIGNATURE_TABLE}
"""Of what Sphinx and it say how to call something with: all in it is written as code has it."""


def drop_unclear_marks(soup: BeautifulSoup) -> None:
    """Make text of emphasis around blocks, around the sign that marks it, and in signatures."""
    nodes = list(soup.descendants)
    elements = [node for node in nodes if isinstance(node, Tag)]
    _unmark_around((element for element in elements if element.name in BLOCKS), MARKED)
    _unmark_around((node for node in nodes if isinstance(node, str) and SIGN in node), EMPHASIS)
    in_signatures: set[int] = set()
    for element in elements:
        classes = class_names(element)
        if id(element.parent) in in_signatures or not SIGNATURE_CLASSES.isdisjoint(classes):
            in_signatures.add(id(element))
            if element.name in EMPHASIS:
                element.name = "span"


def _unmark_around(found: Iterable[PageElement], marked: Set[str]) -> None:
    """Take these marks from all that is around what was found, but for code in code."""
    seen: set[int] = set()
    for element in found:
        for around in element.parents:
            if id(around) in seen or around.name == "pre":
                break
            seen.add(id(around))
            if around.name in marked:
                around.name = "span"
