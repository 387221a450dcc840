"""Reads the structure of a Markdown or reStructuredText document in one pass over its lines."""

import re
from dataclasses import dataclass

from app.adapters.splitting.blocks import Block, BlockFinder
from app.adapters.splitting.headings import Heading, HeadingMark, heading_mark, settle_headings
from app.adapters.splitting.html_blocks import COMMENT_CLOSING, html_closing
from app.adapters.splitting.lines import Lines

_EXPLICIT_MARKUP = re.compile(r"\s*\.\.(?:[ \t]+(?P<directive>\w[\w:+.-]*::)?|$)")
"""Of reStructuredText: directives, comments, footnotes, targets."""
_FRONT_MATTER_ENDS = ("---", "...")


@dataclass(frozen=True)
class Structure:
    """What was found, in the order of the text; nothing overlaps."""

    headings: list[Heading]
    blocks: list[Block]


class _UnheadedLines:
    """Recognises where lines that look like headings are none. Calls must go forward."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._body_end = 0
        self._unclosed: set[re.Pattern[str]] = set()
        self.directives = 0
        """How many of reStructuredText were met so far; none that are within others or indented,
        as examples in Markdown are."""

    def html_end(self, index: int) -> int:
        """The index after the HTML that begins at this line; the same index when none does."""
        line = self._lines.text(index)
        closing = html_closing(line) if "<" in line[:4] and index >= self._body_end else None
        if closing is None or closing in self._unclosed:
            return index
        for end in range(index, len(self._lines)):
            if closing.search(self._lines.text(end)):
                return end + 1
        if closing is COMMENT_CLOSING:
            return len(self._lines)
        self._unclosed.add(closing)
        return index

    def is_markup(self, index: int) -> bool:
        """Whether the line is a directive or comment of reStructuredText, or indented under one."""
        if index < self._body_end:
            return True
        markup = _EXPLICIT_MARKUP.match(self._lines.text(index))
        if markup is None:
            return False
        self._body_end = self._lines.deeper_end(index)
        self.directives += bool(markup["directive"]) and not self._lines.indent(index)
        return True


def read_structure(lines: Lines) -> Structure:
    """Find headings, and blocks to keep whole; there are no headings within blocks.

    Nor are there any in HTML comments and the like, or in what is indented under a directive.
    """
    finder = BlockFinder(lines)
    unheaded = _UnheadedLines(lines)
    marks: list[HeadingMark] = []
    blocks: list[Block] = []
    index = _front_matter_end(lines)
    after_break = True
    while index < len(lines):
        html_end = unheaded.html_end(index)
        if html_end > index:
            index, after_break = html_end, True
            continue
        after_break = after_break or not lines.follows(index)
        is_markup = unheaded.is_markup(index)
        mark = None if is_markup else heading_mark(lines, index, after_break=after_break)
        if mark is not None:
            marks.append(mark)
            index += mark.line_count
            after_break = True
            continue
        first, end, is_table = index, finder.fence_end(index), False
        if end == index:
            end = finder.table_end(index)
            is_table = end > index
        if end == index:
            first, end = index + 1, finder.literal_end(index)
        if end > first:
            blocks.append(Block(lines.start(first), lines.end(end - 1), is_table))
        after_break = end > first
        index = end
    return Structure(settle_headings(marks, unheaded.directives), blocks)


def _front_matter_end(lines: Lines) -> int:
    """The index after YAML front matter, whose closing --- would look like an underline."""
    if lines.text(0).rstrip() != "---" or lines.start(0) != 0:
        return 0
    index = 1
    while lines.follows(index):
        if lines.text(index).rstrip() in _FRONT_MATTER_ENDS:
            return index + 1
        index += 1
    return 0
