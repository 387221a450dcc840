"""Writes the code of web pages with its lines, and without numbers beside them."""

import re

from bs4 import BeautifulSoup, Tag

from app.adapters.loading.html_elements import BRUSH, LANGUAGE_ATTRIBUTES, LINE_OF_CODE_CELLS
from app.adapters.loading.page_lines import WRITTEN
from app.adapters.loading.page_tree import children_of, class_names, elements_in, holds

LANGUAGE_NAME = re.compile(r"[A-Za-z0-9+#_-]{1,30}")
CODE_LANGUAGE = re.compile(
    r"(?:(?:language|highlight(?:-source|-lang)?|lang)-|brush: ?)"
    rf"(?P<name>{LANGUAGE_NAME.pattern})"
)
LISTING = "RktBlk"
"""The class of tables that hold a line of code in each row, or such a table, as Scribble writes it
for Racket."""

BLOCKS_OF_CODE = {"div", "li", "ol", "ul"}
TICKS = re.compile("`+")
LEADING_LINES = re.compile(r"\A[ \n]*\n")


def fenced(text: str, language: str) -> str:
    """A block of code, in a fence that is longer than any in its text; empty without one."""
    if not text.strip():
        return ""
    fence = "`" * max(3, _longest_ticks(text) + 1)
    code = LEADING_LINES.sub("", text).rstrip(" \n")
    return f"\n\n{WRITTEN}{fence}{language}\n{code}\n{WRITTEN}{fence}\n\n"


def in_one_line(text: str) -> str:
    """Code for where no block can stand: each of its lines as code within a text."""
    mark = "`" * (_longest_ticks(text) + 1)
    blank = " " if len(mark) > 1 else ""
    lines = (line.strip() for line in text.split("\n"))
    return " ".join(f"{mark}{blank}{line}{blank}{mark}" for line in lines if line)


def code_language(block: Tag) -> str:
    """The language that a code block names in its attributes, on it, inside it or around it."""
    inside = next(elements_in(block, {"code"}), None)
    for element in (block, inside, block.parent, block.parent and block.parent.parent):
        if isinstance(element, Tag) and (name := _language(element)):
            return name
    return ""


def _language(element: Tag) -> str:
    classes = " ".join(class_names(element))
    found = CODE_LANGUAGE.search(f"{classes} {element.get(BRUSH, '')}")
    if found:
        return found["name"]
    named = (str(element.get(attribute, "")) for attribute in LANGUAGE_ATTRIBUTES)
    return next(filter(LANGUAGE_NAME.fullmatch, named), "")


def drop_names_of_languages(soup: BeautifulSoup) -> None:
    """Leave out the name of the language that stands above code for looks, as in VitePress."""
    names = [element for element in elements_in(soup, {"span"}) if "lang" in class_names(element)]
    for name in names:
        around = name.parent
        if around is not None and around.name == "div" and _language(around):
            name.clear()


def join_lines_of_code(soup: BeautifulSoup) -> None:
    """Make a block of each table that holds a line of code in each row."""
    for table in list(elements_in(soup, {"table"})):
        if table.decomposed:
            continue
        if LISTING in class_names(table):
            rows = [row for row in elements_in(table, {"tr"}) if not holds(row, {"table"})]
            code = "\n".join(map(_line_of_listing, rows))
        else:
            rows = children_of(table, {"tr"})
            if not any(map(_code_cells, rows)):
                continue
            code = "\n".join(map(_line_of_code, rows))
        if table.find_parent("pre") is None:
            block = soup.new_tag("pre")
            block.string = code
            table.replace_with(block)
        else:
            table.replace_with(code)
        table.decompose()


def part_blocks_of_code(soup: BeautifulSoup) -> None:
    """Write lines of code that are a block each as lines, and part one code from the next.

    React renderers write a div for each, and Google's prettify an item of a numbered list. In the
    pages of Node.js the same code stands twice in one block, for modules of either kind.
    """
    for code in list(elements_in(soup, {"pre"})):
        for other in children_of(code, {"code"}):
            if _language(other) and _follows_code(other):
                other.insert(0, "\n\n")
        if holds(code, BLOCKS_OF_CODE) and code.find_parent("pre") is None:
            _part_blocks(code, "\n")


def _follows_code(element: Tag) -> bool:
    """Whether nothing parts an element from other code of a language."""
    before = element.previous_sibling
    if not isinstance(before, Tag) or before.name != "code" or not _language(before):
        return False
    return not before.get_text().endswith("\n")


def _part_blocks(element: Tag, before: str) -> str:
    """Part the blocks in an element of code; the text that has been written by its end."""
    block: Tag | None = None
    for child in list(element.children):
        is_block = isinstance(child, Tag) and child.name in BLOCKS_OF_CODE
        is_empty_line = isinstance(child, Tag) and child.name == "li" and not child.get_text()
        text = "" if isinstance(child, Tag) else str(child)
        begins_line = before.endswith("\n") or text.startswith("\n")
        # At the end of a block or at its beginning: between them, it takes quadratic time.
        if block is not None and not begins_line:
            block.append("\n")
            before = "\n"
        elif isinstance(child, Tag) and is_block and not begins_line:
            child.insert(0, "\n")
            before = "\n"
        if isinstance(child, Tag):
            before = "\n" if child.name == "br" else _part_blocks(child, before)
        else:
            before = text or before
        block = child if isinstance(child, Tag) and is_block else None
        if block is not None:
            block.name = "span"
            if is_empty_line:
                block.append("\n")
                before = "\n"
    return before


def _code_cells(row: Tag) -> list[Tag]:
    return [
        cell
        for cell in children_of(row, {"td"})
        if not LINE_OF_CODE_CELLS.isdisjoint(name.lower() for name in class_names(cell))
    ]


def _line_of_code(row: Tag) -> str:
    """The code of a row; all its text where it has none, as a comment between the lines has."""
    cells = _code_cells(row)
    if not cells:
        return row.get_text(" ", strip=True)
    return "\t".join(cell.get_text().strip("\n") for cell in cells)


def _line_of_listing(row: Tag) -> str:
    """As above, where blanks that do not break a line indent it."""
    return row.get_text().replace("\xa0", " ").replace("\n", " ")


def _longest_ticks(text: str) -> int:
    return max(map(len, TICKS.findall(text)), default=0)
