"""Finds the title of a text document in its first heading."""

import re
from collections.abc import Sequence

from app.adapters.loading.frontmatter_blocks import LINE_BREAK
from app.adapters.splitting.blocks import Block
from app.adapters.splitting.boundaries import map_lines
from app.adapters.splitting.front_matter import front_matter_end
from app.adapters.splitting.headings import Heading
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.manual_pages import manual_name
from app.adapters.splitting.markup import MARKUP_BY_SUFFIX, Markup
from app.adapters.splitting.outlines import is_in_item
from app.adapters.splitting.plain_headings import plain_heading
from app.adapters.splitting.structure import read_structure
from app.adapters.splitting.verbatim import verbatim_opening

MAX_TITLE_CHARACTERS = 300
TITLE_LINES = 400
"""The number of lines at the start of a document that are searched for its title."""
MAX_LINE_CHARACTERS = 2000
"""Characters read of each line: some of the expressions take quadratic time on blanks."""

UNSEEN_REST = re.compile(
    r"\s*(?:(?:\.\.(?=\s)|:(?:orphan|tocdepth|nocomments|nosearch):).*\n(?:[ \t].*\n|\n)*)*"
)
"""Matches what may precede a title in reStructuredText: labels, comments and fields for Sphinx."""
SENTENCE_END = re.compile(
    r"(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff])"
    r"[`*_\"'\u2019\u201d)\]]{0,9}[.!?](?:[\s\"'\u201d)<*_]|$)"
    r"|[^\W\d_] [^\W\d_]+ \S*\d[`*_)\]]{0,9}[.!?][*_]{0,3}\s*$"
    r"|[\u0589\u061f\u06d4\u0964\u104b\u1362\u17d4\u3002\uff01\uff1f]"
    r"|[\u0e00-\u0eff ]{40}"
)
"""Matches the end of a sentence, but not the dots of `1.`, `v1.` and addresses: a dot after a
number counts only behind words, at the end of a line. In languages of India, the last character may
be a vowel sign, which Python does not call a letter. Some languages have full stops of their own.
Thai and Lao have none: there, a long run of characters without punctuation counts."""
NO_SENTENCE = re.compile(r"\s*(?:>|\[[^\[\]]+\]:[ \t])")
"""Matches the start of a line of a block quote, or of a link definition; comments are often written
as one: `[//]: # (…)`."""
PEP_HEADER = re.compile(
    r"(?:[A-Za-z][A-Za-z-]*:.*(?:\n[ \t]+\S.*)*\n)*?Title:(?P<title>.*(?:\n[ \t]+\S.*)*)"
)
PANDOC_TITLE = re.compile(r"%[ \t]+(?P<title>[^\s%].*(?:\n[ \t]+\S.*)*)")
"""In the first line of a text, above `% authors` and `% date`. Manual pages in Markdown have it:
their first heading is NAME."""


def find_title(text: str, suffix: str) -> str | None:
    """The title of a document, or None; `suffix` is that of its file (`.md`, `.rst`, `.txt`).

    Markdown: the title of Pandoc's title block at the top, else the first heading, as the splitter
    finds it. But a heading below level 1 that follows a sentence is taken for that of a section,
    and so is any heading in an outline: the document has no title then. reStructuredText: the
    `Title:` of a field block at the start, as in PEPs, else the first heading. Plain text: the name
    of a manual page, or an underlined heading at the start; only labels and comments of
    reStructuredText may precede it.
    """
    lines = LINE_BREAK.split(text, TITLE_LINES)[:TITLE_LINES]
    text = "\n".join(line[:MAX_LINE_CHARACTERS] for line in lines)
    markup = MARKUP_BY_SUFFIX.get(suffix, Markup.MARKDOWN)
    numbered = Lines(text, map_lines(text))
    if title := _told_title(text, numbered, markup):
        return title
    structure = read_structure(numbered, markup)
    headings = [found for found in structure.headings if found.title]
    if not headings:
        return None
    if markup is Markup.UNTOLD and not _begins_text(text, headings[0]):
        return None
    if is_in_item(text[headings[0].start : headings[0].end]):
        return None
    is_tagline = len(headings) > 1 and _is_tagline(headings[0], headings[1])
    heading = headings[1 if is_tagline else 0]
    is_lesser = markup is Markup.MARKDOWN and heading.level > 1
    if is_lesser and _is_below_sentence(numbered, structure.blocks, heading):
        return None
    return _shortened(heading.title)


def _told_title(text: str, lines: Lines, markup: Markup) -> str | None:
    """The title that is said to be one, above the text."""
    if markup is Markup.UNTOLD:
        return manual_name(lines)
    is_rest = markup is Markup.RESTRUCTUREDTEXT
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
    """Whether nothing visible precedes the heading, and it has no #, which may mark a comment."""
    return bool(UNSEEN_REST.fullmatch(text, 0, heading.start)) and text[heading.start] != "#"


def _is_below_sentence(lines: Lines, blocks: Sequence[Block], heading: Heading) -> bool:
    """Whether a sentence precedes the heading.

    Those in comments, block quotes, code, tables and link definitions do not count.
    """
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
    """Whether the heading is a tagline: in HTML, of a lower level than the title that follows."""
    return heading.is_html and heading.level > 1 and following.level == 1
