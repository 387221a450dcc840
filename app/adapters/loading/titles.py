"""Finds the title of a text document in its first heading."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.adapters.splitting.boundaries import map_text
from app.adapters.splitting.headings import heading_mark, is_tab_label
from app.adapters.splitting.html_headings import (
    HTML_HEADING_LINES,
    html_heading,
    stands_in_html,
)
from app.adapters.splitting.languages import TextLanguage
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.plain_headings import plain_heading
from app.adapters.splitting.structure import read_structure
from app.adapters.splitting.verbatim import verbatim_opening

MAX_TITLE_CHARACTERS = 300
TITLE_LINES = 400
"""How far into a document its title is looked for, in lines."""
MAX_LINE_CHARACTERS = 2000
"""What is read of each line: some of the expressions take quadratic time on blanks."""

LINE_BREAK = re.compile(r"\r\n|\n|\r")
FENCE = re.compile(r" {0,3}(?P<marks>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}|~{3,})")
"""Which may stand behind the marks of list items."""
FENCE_INDENT = 3
"""How much deeper than its opening the end of fenced code may stand."""
ATX_HEADING = re.compile(r" {0,3}(?P<hashes>#{1,6})[ \t]+(?P<title>\S.*?)(?:[ \t]+#+)?[ \t]*$")
SETEXT_LINE = re.compile(r" {0,3}(?P<mark>=(?==*[ \t]*$)|-(?=-+[ \t]*$))")
SETEXT_LEVELS = {"=": 1, "-": 2}
FRONTMATTERS = (
    (
        re.compile(r"---[ \t]*$"),
        re.compile(r"[\"']?\w[\w .-]*[\"']?[ \t]*:(?:[ \t]|$)"),
        re.compile(r"(?:---|\.\.\.)[ \t]*$"),
    ),
    (
        re.compile(r"\+\+\+[ \t]*$"),
        re.compile(r"[\"']?\w[\w .-]*[\"']?[ \t]*=|\["),
        re.compile(r"\+\+\+[ \t]*$"),
    ),
)
"""In YAML and in TOML: the line above the fields, the first of these, and the line below them."""
NOT_A_PARAGRAPH = re.compile(r"[ \t]*(?:[-*+>|<]|\d+[.)][ \t]|#)| {4}|\t")
MARKDOWN_OR_REST = {".rst": TextLanguage.RESTRUCTUREDTEXT, ".txt": TextLanguage.UNTOLD}
UNSEEN_REST = re.compile(
    r"\s*(?:(?:\.\.(?=\s)|:(?:orphan|tocdepth|nocomments|nosearch):).*\n(?:[ \t].*\n|\n)*)*"
)
"""What may stand above the title of reStructuredText: labels, comments, and what Sphinx is told."""
PEP_HEADER = re.compile(
    r"(?:[A-Za-z][A-Za-z-]*:.*(?:\n[ \t]+\S.*)*\n)*?Title:(?P<title>.*(?:\n[ \t]+\S.*)*)"
)


@dataclass(frozen=True)
class _Heading:
    title: str
    level: int
    line_count: int
    is_html: bool = False


def find_title(text: str, suffix: str) -> str | None:
    """The title of a document, or None; `suffix` is its file's (`.md`, `.rst`, `.txt`).

    Markdown: the first heading, be it ATX, setext or HTML, outside fenced code and what else is no
    Markdown, and after a frontmatter that could not be read. reStructuredText: the `Title:` of a
    leading field block, as PEPs have, else the first heading. Plain text: the heading that it
    begins with, when that is underlined; labels of reStructuredText may stand above it.
    """
    whole = LINE_BREAK.split(text, TITLE_LINES)[:TITLE_LINES]
    lines = [line[:MAX_LINE_CHARACTERS] for line in whole]
    if suffix in MARKDOWN_OR_REST:
        text = "\n".join(lines)
        if suffix == ".rst" and (title := _field_title(text)):
            return _shortened(plain_heading(title[:MAX_LINE_CHARACTERS], is_rest=True))
        return _first_heading(text, suffix)
    return _markdown_title(lines)


def _shortened(title: str) -> str | None:
    """The title on one line, at most 300 characters; None when empty."""
    return " ".join(title.split())[:MAX_TITLE_CHARACTERS].strip() or None


def _field_title(text: str) -> str | None:
    if not re.match(r"(?:PEP|Title):", text):
        return None
    found = PEP_HEADER.match(text)
    return found["title"] if found else None


def _first_heading(text: str, suffix: str) -> str | None:
    """The heading that `.rst` has first; of other text, the one that it begins with, underlined."""
    structure = read_structure(Lines(text, map_text(text)), MARKDOWN_OR_REST[suffix])
    heading = next((found for found in structure.headings if found.path), None)
    if heading is None:
        return None
    begins_text = UNSEEN_REST.fullmatch(text, 0, heading.start) and text[heading.start] != "#"
    return heading.path[-1] if begins_text or suffix == ".rst" else None


def _markdown_title(lines: list[str]) -> str | None:
    """The first heading; but one of level 1 after a lesser one in HTML, which is its tagline."""
    headings = _markdown_headings(list(_prose(lines[_frontmatter_lines(lines) :])))
    first = next(headings, None)
    if first is None:
        return None
    second = next(headings, None) if first.is_html and first.level > 1 else None
    return _shortened(second.title if second and second.level == 1 else first.title)


def _markdown_headings(prose: list[str]) -> Iterator[_Heading]:
    """The headings that have a text, in order."""
    paragraph: list[str] = []
    in_html = False
    heading_end = 0
    after_break = True
    for number, line in enumerate(prose):
        in_html = stands_in_html(line, follows_html=in_html)
        if number < heading_end:
            continue
        if not line.strip() or NOT_A_PARAGRAPH.match(line):
            paragraph.clear()
        else:
            paragraph.append(line)
        lines = prose[number : number + HTML_HEADING_LINES]
        heading = _heading_at(lines, paragraph, in_html=in_html)
        if not heading and after_break and line.strip():
            heading = _underlined(lines)
        after_break = bool(heading) or not line.strip()
        if heading:
            heading_end = number + heading.line_count
            paragraph.clear()
            if heading.title:
                yield heading


def _heading_at(lines: list[str], paragraph: list[str], *, in_html: bool) -> _Heading | None:
    """The heading that begins on the first of these lines, or ends with it and is a paragraph."""
    if in_html and (found := html_heading(lines)):
        return _Heading(found.title, found.level, found.line_count, is_html=True)
    heading = ATX_HEADING.match(lines[0])
    if heading and not is_tab_label(heading["title"]):
        return _Heading(plain_heading(heading["title"]), len(heading["hashes"]), 1)
    underline = SETEXT_LINE.match(lines[1]) if paragraph and len(lines) > 1 else None
    if underline:
        title = plain_heading(" ".join(paragraph)[:MAX_LINE_CHARACTERS])
        return _Heading(title, SETEXT_LEVELS[underline["mark"]], 2)
    return None


def _underlined(lines: list[str]) -> _Heading | None:
    """What sections have as their heading though it begins as an item does, as `1. Scope` may."""
    if len(lines) < 2 or not (underline := SETEXT_LINE.match(lines[1])):
        return None
    text = "\n".join(lines[:2])
    mark = heading_mark(Lines(text, map_text(text)), 0, after_break=True)
    if mark is None:
        return None
    return _Heading(plain_heading(mark.title), SETEXT_LEVELS[underline["mark"]], mark.line_count)


def _prose(lines: Sequence[str]) -> Iterator[str]:
    """The lines, empty ones in the place of fenced code and of what else is no Markdown."""
    hidden_end = 0
    for number, line in enumerate(lines):
        if number >= hidden_end:
            hidden_end = max(_verbatim_end(lines, number), _fence_end(lines, number))
        yield "" if number < hidden_end else line


def _fence_end(lines: Sequence[str], number: int) -> int:
    """The number of the line after fenced code that begins at this one; else the same.

    What nothing closes reaches to the end, but behind the mark of a list item it is no code.
    """
    opening = FENCE.match(lines[number])
    if opening is None:
        return number
    fence, deepest = opening["fence"], opening.start("fence") + FENCE_INDENT
    for end in range(number + 1, len(lines)):
        body = lines[end].lstrip()
        is_shallow = len(lines[end]) - len(body) <= deepest
        if is_shallow and body.startswith(fence) and not body.strip().strip(fence[0]):
            return end + 1
    return number if opening["marks"] else len(lines)


def _verbatim_end(lines: Sequence[str], number: int) -> int:
    """The number of the line after what begins at this one and is no Markdown; else the same."""
    opening = verbatim_opening(lines[number])
    if opening is None:
        return number
    for end in range(number, len(lines)):
        if end > number and not opening.form.spans_blanks and not lines[end].strip():
            break
        if opening.is_closed_by(lines[end], is_first=end == number):
            return end + 1
    return len(lines) if opening.form.reaches_end else number


def _frontmatter_lines(lines: list[str]) -> int:
    """How many lines a leading frontmatter takes that is still part of the text, or 0.

    Its last line would underline the one above, and its comments would be headings. Between two
    rules stands something else when the first line there, but for blank ones and comments, names
    no field.
    """
    told = next((line for line in lines[1:] if line.strip() and not line.startswith("#")), "")
    for opening, field, closing in FRONTMATTERS:
        if lines and opening.match(lines[0]) and field.match(told):
            ends = (number for number, line in enumerate(lines[1:], 2) if closing.match(line))
            return next(ends, 0)
    return 0
