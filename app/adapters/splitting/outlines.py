"""Reads the headings of outlines, as Logseq keeps pages: all text is in items, headings as well."""

import re

from app.adapters.splitting.headings import HeadingMark
from app.adapters.splitting.lines import Lines

_PROPERTY = re.compile(r"[\w-]+::(?:[ \t]|$)")
"""What a page says of itself, above its items."""
_ITEM = re.compile(r"-(?:[ \t]|$)")
_HEADING = re.compile(r"[ \t]*-[ \t](?P<hashes>#{1,6})[ \t]+(?P<title>\S.*)")


def is_outline(lines: Lines) -> bool:
    """Whether nothing stands at the left of a text but items, and properties of it above them.

    In any other text a heading in an item heads nothing: the next item goes on with the list.
    """
    items = 0
    for index in range(len(lines)):
        line = lines.text(index)
        if line[0].isspace():
            continue
        if not _ITEM.match(line) and (items or not _PROPERTY.match(line)):
            return False
        items += line[0] == "-"
    return items > 0


def outline_heading(lines: Lines, index: int) -> HeadingMark | None:
    """The heading that is the text of the item which begins at this line of an outline, if any."""
    found = _HEADING.match(lines.text(index))
    if found is None:
        return None
    start, end, level = lines.start(index), lines.end(index), len(found["hashes"])
    return HeadingMark(start, end, found["title"].strip(), level, "", 1)


def is_in_item(heading: str) -> bool:
    """Whether a heading is the text of an item, by how it is written."""
    return _HEADING.match(heading) is not None
