"""Reads the structure of AsciiDoc, in which many manuals are written that are named `.txt`."""

import re

from app.adapters.splitting.blocks import Block
from app.adapters.splitting.headings import TITLE_CHARACTERS, HeadingMark
from app.adapters.splitting.lines import Lines

_MACRO = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif)::\S*\[[^\[\]]*\]$")
_LINK = re.compile(r"(?<![\w:`])(?:link|linkgit|xref):[^\s\[\]]{1,300}\[[^\[\]]*\]")
"""`linkgit` is Git's own, in its hundreds of manuals."""
_VERSE = re.compile(r"\[verse\b[^\[\]]*\]$")
_ANCHOR = re.compile(r"\[\[[\w.:-]+(?:,[^\[\]]*)?\]\]$")
_BLOCK_KIND = re.compile(
    r"\[(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION|abstract|example|listing|literal|options|quote"
    r"|sidebar|source|verse)\b[^\[\]]*\]$"
)
_BLOCK_TITLE = re.compile(r"\.[A-Za-z][\w ,'-]*[:.]?$")
_SIGN = re.compile(r"link|xref|^(?:[\[+=.]|include|if|endif)")
"""One of these stands in each line that shows AsciiDoc."""
_REST_DIRECTIVE = re.compile(r"\.\. [\w:+.-]+::(?:[ \t]|$)")
_FEWEST_TITLES = 2
"""Of one line, besides the title at the top."""

_ATTRIBUTES = re.compile(r"\[.*\]$|:!?\w[\w-]*!?:(?:[ \t]|$)")
"""What says something of the block or section below it, or of the whole text."""
_VERBATIM = re.compile(r"-{4,}$|\.{4,}$|\+{4,}$|/{4,}$|```\w*$|[|,:!]={3,}$")
"""The first line of what ends at the next line that is the same: code, comments, tables."""
_CONTAINER = re.compile(r"={4,}$|\*{4,}$|_{4,}$|--$")
"""The first or last line of what holds text like any other."""

_TITLE = re.compile(r"(?P<marks>={1,6})[ \t]+(?=[^\s=])")
_MARKDOWN_TITLE = re.compile(r"#{2,6}[ \t]+[^\s#]")
"""One # begins comments in too many examples of settings."""
_UNDERLINE = re.compile(r"=+$|-+$|~+$|\^+$|\++$")
_UNDERLINE_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_UNDERLINE_TOLERANCE = 2
"""By how many characters an underline may be longer or shorter than its title (the User Guide of
AsciiDoc, 11.1)."""
_NOT_A_TITLE = re.compile(r"[-*.]+[ \t]|\.\w|//|[ \t]")
_INLINE_ANCHOR = re.compile(r"\[\[[^\[\]]*\]\]")


def is_asciidoc(lines: Lines) -> bool:
    """Whether a text has in it what only AsciiDoc means anything by, and no directive of others.

    Which is a macro that includes a file, asks for an attribute or links; a verse; the name of an
    anchor right above a heading; a block with its kind or title above it, or that a `+` joins to an
    item of a list; and a title at the top with headings of one line below it.
    """
    titles = 0
    is_shown = False
    for index in range(len(lines)):
        line = lines.text(index)
        if _REST_DIRECTIVE.match(line):
            return False
        if is_shown or not _SIGN.search(line):
            continue
        line = line.rstrip()
        is_shown = any(sign.match(line) for sign in (_MACRO, _VERSE)) or bool(_LINK.search(line))
        is_shown = is_shown or _shows_by_place(lines, index, line)
        is_lesser = line.startswith("==") and _TITLE.match(line) and not line.endswith("=")
        titles += bool(is_lesser) and not lines.follows(index)
    is_titled = titles >= _FEWEST_TITLES and _heading(lines, 0) is not None
    return is_shown or is_titled


