"""Finds the labels that stand above a heading: the names under which its section is linked to."""

import re

from app.adapters.splitting.lines import Lines

_MARKDOWN_LABEL = re.compile(
    r"\([^\s()][^()]*\)=\s*$"
    r"|\[\]\(\)\{\s*#[^\s{}]+\s*\}\s*$"
    r"|(?:<(?P<tag>a|div|section|span)\s+(?:id|name)=(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>/]+)\s*"
    r"/?>(?:\s*</(?P=tag)>)?\s*)+$",
    re.IGNORECASE,
)
"""Labels of MyST and of MkDocs, and what gives a place its name in HTML."""
_TARGET = re.compile(r"\.\.[ \t]+_(?:`[^`]+`|(?![_ ])(?:[^:\\]|\\.|:(?!\s|$))+):\s*$")
"""A target of reStructuredText that leads to no address, but to what follows it."""
_INDEX = re.compile(r"\.\.[ \t]+index::")
"""Entries of the index for what follows them; they may stand in the indented lines below."""
_MARKER = re.compile(r"\.\.[ \t]+[A-Za-z][\w:+.-]*::[ \t]+(?P<name>\S+)")
"""A directive with an argument, as `.. setting:: LAMP_COLOUR` above the heading `LAMP_COLOUR`."""
_FIELD = re.compile(r":[^:\s](?:[^:]*[^:\s])?:(?:\s|$)")
"""A field, as `:orphan:` or `:Author: Ann`: at the top, such say of the document what it is."""


def labels_start(lines: Lines, index: int, title: str, *, is_rest: bool) -> int:
    """The index of the first of the labels right above the heading at a line; its own without any.

    `title` is the heading as it is written. A directive is a label of it if it names just that.
    """
    first = index
    while first > 0:
        above = _rest_label(lines, first - 1, title) if is_rest else _label(lines, first - 1)
        if above is None:
            break
        first = above
    return 0 if is_rest and _begin_text(lines, first) else first


def _begin_text(lines: Lines, end: int) -> bool:
    """Whether nothing stands above this line but fields of reStructuredText."""
    above = end
    while above > 0 and _FIELD.match(lines.text(above - 1)):
        above -= 1
    return above == 0


def _label(lines: Lines, index: int) -> int | None:
    """The line where the label that ends with this one begins, in Markdown; None if it is none."""
    return index if _MARKDOWN_LABEL.match(lines.text(index)) else None


def _rest_label(lines: Lines, index: int, title: str) -> int | None:
    """The same in reStructuredText."""
    first = index
    while first > 0 and lines.indent(first):
        first -= 1
    line = lines.text(first)
    if _INDEX.match(line):
        return first
    if first < index:
        return None
    marker = _MARKER.match(line)
    names_title = marker is not None and _letters(marker["name"]) == _letters(title)
    return index if names_title or _TARGET.match(line) else None


def _letters(name: str) -> str:
    """A name without the signs around it and in it, such as those of code."""
    return "".join(filter(str.isalnum, name))
