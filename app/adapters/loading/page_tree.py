"""Finds elements of a page by their names; the library makes a filter for each such question."""

from collections.abc import Iterable, Iterator, Sequence, Set

from bs4 import Tag
from bs4.element import PageElement


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
