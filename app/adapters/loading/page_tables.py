"""Puts the cells of tables into their columns, also below cells that span several rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

MAX_REPEATED_CHARACTERS = 100
"""A longer cell that spans rows stands in the first of them only; the others have an empty one."""

MOST_ROWS = 65_534
"""That a cell may span, by the HTML standard (4.9.11); one of none spans all there are."""

MAX_FILLED_CELLS = 10_000
"""So many cells of a page are filled in; a page of few tags could ask for millions."""


@dataclass(frozen=True)
class Cell:
    """A cell as it is written, and how many columns and rows it spans."""

    text: str
    columns: int
    rows: int

    def __str__(self) -> str:
        """What follows the bar before it, with the bars after it."""
        return f" {self.text}" + " |" * self.columns


@dataclass
class TableCells:
    """The cells of a page's tables, whose rows come one by one; `left` more may be filled in."""

    left: int = MAX_FILLED_CELLS
    _rows: dict[int, list[Cell]] = field(default_factory=dict)
    _reaching_down: dict[int, list[tuple[int, Cell]]] = field(default_factory=dict)
    """Of each table, by their columns."""

    def add(self, row: int, cell: Cell) -> None:
        """Note the next cell of a row, which has a number of its own."""
        self._rows.setdefault(row, []).append(cell)

    def begin_group(self, table: int) -> None:
        """A group of rows begins, where the cells of the one before end (4.9.12)."""
        self._reaching_down.pop(table, None)

    def take_row(self, table: int, row: int) -> tuple[str, int]:
        """The next row of a table as it is written after its first bar, and its columns."""
        reaching = self._reaching_down.pop(table, []) if self.left > 0 else []
        written, down, columns = [], [], 0
        for column, cell in _placed(self._rows.pop(row, []), reaching):
            gap = column - columns
            written.append("  |" * gap + str(cell))
            columns = column + cell.columns
            self.left -= gap
            if cell.rows > 1:
                is_short = len(cell.text) <= MAX_REPEATED_CHARACTERS
                repeated = replace(cell, text=cell.text if is_short else "", rows=cell.rows - 1)
                down.append((column, repeated))
        self.left -= len(reaching)
        self._reaching_down[table] = down
        return "".join(written), columns


def _placed(own: list[Cell], reaching: list[tuple[int, Cell]]) -> Iterator[tuple[int, Cell]]:
    """A row's own cells in the columns that those from above leave free, and these."""
    column, from_above = 0, reaching[::-1]
    for cell in own:
        while from_above and from_above[-1][0] <= column:
            _, above = from_above.pop()
            yield column, above
            column += above.columns
        yield column, cell
        column += cell.columns
    for start, above in reversed(from_above):
        column = max(column, start)
        yield column, above
        column += above.columns
