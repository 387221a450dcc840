"""Finds blocks that are better kept whole: fenced and literal code, and tables."""

import re
from dataclasses import dataclass

from app.adapters.splitting.directives import BodyKind, announced_content, fenced_content
from app.adapters.splitting.lines import Lines

FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_LIST_MARKS = re.compile(r"(?:(?:[-*+:]|\d{1,9}[.)])[ \t]+)+(?=```|~~~)")
"""Of an item, or a definition, that begins with fenced code."""
_ITEM_MARKS = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+(?=\S)")
TAB_COLUMNS = 4
"""To the next stop, as Markdown counts them (CommonMark, 2.2)."""
_FENCE_INDENT = 3
"""How much deeper than its opening the end of fenced code may stand; four blanks make it code."""

_OTHER_BLOCK = re.compile(r"#{1,6}(?:[ \t]|$)|[-*+][ \t]|\d{1,9}[.)][ \t]|[>:<{]|```|~~~|---|===")
"""With which a line ends the table above it."""

_PIPE_RULER = frozenset("|:- \t")
_COLUMN_RULER = frozenset("= ")
_MAX_NESTING = 8
"""How deep MyST's directives are read that stand in fences within each other."""


@dataclass(frozen=True)
class Block:
    """Code or a table: `text[start:end]`, its last line break left out."""

    start: int
    end: int
    is_table: bool = False


@dataclass(frozen=True)
class _Fence:
    """The first line of fenced code."""

    marks: str
    column: int
    """Where in its line they stand."""

    def is_closed_by(self, line: str, body: str) -> bool:
        """Whether a line closes it, of which `body` is what stands there; deeper, it is code."""
        if not body.startswith(self.marks) or body.strip(self.marks[0]):
            return False
        line = line.rstrip()
        return _columns(line[: len(line) - len(body)]) <= self.column + _FENCE_INDENT


