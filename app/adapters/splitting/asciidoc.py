"""Reads the structure of AsciiDoc. Many manuals in it have the suffix `.txt`."""

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
"""Matches part of every line that an expression above matches; faster than trying them all."""
_REST_DIRECTIVE = re.compile(r"\.\. [\w:+.-]+::(?:[ \t]|$)")
_FEWEST_TITLES = 2
"""How many one-line headings a text must have besides the title at its top."""

_ATTRIBUTES = re.compile(r"\[.*\]$|:!?\w[\w-]*!?:(?:[ \t]|$)")
"""Attributes of the block or section below, or of the whole document."""
_VERBATIM = re.compile(r"-{4,}$|\.{4,}$|\+{4,}$|/{4,}$|```\w*$|[|,:!]={3,}$")
"""Delimiters of code, comments and tables, which end with the next line that is the same."""
_CONTAINER = re.compile(r"={4,}$|\*{4,}$|_{4,}$|--$")
"""Delimiters of blocks that contain ordinary text, headings included."""

_TITLE = re.compile(r"(?P<marks>={1,6})[ \t]+(?=[^\s=])")
_MARKDOWN_TITLE = re.compile(r"#{2,6}[ \t]+[^\s#]")
"""Not with a single #: that often begins a comment in an example of a configuration file."""
_UNDERLINE = re.compile(r"=+$|-+$|~+$|\^+$|\++$")
_UNDERLINE_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_UNDERLINE_TOLERANCE = 2
"""How many characters longer or shorter than its title an underline may be (AsciiDoc User Guide,
11.1)."""
_NOT_A_TITLE = re.compile(r"[-*.]+[ \t]|\.\w|//|[ \t]")
_INLINE_ANCHOR = re.compile(r"\[\[[^\[\]]*\]\]")


def is_asciidoc(lines: Lines) -> bool:
    """Whether a text has syntax that only AsciiDoc has, and no directive of reStructuredText.

    Such syntax is: a macro that includes a file, tests an attribute or links; a verse; an anchor
    directly above a heading; a delimited block with its kind or title above it, or attached to a
    list item with `+`; and a title at the top with at least two one-line headings below it.
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
    """Whether the line is AsciiDoc markup for the heading or block directly below it."""
    if line[0] not in "[+." or not lines.follows(index + 1):
        return False
    below = lines.text(index + 1).rstrip()
    if _ANCHOR.match(line):
        return _heading(lines, index + 1) is not None
    if line == "+":
        # In a patch, a line of + alone is an added blank line.
        is_joined = lines.follows(index) and not lines.text(index - 1).startswith(("+", "-"))
        return is_joined and bool(_VERBATIM.match(below) or _BLOCK_KIND.match(below))
    is_delimiter = bool(_VERBATIM.match(below) or _CONTAINER.match(below))
    is_title = bool(_BLOCK_TITLE.match(line)) and len(below) > len(line) + _UNDERLINE_TOLERANCE
    # A delimiter as long as the line may be its underline.
    is_kind = bool(_BLOCK_KIND.match(line)) and len(below) != len(line)
    return is_delimiter and (is_title or is_kind)


def read_asciidoc(lines: Lines) -> tuple[list[HeadingMark], list[Block]] | None:
    """The headings, and the blocks to keep in one chunk; no heading is within a block.

    None if there are more Markdown headings: such a text only contains some AsciiDoc.
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
    """Finds verbatim blocks by their delimiters, in linear time over all calls."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        found = (lines.text(index).rstrip() for index in range(len(lines)))
        self._last = {line: index for index, line in enumerate(found) if _VERBATIM.match(line)}

    def end_of_block(self, index: int) -> int:
        """The index after the block that begins at this line; `index` if there is none."""
        line = self._lines.text(index).rstrip()
        closing = "```" if line.startswith("```") else line
        if not _VERBATIM.match(line) or self._last.get(closing, 0) <= index:
            return index
        end = index + 1
        while self._lines.text(end).rstrip() != closing:
            end += 1
        return end + 1


def _parts_paragraphs(line: str) -> bool:
    """Whether a title may directly follow the line, since it is markup and no text."""
    forms = (_ATTRIBUTES, _CONTAINER, _MACRO)
    return line.startswith("//") or any(form.match(line) for form in forms)


def _heading(lines: Lines, index: int) -> HeadingMark | None:
    """The heading that begins at this line, if there is one; no text directly precedes it."""
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
    """The level of a title by the underline below it; 0 if there is none."""
    if not lines.follows(index + 1) or len(title) > TITLE_CHARACTERS:
        return 0
    underline = lines.text(index + 1).rstrip()
    if not _UNDERLINE.match(underline) or _NOT_A_TITLE.match(title) or _ATTRIBUTES.match(title):
        return 0
    is_as_long = abs(len(title) - len(underline)) <= _UNDERLINE_TOLERANCE
    return _UNDERLINE_LEVELS[underline[0]] if is_as_long else 0
