"""Turns tidied HTML into Markdown for search."""

import html
import re
from collections import Counter
from collections.abc import Callable

from bs4 import Tag
from markdownify import ATX, MarkdownConverter

from app.adapters.loading.encoding import clean
from app.adapters.loading.html_elements import FIRST_OF_GROUP, INLINE, TAB_LABEL
from app.adapters.loading.page_code import (
    code_language,
    drop_names_of_languages,
    fenced,
    in_one_line,
    join_lines_of_code,
    part_blocks_of_code,
)
from app.adapters.loading.page_emphasis import drop_unclear_marks
from app.adapters.loading.page_formulas import lowered, raised
from app.adapters.loading.page_grids import make_tables_of_grids
from app.adapters.loading.page_headings import (
    make_titles_of_boxes,
    put_versions_below_names,
    unfold_lists_of_sections,
)
from app.adapters.loading.page_layout import unfold_layout_tables
from app.adapters.loading.page_lines import WRITTEN, tidied_lines
from app.adapters.loading.page_manuals import manual_page
from app.adapters.loading.page_tables import MOST_ROWS, Cell, TableCells
from app.adapters.loading.page_tabs import place_labels
from app.adapters.loading.page_tree import children_of, elements_in, holds, tree_of
from app.adapters.loading.page_turns import drop_page_turns
from app.adapters.loading.page_words import part_words

MAX_ELEMENTS = 50_000
"""A page of more elements becomes plain text: markdownify would take over ten seconds for it."""

INLINE_TAG = re.compile(rf"</?(?:{'|'.join(sorted(INLINE))})(?: [^<>]*)?>")
PRE_TAG = re.compile(r"(</?pre(?: [^<>]*)?>)")
WITHIN_LINES = INLINE | {"sub", "sup", "kbd", "samp"}
BLANKS = re.compile(r"[\t \r\n]+")
NESTING = {"li", "dd", "blockquote"}
"""Where no heading is one of the page."""
CELL_END = re.compile(r"(?<!\\)\|")


def markdown_of(page: str, elements: int) -> str:
    """The Markdown of tidied HTML that holds so many elements."""
    page = clean(page)
    if elements > MAX_ELEMENTS:
        text = _plain_text(page)
    else:
        soup = tree_of(page)
        place_labels(soup)
        drop_page_turns(soup)
        make_tables_of_grids(soup)
        drop_names_of_languages(soup)
        join_lines_of_code(soup)
        part_blocks_of_code(soup)
        unfold_layout_tables(soup)
        put_versions_below_names(soup)
        make_titles_of_boxes(soup)
        unfold_lists_of_sections(soup)
        part_words(soup)
        drop_unclear_marks(soup)
        text = _Converter().convert_soup(soup)
    # No regular expression: on blanks in the middle of a line it takes quadratic time.
    text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    return tidied_lines(text)


def _plain_text(page: str) -> str:
    """The text of tidied HTML, a line for each block, and blocks of code in fences."""
    first, *rest = PRE_TAG.split(page)
    written = [_text_of(first)]
    depth = 0
    for tag, markup in zip(rest[::2], rest[1::2], strict=True):
        depth += -1 if tag.startswith("</") else 1
        written.append(fenced(_text_of(markup), "") if depth > 0 else _text_of(markup))
    return "".join(written)


def _text_of(markup: str) -> str:
    return html.unescape(re.sub(r"<[^<>]*>", "\n", INLINE_TAG.sub("", markup)))