def _shows_by_place(lines: Lines, index: int, line: str) -> bool:
    """Whether the line belongs to the heading or block right below it, as only AsciiDoc has it."""
    if line[0] not in "[+." or not lines.follows(index + 1):
        return False
    below = lines.text(index + 1).rstrip()
    if _ANCHOR.match(line):
        return _heading(lines, index + 1) is not None
    if line == "+":
        # In a patch it is a blank line that is added, among others.
        is_joined = lines.follows(index) and not lines.text(index - 1).startswith(("+", "-"))
        return is_joined and bool(_VERBATIM.match(below) or _BLOCK_KIND.match(below))
    is_delimiter = bool(_VERBATIM.match(below) or _CONTAINER.match(below))
    is_title = bool(_BLOCK_TITLE.match(line)) and len(below) > len(line) + _UNDERLINE_TOLERANCE
    # One of the same length may underline it.
    is_kind = bool(_BLOCK_KIND.match(line)) and len(below) != len(line)
    return is_delimiter and (is_title or is_kind)


def read_asciidoc(lines: Lines) -> tuple[list[HeadingMark], list[Block]] | None:
    """The headings, and the blocks to keep whole, in which there are no headings.

    None where more lines are headings of Markdown: such a text only shows AsciiDoc somewhere.
    """
    of_markdown = 0
    marks: list[HeadingMark] = []
    blocks: list[Block] = []
    delimiters = _Delimiters(lines)
    index, after_break = 0, True
    while index < len(lines):
        after_break = after_break or not lines.follows(index)
        if after_break and (mark := _heading(lines, index)):
            marks.append(mark)
            index += mark.line_count
        elif (end := delimiters.end_of_block(index)) > index:
            line = lines.text(index)
            if not line.startswith("//"):
                is_table = line.rstrip().endswith("=")
                blocks.append(Block(lines.start(index), lines.end(end - 1), is_table))
            index = end
            after_break = True
        else:
            of_markdown += bool(_MARKDOWN_TITLE.match(lines.text(index)))
            after_break = _parts_paragraphs(lines.text(index).rstrip())
            index += 1
    return (marks, blocks) if len(marks) >= of_markdown else None


class _Delimiters:
    """Knows where the lines stand between which everything is verbatim."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        found = (lines.text(index).rstrip() for index in range(len(lines)))
        self._last = {line: index for index, line in enumerate(found) if _VERBATIM.match(line)}

    def end_of_block(self, index: int) -> int:
        """The index after the block that begins at this line; the same when none does."""
        line = self._lines.text(index).rstrip()
        closing = "```" if line.startswith("```") else line
        if not _VERBATIM.match(line) or self._last.get(closing, 0) <= index:
            return index
        end = index + 1
        while self._lines.text(end).rstrip() != closing:
            end += 1
        return end + 1


def _parts_paragraphs(line: str) -> bool:
    """Whether a title may stand right below the line, as it is no text itself."""
    forms = (_ATTRIBUTES, _CONTAINER, _MACRO)
    return line.startswith("//") or any(form.match(line) for form in forms)


def _heading(lines: Lines, index: int) -> HeadingMark | None:
    """The heading that begins at this line, if one does; no text stands right above it."""
    line = lines.text(index).rstrip()
    if marked := _TITLE.match(line):
        title = line[marked.end() :]
        if title.endswith((f" {marked['marks']}", f"\t{marked['marks']}")):
            title = title.removesuffix(marked["marks"])
        return _mark(lines, index, index, title, len(marked["marks"]))
    level = _underlined_level(lines, index, line)
    return _mark(lines, index, index + 1, line, level) if level else None


def _mark(lines: Lines, first: int, last: int, title: str, level: int) -> HeadingMark | None:
    seen = _INLINE_ANCHOR.sub("", title).strip()
    if not any(map(str.isalnum, seen)):
        return None
    return HeadingMark(lines.start(first), lines.end(last), seen, level, "", last + 1 - first)


def _underlined_level(lines: Lines, index: int, title: str) -> int:
    """The level that the line below makes a heading of; 0 if it is no underline."""
    if not lines.follows(index + 1) or len(title) > TITLE_CHARACTERS:
        return 0
    underline = lines.text(index + 1).rstrip()
    if not _UNDERLINE.match(underline) or _NOT_A_TITLE.match(title) or _ATTRIBUTES.match(title):
        return 0
    is_as_long = abs(len(title) - len(underline)) <= _UNDERLINE_TOLERANCE
    return _UNDERLINE_LEVELS[underline[0]] if is_as_long else 0
