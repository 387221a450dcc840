"""Finds the title of a text document in its first heading."""

import re
from collections.abc import Sequence

from app.adapters.loading.frontmatter_blocks import LINE_BREAK
from app.adapters.splitting.blocks import Block
from app.adapters.splitting.boundaries import map_text
from app.adapters.splitting.front_matter import front_matter_end
from app.adapters.splitting.headings import Heading
from app.adapters.splitting.languages import TextLanguage
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.manual_pages import manual_name
from app.adapters.splitting.outlines import is_in_item
from app.adapters.splitting.plain_headings import plain_heading
from app.adapters.splitting.structure import read_structure
from app.adapters.splitting.verbatim import verbatim_opening

MAX_TITLE_CHARACTERS = 300
TITLE_LINES = 400
"""How far into a document its title is looked for, in lines."""
MAX_LINE_CHARACTERS = 2000
"""What is read of each line: some of the expressions take quadratic time on blanks."""

MARKDOWN_OR_REST = {".rst": TextLanguage.RESTRUCTUREDTEXT, ".txt": TextLanguage.UNTOLD}
UNSEEN_REST = re.compile(
    r"\s*(?:(?:\.\.(?=\s)|:(?:orphan|tocdepth|nocomments|nosearch):).*\n(?:[ \t].*\n|\n)*)*"
)
"""What may stand above the title of reStructuredText: labels, comments, and what Sphinx is told."""
SENTENCE_END = re.compile(
    r"(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff])"
    r"[`*_\"'\u2019\u201d)\]]{0,9}[.!?](?:[\s\"'\u201d)<*_]|$)"
    r"|[^\W\d_] [^\W\d_]+ \S*\d[`*_)\]]{0,9}[.!?][*_]{0,3}\s*$"
    r"|[\u0589\u061f\u06d4\u0964\u104b\u1362\u17d4\u3002\uff01\uff1f]"
    r"|[\u0e00-\u0eff ]{40}"
)
"""Not that of `1.` and `v1.`, but where a line ends with a number behind words; nor the dots in
addresses. In languages of India a sentence may end in a vowel sign, which is no letter to Python,
and others have marks of their own; Thai and Lao have none, but long lines without any sign."""
NO_SENTENCE = re.compile(r"\s*(?:>|\[[^\[\]]+\]:[ \t])")
"""What begins a line of a note, or one that says where a link leads, as comments do, too:
`[//]: # (…)`."""
PEP_HEADER = re.compile(
    r"(?:[A-Za-z][A-Za-z-]*:.*(?:\n[ \t]+\S.*)*\n)*?Title:(?P<title>.*(?:\n[ \t]+\S.*)*)"
)
PANDOC_TITLE = re.compile(r"%[ \t]+(?P<title>[^\s%].*(?:\n[ \t]+\S.*)*)")
"""In the first line of a text, above `% authors` and `% date`. Manual pages in Markdown have it:
their first heading is NAME."""


def find_title(text: str, suffix: str) -> str | None:
    """The title of a document, or None; `suffix` is its file's (`.md`, `.rst`, `.txt`).

    Markdown: that of Pandoc's title block at the top, else the first heading, as the splitter finds
    it; but a lesser one below a sentence is that of a section, as in notes that are called by their
    files' names, and so is any in an outline. reStructuredText: the `Title:` of a leading field
    block, as PEPs have, else the first heading. Plain text: the name of a manual page, or the
    heading that it begins with, when that is underlined; labels of reStructuredText may stand above
    it.
    """
    lines = LINE_BREAK.split(text, TITLE_LINES)[:TITLE_LINES]
    text = "\n".join(line[:MAX_LINE_CHARACTERS] for line in lines)
    language = MARKDOWN_OR_REST.get(suffix, TextLanguage.MARKDOWN)
    numbered = Lines(text, map_text(text))
    if title := _told_title(text, numbered, language):
        return title
    structure = read_structure(numbered, language)
    headings = [found for found in structure.headings if found.title]
    if not headings:
        return None
    if suffix == ".txt" and not _begins_text(text, headings[0]):
        return None
    if is_in_item(text[headings[0].start : headings[0].end]):
        return None
    is_tagline = len(headings) > 1 and _is_tagline(headings[0], headings[1])
    heading = headings[1 if is_tagline else 0]
    is_lesser = language is TextLanguage.MARKDOWN and heading.level > 1
    if is_lesser and _is_below_sentence(numbered, structure.blocks, heading):
        return None
    return _shortened(heading.title)


def _told_title(text: str, lines: Lines, language: TextLanguage) -> str | None:
    """The title that is said to be one, above the text."""
    if language is TextLanguage.UNTOLD:
        return manual_name(lines)
    is_rest = language is TextLanguage.RESTRUCTUREDTEXT
    title = _field_title(text) if is_rest else _block_title(text)
    shown = plain_heading((title or "")[:MAX_LINE_CHARACTERS], is_rest=is_rest)
    return _shortened(shown)


def _block_title(text: str) -> str | None:
    found = PANDOC_TITLE.match(text)
    return found["title"] if found else None


def _shortened(title: str) -> str | None:
    """The title on one line, at most 300 characters; None when empty."""
    return " ".join(title.split())[:MAX_TITLE_CHARACTERS].strip() or None


def _field_title(text: str) -> str | None:
    if not re.match(r"(?:PEP|Title):", text):
        return None
    found = PEP_HEADER.match(text)
    return found["title"] if found else None


def _begins_text(text: str, heading: Heading) -> bool:
    """Whether nothing to be seen stands above it; a # of plain text may be a comment's."""
    return bool(UNSEEN_REST.fullmatch(text, 0, heading.start)) and text[heading.start] != "#"


def _is_below_sentence(lines: Lines, blocks: Sequence[Block], heading: Heading) -> bool:
    """Whether one stands above it: in no comment, note, code, table or definition of a link."""
    opening = None
    block_ends = {block.start: block.end for block in blocks}
    block_end = 0
    for index in range(front_matter_end(lines), len(lines)):
        if lines.start(index) >= heading.start:
            break
        block_end = block_ends.get(lines.start(index), block_end)
        if lines.start(index) < block_end:
            continue
        line = lines.text(index)
        is_first = opening is None
        opening = opening or verbatim_opening(line)
        if opening is None:
            if SENTENCE_END.search(line) and not NO_SENTENCE.match(line):
                return True
        elif opening.is_closed_by(line, is_first=is_first):
            opening = None
    return False


def _is_tagline(heading: Heading, following: Heading) -> bool:
    """Whether it is a lesser one in HTML, put above the title to be seen first."""
    return heading.is_html and heading.level > 1 and following.level == 1
