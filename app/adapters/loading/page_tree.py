"""Makes a tree of tidied HTML, and finds elements in it by their names.

The library makes a filter for each question, which takes longer than to go through the elements.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.builder import HTMLTreeBuilder
from bs4.element import PageElement

from app.adapters.loading.html_elements import VOID

_TAG_OR_TEXT = re.compile(r"<(?P<slash>/?)(?P<name>\w+)(?P<given>[^<>]*)>|(?P<text>[^<]+)")
_ATTRIBUTE = re.compile(r' ([\w-]+)="([^"]*)"')
"""As tidied pages are written: they have no `<` or `>` elsewhere."""


def tree_of(page: str) -> BeautifulSoup:
    """The tree of tidied HTML."""
    return BeautifulSoup(page, builder=_Builder, element_classes={Tag: _Element})


class _Builder(HTMLTreeBuilder):
    """Reads tidied HTML.

    The library's parser notes each `<br>` and its like, and goes through all of these at the end of
    each other element.
    """

    def feed(self, markup: str | bytes) -> None:
        """Build the tree of what is written so."""
        soup = self.soup
        if soup is None or isinstance(markup, bytes):
            raise TypeError("A tree is built for a soup, of text.")
        for found in _TAG_OR_TEXT.finditer(markup):
            slash, name, given, text = found.groups()
            if text:
                soup.handle_data(html.unescape(text))
            elif slash:
                soup.handle_endtag(name)
            else:
                attributes = _ATTRIBUTE.findall(given) if given else ()
                values = {key: html.unescape(value) for key, value in attributes}
                soup.handle_starttag(name, None, None, values)
                if name in VOID:
                    soup.handle_endtag(name)


class _Element(Tag):
    """Looks for what is around it by its name alone, which markdownify asks of every element."""

    _decomposed = False  # else the library looks for an element of this name, in all it holds

    def find_parent(self, name: Any = None, attrs: Any = None, **others: Any) -> Tag | None:
        """The nearest element around this one; the library makes a filter for each question."""
        if not isinstance(name, str) or attrs or others:
            return super().find_parent(name, attrs, **others)
        parent = self.parent
        while parent is not None and parent.name != name:
            parent = parent.parent
        return parent


def elements_in(around: Tag, names: Set[str] | None = None) -> Iterator[Tag]:
    """The elements of these names within another, or all; to change them, list them first."""
    for node in around.descendants:
        if isinstance(node, Tag) and (names is None or node.name in names):
            yield node


def holds(around: Tag, names: Set[str]) -> bool:
    """Whether an element of one of these names is within another."""
    return next(elements_in(around, names), None) is not None


def children_of(parent: Tag, names: Set[str]) -> list[Tag]:
    """The children of an element that have one of these names."""
    return [node for node in parent.children if isinstance(node, Tag) and node.name in names]


def has_element(nodes: Iterable[PageElement]) -> bool:
    """Whether one of these is an element and no text."""
    return any(isinstance(node, Tag) for node in nodes)


def class_names(element: Tag) -> Sequence[str]:
    """The classes of an element, as they are written."""
    return element.get("class") or ()