class BlockFinder:
    """Recognises a block where it begins. Calls must go forward, so that all are linear.

    A block may stand in block quotes; it ends where they do. `end` is the index of the line before
    which all of them end, and `depth` says in how many fences within each other they stand.
    """

    def __init__(self, lines: Lines, end: int | None = None, depth: int = 0) -> None:
        self._lines = lines
        self._end = len(lines) if end is None else end
        self._depth = depth
        self._column_tables_end = False
        self._no_listed_fence_before = 0
        self._no_deep_fence_before = 0
        self._items: list[int] = []

    def passage(self, index: int, *, is_rest: bool) -> tuple[list[Block], int]:
        """The blocks that this line begins or announces, and the index after what was read."""
        if not is_rest and (end := self._fence_end(index)) > index:
            return self._fenced(index, end), end
        if (end := self._table_end(index)) > index:
            return [self._block(index, end, is_table=True)], end
        content = announced_content(self._lines.text(index).strip())
        end = index + 1
        if content in {BodyKind.CODE, BodyKind.TABLE}:
            end = min(self._lines.deeper_end(index), self._end)
        if end == index + 1:
            return [], end
        return [self._block(index + 1, end, is_table=content is BodyKind.TABLE)], end

    def _block(self, first: int, end: int, *, is_table: bool) -> Block:
        return Block(self._lines.start(first), self._lines.end(end - 1), is_table)

    def _fenced(self, index: int, end: int) -> list[Block]:
        """What is to be kept whole of a fence: all of it, or what stands in a directive of text."""
        opening = self._lines.text(index).lstrip("> \t")
        marks = _LIST_MARKS.match(opening)
        content = fenced_content(opening[marks.end() if marks else 0 :])
        if content is not BodyKind.TEXT:
            return [self._block(index, end, is_table=content is BodyKind.TABLE)]
        if self._depth == _MAX_NESTING:
            return []
        inner = BlockFinder(self._lines, end - 1, self._depth + 1)
        blocks: list[Block] = []
        index += 1
        while index < end - 1:
            found, index = inner.passage(index, is_rest=False)
            blocks += found
        return blocks

    def _fence_end(self, index: int) -> int:
        """The index after the fenced code that begins at this line; the same when none does.

        A fence that nothing closes reaches to the end of what it stands in, as in CommonMark, be
        that a quote or the item of a list; but behind the mark of a list item it is none, nor where
        four blanks or more make code of its own line.
        """
        item = self._item_at(index)
        line = self._lines.text(index).rstrip()
        quotes, body = _unquoted(line)
        is_ruled_out = index < self._no_listed_fence_before
        marks = None if is_ruled_out else _LIST_MARKS.match(body)
        opening = FENCE.match(body, marks.end() if marks else 0)
        if opening is None:
            return index
        before = line[: len(line) - len(body) + (marks.end() if marks else 0)]
        fence = _Fence(opening[1] or opening[2], _columns(before))
        if item and not quotes and not marks:
            return self._fence_end_in_item(index, fence, item)[0]
        if fence.column > _FENCE_INDENT and not quotes and not marks:
            return self._deep_fence_end(index, fence)
        end = index + 1
        while self._is_in(quotes, end):
            end += 1
            if fence.is_closed_by(self._lines.text(end - 1), self._body(end - 1, quotes)):
                return end
        if marks:
            self._no_listed_fence_before = end
            return index
        return end

    def _item_at(self, index: int) -> int:
        """The column at which the text of the list item begins that the line stands in; else 0."""
        line = self._lines.text(index)
        column = _columns(line[: self._lines.indent(index)])
        while self._items and column < self._items[-1]:
            self._items.pop()
        item = self._items[-1] if self._items else 0
        if marks := _ITEM_MARKS.match(line):
            self._items.append(_columns(marks[0]))
        return item

    def _deep_fence_end(self, index: int, fence: _Fence) -> int:
        """Fenced code in what is indented and no list, as tabs and notes of MkDocs are."""
        if index < self._no_deep_fence_before:
            return index
        end, is_closed = self._fence_end_in_item(index, fence, fence.column)
        if is_closed:
            return end
        self._no_deep_fence_before = end
        return index

    def _fence_end_in_item(self, index: int, fence: _Fence, item: int) -> tuple[int, bool]:
        """The index after the fenced code, and whether a line closes it; else the item ends it.

        The item ends with a line at its left that a blank line parts from the code. But what
        stands at its left is code all the same, where the item goes on to close it.
        """
        item_end = 0
        for end in range(index + 1, self._end):
            line = self._lines.text(end)
            body = line.strip()
            is_in_item = _columns(line[: self._lines.indent(end)]) >= item
            closes = fence.is_closed_by(line, body)
            if closes and (is_in_item or not item_end):
                return end + 1, True
            if not is_in_item and not item_end and not self._lines.follows(end):
                item_end = end
            # The next such fence is another's: so that none is looked beyond twice.
            if item_end and body.startswith(fence.marks[:3]) and FENCE.match(body):
                return item_end, False
        return item_end or self._end, False

    def _table_end(self, index: int) -> int:
        """The index after the table that begins at this line; the same when none does."""
        quotes, body = _unquoted(self._lines.text(index))
        if body.startswith(("+-", "+=")) and body.endswith("+"):
            return self._grid_table_end(index, quotes)
        if "|" in body and self._is_pipe_ruler(index + 1, quotes):
            return self._pipe_table_end(index, quotes)
        if not quotes and _is_column_ruler(body):
            return self._column_table_end(index)
        return index

    def _is_in(self, quotes: int, index: int) -> bool:
        """Whether the line stands in so many quotes, and belongs to those of the line above."""
        if not quotes or index >= self._end:
            return index < self._end
        return self._lines.follows(index) and _unquoted(self._lines.text(index))[0] >= quotes

    def _body(self, index: int, quotes: int) -> str:
        """The line without the marks of so many quotes, and without blanks around it."""
        body = self._lines.text(index).strip()
        for _ in range(quotes):
            body = body.removeprefix(">").lstrip()
        return body

    def _follows(self, index: int, quotes: int) -> bool:
        return self._lines.follows(index) and self._is_in(quotes, index)

    def _grid_table_end(self, index: int, quotes: int) -> int:
        end = index + 1
        while self._follows(end, quotes) and self._body(end, quotes).startswith(("+", "|")):
            end += 1
        return end if end > index + 1 else index

    def _is_pipe_ruler(self, index: int, quotes: int) -> bool:
        if not self._follows(index, quotes):
            return False
        body = self._body(index, quotes)
        return "|" in body and "-" in body and _PIPE_RULER.issuperset(body)

    def _pipe_table_end(self, index: int, quotes: int) -> int:
        end = index + 2
        while self._follows(end, quotes) and _is_row(self._body(end, quotes)):
            end += 1
        return end

    def _column_table_end(self, index: int) -> int:
        """A table ruled with `===  ===` ends at the ruler that a blank line follows."""
        if self._column_tables_end or not self._lines.follows(index + 1):
            return index
        for end in range(index + 1, self._end):
            ends_paragraph = not self._follows(end + 1, 0)
            if ends_paragraph and _is_column_ruler(self._lines.text(end).strip()):
                return end + 1
        self._column_tables_end = True  # nor will any later one end: look no further again
        return index


def _is_row(body: str) -> bool:
    """Whether a line goes on with the table above it; a row of one cell may have no bar."""
    return "|" in body or not _OTHER_BLOCK.match(body)


def _columns(text: str) -> int:
    return len(text.expandtabs(TAB_COLUMNS))


def _unquoted(line: str) -> tuple[int, str]:
    """How many block quotes the line stands in, and what stands there."""
    body = line.strip()
    if not body.startswith(">"):
        return 0, body
    inner = body.lstrip("> \t")
    return body[: len(body) - len(inner)].count(">"), inner


def _is_column_ruler(body: str) -> bool:
    return body.startswith("=") and " " in body and _COLUMN_RULER.issuperset(body)
