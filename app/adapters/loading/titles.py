"""Finds the title of a text document in its first heading."""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.adapters.splitting.boundaries import map_text
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
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
ATX_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<title>\S.*?)(?:[ \t]+#+)?[ \t]*$")
SETEXT_LINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
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
PEP_HEADER = re.compile(
    r"(?:[A-Za-z][A-Za-z-]*:.*(?:\n[ \t]+\S.*)*\n)*?Title:(?P<title>.*(?:\n[ \t]+\S.*)*)"
)

HTML_START = re.compile(r" {0,3}</?[a-z]", re.IGNORECASE)
HTML_HEADING = re.compile(r"<h1(?:\s[^<>]*)?>", re.IGNORECASE)
HTML_HEADING_END = re.compile(r"</h1\s*>", re.IGNORECASE)
HTML_HEADING_LINES = 20
"""Over how many lines a heading in HTML may reach: some have a logo in them."""
TAG = re.compile(r"<(?P<name>/?[a-z!][a-z0-9-]*)[^<>]*>", re.IGNORECASE)
PARTING_TAGS = {"br", "img"}


def find_title(text: str, suffix: str) -> str | None:
    """The title of a document, or None; `suffix` is its file's (`.md`, `.rst`, `.txt`).

    Markdown: the first ATX or setext heading, or `<h1>` in HTML, outside fenced code and what else
    is no Markdown, and after a frontmatter that could not be read. reStructuredText: the
    `Title:` of a leading field block, as PEPs have, else the first heading. Plain text: the heading
    that it begins with, when that is underlined.
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
    begins_text = not text[: heading.start].strip() and text[heading.start] != "#"
    return heading.path[-1] if begins_text or suffix == ".rst" else None


def _markdown_title(lines: list[str]) -> str | None:
    prose = list(_prose(lines[_frontmatter_lines(lines) :]))
    paragraph: list[str] = []
    in_html = False
    for number, (line, below) in enumerate(pairwise([*prose, ""])):
        in_html = bool(line.strip()) and (in_html or bool(HTML_START.match(line)))
        if heading := ATX_HEADING.match(line):
            return _shortened(plain_heading(heading["title"]))
        if in_html and (title := _html_title(prose[number : number + HTML_HEADING_LINES])):
            return title
        if line.strip() and not NOT_A_PARAGRAPH.match(line):
            paragraph.append(line)
            if SETEXT_LINE.match(below):
                return _shortened(plain_heading(" ".join(paragraph)[:MAX_LINE_CHARACTERS]))
            continue
        paragraph.clear()
    return None


def _html_title(lines: list[str]) -> str | None:
    """The text of the `<h1>` that begins on the first of these lines; None without any."""
    if "<h1" not in lines[0].lower():
        return None
    markup = "\n".join(lines)
    start = HTML_HEADING.search(markup)
    end = HTML_HEADING_END.search(markup, start.end()) if start else None
    if not start or not end:
        return None
    inner = markup[start.end() : end.start()]
    text = TAG.sub(lambda tag: " " if tag["name"].lower() in PARTING_TAGS else "", inner)
    return _shortened(html.unescape(text))


def _prose(lines: Sequence[str]) -> Iterator[str]:
    """The lines, empty ones in the place of fenced code and of what else is no Markdown."""
    fence = ""
    verbatim_end = 0
    for number, line in enumerate(lines):
        mark = FENCE.match(line)
        if not fence and number >= verbatim_end:
            verbatim_end = _verbatim_end(lines, number)
        hidden = bool(fence or mark) or number < verbatim_end
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closes else fence
        elif mark and number >= verbatim_end:
            fence = mark[1]
        yield "" if hidden else line


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
