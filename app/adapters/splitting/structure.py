"""Reads the structure of a Markdown or reStructuredText document in one pass over its lines."""

from dataclasses import dataclass

from app.adapters.splitting.blocks import Block, BlockFinder
from app.adapters.splitting.headings import Heading, HeadingMark, heading_mark, settle_headings
from app.adapters.splitting.lines import Lines

CODE_SIGNS = "`~"
"""What fences of code are made of; other blocks that begin without `::` are tables."""

_FRONT_MATTER_ENDS = ("---", "...")


@dataclass(frozen=True)
class Structure:
    """What was found, in the order of the text; nothing overlaps."""

    headings: list[Heading]
    blocks: list[Block]


def read_structure(lines: Lines) -> Structure:
    """Find headings, and blocks to keep whole; there are no headings within blocks."""
    finder = BlockFinder(lines)
    marks: list[HeadingMark] = []
    blocks: list[Block] = []
    index = _front_matter_end(lines)
    after_break = True
    while index < len(lines):
        mark = heading_mark(lines, index, after_break=after_break or not lines.follows(index))
        if mark is not None:
            marks.append(mark)
            index += mark.line_count
            after_break = True
            continue
        first, end = index, finder.block_end(index)
        is_table = end > index and lines.text(index).strip()[0] not in CODE_SIGNS
        if end == index:
            first, end = index + 1, finder.literal_end(index)
        if end > first:
            blocks.append(Block(lines.start(first), lines.end(end - 1), is_table))
        after_break = end > first
        index = end
    return Structure(settle_headings(marks), blocks)


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
