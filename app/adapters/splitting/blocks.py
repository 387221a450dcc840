"""Finds blocks that should be kept in one chunk: fenced and literal code, and tables."""

import re
from dataclasses import dataclass

from app.adapters.splitting.directives import BodyKind, announced_content, fenced_content
from app.adapters.splitting.lines import Lines

FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_LIST_MARKS = re.compile(r"(?:(?:[-*+:]|\d{1,9}[.)])[ \t]+)+(?=```|~~~)")
"""The markers of a list item, or of a definition, that begins with a code fence."""
_ITEM_MARKS = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+(?=\S)")
TAB_COLUMNS = 4
"""The distance of tab stops in Markdown (CommonMark, 2.2)."""
_FENCE_INDENT = 3
"""Columns that a closing fence may be indented more than its opening; with four, it is code."""

_OTHER_BLOCK = re.compile(r"#{1,6}(?:[ \t]|$)|[-*+][ \t]|\d{1,9}[.)][ \t]|[>:<{]|```|~~~|---|===")
"""Matches the start of a block that ends a table directly above it."""

_PIPE_RULER = frozenset("|:- \t")
_COLUMN_RULER = frozenset("= ")
_MAX_NESTING = 8
"""How many levels of nested MyST directives, written as fences, are read."""


@dataclass(frozen=True)
class Block:
    """Code or a table: `text[start:end]`, without the last line break."""

    start: int
    end: int
    is_table: bool = False


@dataclass(frozen=True)
class _Fence:
    """The opening fence of a code block."""

    marks: str
    column: int
    """The column of the marks in their line."""

    def is_closed_by(self, line: str, body: str) -> bool:
        """Whether the line is its closing fence, and not indented so far that it is code.

        `body` is the line without indentation and quote markers.
        """
        if not body.startswith(self.marks) or body.strip(self.marks[0]):
            return False
        line = line.rstrip()
        return _columns(line[: len(line) - len(body)]) <= self.column + _FENCE_INDENT


class BlockFinder:
    """Recognises blocks by their first line. A block within block quotes ends where they end.

    Calls must go forward, with rising line indexes: then all of them together take linear time.
    """

    def __init__(self, lines: Lines, end: int | None = None, depth: int = 0) -> None:
        """Look for blocks before the line `end`; `depth` counts the fences around them."""
        self._lines = lines
        self._end = len(lines) if end is None else end
        self._depth = depth
        self._column_tables_end = False
        self._no_listed_fence_before = 0
        self._no_deep_fence_before = 0
        self._items: list[int] = []

    def passage(self, index: int, *, is_rest: bool) -> tuple[list[Block], int]:
        """The blocks that this line begins or announces, and the index of the next line to read."""
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
        """The fenced code as a block; for a directive that holds text, the blocks within it."""
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
        """The index after the fenced code that begins at this line; `index` if there is none.

        As in CommonMark, an unclosed fence extends to the end of its container: the block quote,
        the list item or the text. Two kinds are ignored if unclosed: a fence directly after a list
        marker, and one outside of lists and quotes that is indented by four columns or more.
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
        """The column where the text of the surrounding list item begins; 0 outside of lists."""
        line = self._lines.text(index)
        column = _columns(line[: self._lines.indent(index)])
        while self._items and column < self._items[-1]:
            self._items.pop()
        item = self._items[-1] if self._items else 0
        if marks := _ITEM_MARKS.match(line):
            self._items.append(_columns(marks[0]))
        return item

    def _deep_fence_end(self, index: int, fence: _Fence) -> int:
        """As `_fence_end`, for indented text outside of lists, such as the tabs of MkDocs."""
        if index < self._no_deep_fence_before:
            return index
        end, is_closed = self._fence_end_in_item(index, fence, fence.column)
        if is_closed:
            return end
        self._no_deep_fence_before = end
        return index

    def _fence_end_in_item(self, index: int, fence: _Fence, item: int) -> tuple[int, bool]:
        """The index after the fenced code, and whether it has a closing fence.

        Without one, the code ends with the item, that is, before the first less indented line that
        follows a blank line. Less indented lines are part of the code if a closing fence that is
        indented like the item follows.
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
            # This fence opens another block. Stopping here keeps repeated calls linear.
            if item_end and body.startswith(fence.marks[:3]) and FENCE.match(body):
                return item_end, False
        return item_end or self._end, False

    def _table_end(self, index: int) -> int:
        """The index after the table that begins at this line; `index` if there is none."""
        quotes, body = _unquoted(self._lines.text(index))
        if body.startswith(("+-", "+=")) and body.endswith("+"):
            return self._grid_table_end(index, quotes)
        if "|" in body and self._is_pipe_ruler(index + 1, quotes):
            return self._pipe_table_end(index, quotes)
        if not quotes and _is_column_ruler(body):
            return self._column_table_end(index)
        return index

    def _is_in(self, quotes: int, index: int) -> bool:
        """Whether the line continues `quotes` nested block quotes of the line above it."""
        if not quotes or index >= self._end:
            return index < self._end
        return self._lines.follows(index) and _unquoted(self._lines.text(index))[0] >= quotes

    def _body(self, index: int, quotes: int) -> str:
        """The line without the markers of `quotes` block quotes and without surrounding blanks."""
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
        return self._follows(index, quotes) and is_pipe_ruler(self._body(index, quotes))

    def _pipe_table_end(self, index: int, quotes: int) -> int:
        end = index + 2
        while self._follows(end, quotes) and _is_row(self._body(end, quotes)):
            end += 1
        return end

    def _column_table_end(self, index: int) -> int:
        """As `_table_end`, for a table with rulers of `===  ===`.

        It ends with a ruler followed by a blank line or the end of the text.
        """
        if self._column_tables_end or not self._lines.follows(index + 1):
            return index
        for end in range(index + 1, self._end):
            ends_paragraph = not self._follows(end + 1, 0)
            if ends_paragraph and _is_column_ruler(self._lines.text(end).strip()):
                return end + 1
        self._column_tables_end = True  # so no later one ends, either: do not search again
        return index


def is_pipe_ruler(body: str) -> bool:
    """Whether a line is the ruler below the head of a table in Markdown."""
    return "|" in body and "-" in body and _PIPE_RULER.issuperset(body)


def _is_row(body: str) -> bool:
    """Whether a line continues the table above it; a row of one cell may have no bar."""
    return "|" in body or not _OTHER_BLOCK.match(body)


def _columns(text: str) -> int:
    return len(text.expandtabs(TAB_COLUMNS))


def _unquoted(line: str) -> tuple[int, str]:
    """The number of nested block quotes of a line, and its text without their markers."""
    body = line.strip()
    if not body.startswith(">"):
        return 0, body
    inner = body.lstrip("> \t")
    return body[: len(body) - len(inner)].count(">"), inner


def _is_column_ruler(body: str) -> bool:
    return body.startswith("=") and " " in body and _COLUMN_RULER.issuperset(body)
