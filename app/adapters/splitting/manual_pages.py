"""Reads the sections of manual pages as `man` writes them for a terminal."""

import re

from app.adapters.splitting.headings import TITLE_CHARACTERS, HeadingMark
from app.adapters.splitting.lines import Lines

_HEADER = re.compile(
    r"(?P<name>[^\s()]{1,80}\([0-9][0-9A-Za-z]{0,9}\))[ \t]{2,}(?:\S.*[ \t]{2,})?(?P=name)[ \t]*$"
)
"""`LS(1)    User Commands    LS(1)`: the first line of each page; its last line differs."""
_MOST_HEADER_CHARACTERS = 300
_LEAST_SUBSECTION_INDENT, _MOST_SUBSECTION_INDENT = 2, 4
"""Of the heading of a subsection: groff writes 3 blanks before it, and 7 before text."""


def manual_name(lines: Lines) -> str | None:
    """The name of a manual page, as in its first line; None if the text is none."""
    if not len(lines) or lines.end(0) - lines.start(0) > _MOST_HEADER_CHARACTERS:
        return None
    header = _HEADER.match(lines.text(0))
    return header["name"] if header else None


def read_manual(lines: Lines) -> list[HeadingMark] | None:
    """The headings of a manual page; None if the text is none.

    A heading is a line below a blank one and right above text that is indented deeper: of a section
    if it begins at the left margin, of a subsection if it is indented by 2 to 4 blanks.
    """
    if manual_name(lines) is None:
        return None
    levels = ((index, _level(lines, index)) for index in range(1, len(lines)))
    return [_mark(lines, index, level) for index, level in levels if level]


def _level(lines: Lines, index: int) -> int:
    """1 for the heading of a section, 2 for that of a subsection, 0 for any other line."""
    if lines.follows(index) or not lines.follows(index + 1):
        return 0
    indent = lines.indent(index)
    is_short = lines.end(index) - lines.start(index) <= TITLE_CHARACTERS
    if not is_short or lines.indent(index + 1) <= indent:
        return 0
    if indent and not _LEAST_SUBSECTION_INDENT <= indent <= _MOST_SUBSECTION_INDENT:
        return 0
    return 2 if indent else 1


def _mark(lines: Lines, index: int, level: int) -> HeadingMark:
    start, end = lines.start(index), lines.end(index)
    return HeadingMark(start, end, lines.text(index).strip(), level, "", 1, is_html=True)
