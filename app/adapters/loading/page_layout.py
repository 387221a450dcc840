"""Makes blocks and lines of tables that are there for their looks and have no columns to read."""

from collections.abc import Sequence
from itertools import chain

from bs4 import BeautifulSoup, Tag

from app.adapters.loading.html_elements import BLOCKS, HEADINGS
from app.adapters.loading.page_emphasis import SIGNATURE_TABLE
from app.adapters.loading.page_headings import has_box_word
from app.adapters.loading.page_tree import (
    children_of,
    class_names,
    elements_in,
    has_element,
    holds,
)

NOT_IN_CELLS = {"pre", "table", *HEADINGS}
"""What a cell of one line would spoil; a table without headers that has these in it is there for
its looks."""

NOT_IN_LINES = {*BLOCKS, "p", "div", "ul", "ol", "dl", "blockquote", "pre", "table", *HEADINGS}
"""What parts the cell that holds it from the next one; other cells of a row are a line of text."""
LISTS = {"ul", "ol", "dl"}

MOST_IN_LINE = 20
"""Of cells: to take many from their row takes quadratic time."""


def unfold_layout_tables(soup: BeautifulSoup) -> None:
    """Make blocks of the tables that have no columns to be read, and lines of their rows."""
    for table in list(elements_in(soup, {"table"})):
        rows = children_of(table, {"tr"})
        by_rows = [children_of(row, {"td", "th"}) for row in rows]
        is_box = _is_all_of_box(table)
        if is_box:
            _drop_icon(by_rows)
        is_signature = SIGNATURE_TABLE in class_names(table)
        if is_box or is_signature or _is_for_looks(table, by_rows):
            table.name = "div"
            for row, cells in zip(rows, by_rows, strict=True):
                _unfold(row, cells)
                row.name = "span" if is_signature else "div"


def _is_for_looks(table: Tag, by_rows: Sequence[Sequence[Tag]]) -> bool:
    """Whether its cells hold code, headings or further tables, or lists alone, or one holds all.

    One with headers is there to be read, unless they stand above code in a single column.
    """
    has_columns = max(map(len, by_rows), default=0) > 1
    if any(cell.name == "th" for cell in chain.from_iterable(by_rows)):
        return not has_columns and holds(table, {"pre"})
    filled = list(filter(_is_filled, chain.from_iterable(by_rows)))
    is_of_lists = all(map(_holds_lists_alone, filled))
    return is_of_lists or len(filled) < 2 or holds(table, NOT_IN_CELLS)


def _holds_lists_alone(cell: Tag) -> bool:
    """Whether all in a cell are lists, as in an index that Sphinx sets in columns."""
    return all(
        part.name in LISTS if isinstance(part, Tag) else not str(part).strip()
        for part in cell.children
    )


def _is_filled(cell: Tag) -> bool:
    return _has_text(cell) or holds(cell, {"img"})


def _has_text(cell: Tag) -> bool:
    return any(str(text).strip() for text in cell.strings)


def _is_all_of_box(table: Tag) -> bool:
    """Whether a note holds nothing but this table, as Asciidoctor and DocBook write notes."""
    box = table.parent
    if box is None or box.name != "div" or not has_box_word(box):
        return False
    return not has_element(table.next_siblings) and not has_element(table.previous_siblings)


def _drop_icon(by_rows: Sequence[Sequence[Tag]]) -> None:
    """Leave out the image beside the title of a note, which says the same."""
    if any(cell.name == "th" for cell in chain.from_iterable(by_rows)):
        for cell in chain.from_iterable(by_rows):
            if not _has_text(cell) and not holds(cell, NOT_IN_LINES):
                cell.clear()


def _unfold(row: Tag, cells: Sequence[Tag]) -> None:
    """Make a block of each cell of a row, or a line of all of them."""
    if len(cells) > MOST_IN_LINE or any(holds(cell, NOT_IN_LINES) for cell in cells):
        for cell in cells:
            cell.name = "div"
        return
    parts = [part for part in row.children if isinstance(part, Tag) or str(part).strip()]
    row.clear()
    for part in parts:
        row.append(part)
        if isinstance(part, Tag):
            part.name = "span"
            part.append("" if part.get_text()[-1:].isspace() else " ")