class _Converter(MarkdownConverter):
    """Markdown for search: links and images as their text, which addresses would drown."""

    def __init__(self) -> None:
        super().__init__(
            heading_style=ATX,
            # `snake_case` must be found as it is written.
            escape_asterisks=False,
            escape_underscores=False,
        )
        self._list_positions: Counter[int] = Counter()
        self._cells = TableCells()
        self._begun_tables: set[int] = set()
        self._level = 0

    def convert_hN(  # noqa: N802  the library's name
        self, level: int, _element: Tag, text: str, parent_tags: set[str]
    ) -> str:
        """A heading, marked as one that the page has; none where there is nothing to read."""
        if "_inline" in parent_tags:
            return f" {text.strip()} "
        title = BLANKS.sub(" ", text.strip())
        self._level = level if title else self._level
        return f"\n\n{WRITTEN}{'#' * level} {title}\n\n" if title else "\n\n"

    def convert_hr(self, _element: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        """A rule, marked as one that the page has."""
        return f"\n\n{WRITTEN}---\n\n"

    def convert_li(self, element: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        """One list item; counts as it goes, where the library counts all items before each."""
        parent = element.parent
        mark = "- "
        if parent is not None and parent.name == "ol":
            position = int(str(parent.get("start") or 1)) + self._list_positions[id(parent)]
            self._list_positions[id(parent)] += 1
            mark = f"{position}. "
        lines = text.strip().split("\n")
        if not lines[0]:
            return ""
        indented = [" " * len(mark) + line if line else "" for line in lines[1:]]
        return "\n" + mark + "\n".join([lines[0], *indented]) + "\n"

    def convert_list(self, _element: Tag, text: str, parent_tags: set[str]) -> str:
        """A list; the library glues the text after a list to its last item."""
        around = "\n" if "li" in parent_tags else "\n\n"
        return around + text.strip("\n") + around

    convert_ul = convert_ol = convert_list

    def convert_pre(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        """A code block, or in cells and headings its lines in one; after the label of its tab."""
        in_line = "_inline" in parent_tags
        if in_line:
            code, apart = in_one_line(text), " "
        elif "pre" in parent_tags:
            code, apart = text, "\n"
        else:
            manual = None if parent_tags & NESTING else manual_page(text, self._level)
            code, apart = manual or fenced(text, code_language(element)), "\n\n"
        if label := element.get(TAB_LABEL):
            return f"{apart}{label}{apart}" + code.lstrip("\n")
        return f" {code} " if in_line else code

    def convert_dt(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        """A name to be defined, in one line; but code stays a block, as Nim writes signatures."""
        if "_inline" in parent_tags:
            return f" {text.strip()} "
        has_code = holds(element, {"pre"})
        name = text.strip("\n") if has_code else BLANKS.sub(" ", text.strip())
        return f"\n\n{name}\n" if name else "\n"

    def convert_tr(self, element: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        """One row; a table's first makes its header, or stands under an empty one.

        The library takes the first row after a caption for one in the middle.
        """
        if element.has_attr(FIRST_OF_GROUP):
            self._cells.begin_group(id(element.parent))
        cells, columns = self._cells.take_row(id(element.parent), id(element))
        # What stands in no cell, as in broken tables, goes before the first.
        row = f"|{text.strip()}{cells}\n"
        if id(element.parent) in self._begun_tables:
            return row
        self._begun_tables.add(id(element.parent))
        rule = "|" + " --- |" * columns + "\n"
        if all(cell.name == "th" for cell in elements_in(element, {"td", "th"})):
            return row + rule
        return "|" + "  |" * columns + "\n" + rule + row

    def convert_cell(self, element: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        """One cell, kept for its row; a bar in it would begin another."""
        line = CELL_END.sub(r"\\|", text.strip().replace("\n", " "))
        columns = max(1, _number(element, "colspan"))
        cell = Cell(line, columns, rows=_number(element, "rowspan") or MOST_ROWS)
        row = element.parent
        if row is None or row.name != "tr":
            return str(cell)
        self._cells.add(id(row), cell)
        return ""

    convert_td = convert_th = convert_cell

    def convert_sup(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        """An exponent; or the mark of a footnote, which is a link."""
        shown = text.strip()
        if "a" in parent_tags or children_of(element, {"a"}):
            return text if shown.startswith("[") or not shown else f"[{shown}]"
        return _set_small(text, raised, _text_before(element))

    def convert_sub(self, element: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        """An index."""
        return _set_small(text, lowered, _text_before(element))

    def convert_a(self, _element: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        return text

    def convert_img(self, element: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        return str(element.get("alt") or "")


def _number(cell: Tag, attribute: str) -> int:
    """How many columns or rows a cell asks for; tidied pages give small numbers."""
    return int(str(cell.get(attribute) or 1))


def _set_small(text: str, write: Callable[[str, str], str], before: str) -> str:
    """What `write` makes of a text set small; as it is where that changes nothing."""
    shown = text.strip().strip("*")
    written = write(before, shown)
    return text if written == shown else written + text[len(text.rstrip()) :]


def _text_before(element: Tag) -> str:
    """The last character of what stands before an element on its line."""
    before = element.previous_sibling
    if isinstance(before, Tag):
        return before.get_text()[-1:] if before.name in WITHIN_LINES else ""
    return str(before or "")[-1:]
