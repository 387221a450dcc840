"""Makes tables of what pages lay out as a grid of blocks: javadoc's summaries of members."""

from bs4 import BeautifulSoup, Tag

from app.adapters.loading.page_tree import class_names, elements_in

GRID = "summary-table"
"""The class of such a grid; its children are the cells, row by row."""

HEADER = "table-header"
"""The class of the cells that name their columns."""

LAST_CELL = "col-last"
"""The class of the cell that ends a row."""


def make_tables_of_grids(soup: BeautifulSoup) -> None:
    """Put the cells of each grid into the rows of a table."""
    grids = [element for element in elements_in(soup, {"div"}) if GRID in class_names(element)]
    for grid in grids:
        cells = [child for child in grid.children if isinstance(child, Tag)]
        has_other_text = any(isinstance(child, str) and child.strip() for child in grid.children)
        is_whole = all(cell.name == "div" for cell in cells) and not has_other_text
        if is_whole and cells and _ends_row(cells[-1]) and grid.find_parent("table") is None:
            _make_table(soup, grid, cells)


def _make_table(soup: BeautifulSoup, grid: Tag, cells: list[Tag]) -> None:
    grid.name = "table"
    grid.clear()
    row: Tag | None = None
    for cell in cells:
        if row is None:
            row = soup.new_tag("tr")
            grid.append(row)
        cell.name = "th" if HEADER in class_names(cell) else "td"
        row.append(cell)
        row = None if _ends_row(cell) else row


def _ends_row(cell: Tag) -> bool:
    return LAST_CELL in class_names(cell)
