"""Finds blocks that are better kept whole: fenced and literal code, and tables."""

import re
from dataclasses import dataclass

from app.adapters.splitting.lines import Lines

_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_CODE_DIRECTIVE = re.compile(
    r"\.\. (?:code|code-block|code-cell|sourcecode|parsed-literal|doctest|ipython|jupyter-execute"
    r"|prompt|testcode|testsetup|testcleanup|testoutput)::"
)
_PIPE_RULER = frozenset("|:- \t")
_COLUMN_RULER = frozenset("= ")


@dataclass(frozen=True)
class Block:
    """Code or a table: `text[start:end]`, its last line break left out."""

    start: int
    end: int
    is_table: bool = False


class BlockFinder:
    """Recognises a block where it begins. Calls must go forward, so that all are linear."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._column_tables_end = False

    def block_end(self, index: int) -> int:
        """The index after the block that begins at this line; the same index when none does."""
        body = self._lines.text(index).strip()
        if body[0] in "`~":
            return self._fence_end(index, body)
        if body.startswith(("+-", "+=")) and body.endswith("+"):
            return self._run_end(index, "+|")
        if self._is_pipe_ruler(index + 1) and "|" in body:
            return self._pipe_table_end(index)
        if _is_column_ruler(body):
            return self._column_table_end(index)
        return index

    def literal_end(self, index: int) -> int:
        """The index after the indented block that this line announces with `::`."""
        body = self._lines.text(index).strip()
        if body.endswith("::") or _CODE_DIRECTIVE.match(body):
            return self._lines.deeper_end(index)
        return index + 1

    def _fence_end(self, index: int, body: str) -> int:
        """A fence that nothing closes reaches to the end of the text, as in CommonMark."""
        opening = _FENCE.match(body)
        if opening is None:
            return index
        fence = opening[1] or opening[2]
        for end in range(index + 1, len(self._lines)):
            line = self._lines.text(end).strip()
            if line.startswith(fence) and not line.strip(fence[0]):
                return end + 1
        return len(self._lines)

    def _run_end(self, index: int, first_characters: str) -> int:
        end = index + 1
        while self._lines.follows(end) and self._lines.text(end).lstrip()[0] in first_characters:
            end += 1
        return end if end > index + 1 else index

    def _is_pipe_ruler(self, index: int) -> bool:
        if not self._lines.follows(index):
            return False
        body = self._lines.text(index).strip()
        return "|" in body and "-" in body and _PIPE_RULER.issuperset(body)

    def _pipe_table_end(self, index: int) -> int:
        end = index + 2
        while self._lines.follows(end) and "|" in self._lines.text(end):
            end += 1
        return end

    def _column_table_end(self, index: int) -> int:
        """A table ruled with `===  ===` ends at the ruler that a blank line follows."""
        if self._column_tables_end or not self._lines.follows(index + 1):
            return index
        for end in range(index + 1, len(self._lines)):
            ends_paragraph = not self._lines.follows(end + 1)
            if ends_paragraph and _is_column_ruler(self._lines.text(end).strip()):
                return end + 1
        self._column_tables_end = True  # nor will any later one end: look no further again
        return index


def _is_column_ruler(body: str) -> bool:
    return " " in body and body[0] == "=" and _COLUMN_RULER.issuperset(body)
