"""Recognises headings of Markdown and reStructuredText, and determines their hierarchy."""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from app.adapters.splitting.blocks import FENCE, TAB_COLUMNS
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.plain_headings import plain_heading

TITLE_CHARACTERS = 200
"""Longer titles are shortened in heading paths, since every chunk of a section repeats its path."""

_READ_CHARACTERS = 10 * TITLE_CHARACTERS
"""Characters of a title that are read. Its markup, such as the targets of links and badges, may be
much longer than what a reader sees of it."""

LOOSE_TITLE_CHARACTERS = 100
"""A line with at most so many visible characters is a title even if its underline, === or ---, is
shorter than the line, as Markdown allows. Markup such as badges does not count."""

MOST_TITLE_LINES = 3
"""The most lines of a title that has several, as Markdown allows."""

_HASH_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_TAB_LABEL = re.compile(r"\[[^\[\]]*\]\(#tab/[^()\s]*\)$")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_NOT_A_LOOSE_TITLE = re.compile(r"[-*+>|<#:]|\d+[.)](?:[ \t]|$)")
_NOT_A_TITLE = re.compile(rf"[-*+][ \t]|>|{FENCE.pattern}")
"""Matches list items, block quotes and fences: in Markdown, none of them is a title, not even above
---."""

_DEFINITION = re.compile(r"\[(?:\^[^\[\]\s]+\]:|[^\[\]]+\]:[ \t]*\S+(?:[ \t]+[\"'(].*)?$)")
"""Matches definitions of footnotes and links of Markdown: they are no titles above --- either."""

_NOT_A_REST_TITLE = re.compile(r"[-*+][ \t]|>>> |:[^:\s][^:]*:(?:[ \t]|$)")
"""Matches list items, doctests and fields of reStructuredText."""

_REST_UNDERLINES = frozenset(string.punctuation)
_UNDERLINES = _REST_UNDERLINES - {"`"}
"""For texts that may be Markdown, where a backquote far more often marks code."""
_EQUALS = frozenset("=")
_OVERLINES = _UNDERLINES - {"~"}
"""Without the tilde, too: as an overline, ~~~ would be the opening of fenced code."""

LOOSE_UNDERLINE_CHARACTERS = 4
"""In reStructuredText, an underline of this length may be shorter than its title."""

_SHORT_UNDERLINE = re.compile(r"(?:==?|--)$")
"""Underlines of one or two characters; a single - is far more often an empty list item."""

_SHORT_REST_UNDERLINE = re.compile(r"(?!::)([!-/:-@\[-`{-~])\1?$")
"""The same in reStructuredText, which allows all punctuation; but `::` announces code."""

_MARKDOWN_UNDERLINES = {"=": 1, "-": 2}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, and the headings that it stands under."""

    start: int
    """Where its section begins: with it, or with the labels right above it."""
    end: int
    path: tuple[str, ...]
    """Titles from the outermost heading to this one, each shortened; without its own if empty."""
    title: str
    """The whole title as a reader sees it, without markup."""
    level: int
    """1 is the highest; in reStructuredText, the level of the style that the text uses first."""
    is_html: bool


@dataclass(frozen=True, slots=True)
class HeadingMark:
    """A heading as it is written, before its level is determined."""

    start: int
    end: int
    title: str
    """Empty for # without text: such a heading only ends the section above it."""
    hashes: int
    """The number of # before it, or its level in HTML; 0 for an underlined heading."""
    underline: str
    """Its underline's character, doubled if it also has an overline; empty without underline."""
    line_count: int
    is_html: bool = False
    """If so, `title` is plain text rather than Markdown."""


def heading_mark(
    lines: Lines, index: int, *, after_break: bool, is_rest: bool
) -> HeadingMark | None:
    """The heading that begins at this line, if there is one.

    `after_break`: the line begins a paragraph, as an underlined title must. `is_rest`: the text is
    read as reStructuredText.
    """
    line = lines.text(index)
    if line.lstrip()[0] == "#" and not is_rest:
        return _hash_heading(lines, index, line)
    if not after_break or not lines.follows(index + 1):
        return None
    mark = _underlined_heading(lines, index, line, is_rest=is_rest)
    return mark or (None if is_rest else _heading_in_lines(lines, index, line))


def _underlined_heading(
    lines: Lines, index: int, line: str, *, is_rest: bool
) -> HeadingMark | None:
    underlines = _REST_UNDERLINES if is_rest else _UNDERLINES
    overlines = _REST_UNDERLINES if is_rest else _OVERLINES
    overline = line.rstrip() if _is_ruler(line, overlines) else ""
    title_index = index + 1 if overline else index
    if not lines.follows(title_index + 1):
        return None
    underline = lines.text(title_index + 1).rstrip()
    title = lines.text(title_index).rstrip()
    short = _SHORT_REST_UNDERLINE if is_rest else _SHORT_UNDERLINE
    is_underlined = _is_ruler(underline, underlines) or (
        not overline and bool(short.match(underline))
    )
    if not is_underlined or _is_ruler(title, underlines):
        return None
    if not _is_title(title, overline, underline, is_rest=is_rest):
        return None
    return HeadingMark(
        start=lines.start(index),
        end=lines.end(title_index + 1),
        title=title.strip(),
        hashes=0,
        underline=overline[:1] + underline[0],
        line_count=title_index + 2 - index,
    )


def _heading_in_lines(lines: Lines, index: int, line: str) -> HeadingMark | None:
    """A Markdown title of several lines, underlined with ===; definitions before it are none of it.

    Several lines above --- are no title here: more often it is meant as a thematic break.
    """
    parts = [line.rstrip()]
    end = index + 1
    while end < index + MOST_TITLE_LINES and lines.follows(end):
        part = lines.text(end).strip()
        if not part.strip("="):
            break
        parts.append(part)
        end += 1
    defined = sum(1 for _ in takewhile(_is_link_definition, parts))
    title = " ".join(parts[defined:])
    is_underlined = lines.follows(end) and _is_ruler(lines.text(end).lstrip(), _EQUALS)
    if (
        not title
        or len(parts) < 2
        or not is_underlined
        or len(title) > LOOSE_TITLE_CHARACTERS
        or title[0].isspace()
    ):
        return None
    if _NOT_A_TITLE.match(title) or _DEFINITION.match(title):
        return None
    if any(map(_NOT_A_LOOSE_TITLE.match, parts[defined:])):
        return None
    if not any(map(str.isalnum, title)):
        return None
    start = lines.start(index + defined)
    return HeadingMark(start, lines.end(end), title, 0, "=", end + 1 - index)


def _is_link_definition(line: str) -> bool:
    """Whether this is all of a definition; a footnote's text would go on in the next line."""
    return bool(_DEFINITION.match(line)) and not line.startswith("[^")


def _is_tab_label(title: str) -> bool:
    """Whether the title is the label of a tab, in the syntax of Microsoft Learn.

    Such a label is no heading: the tab's content belongs to the section around the tabs.
    """
    return bool(_TAB_LABEL.match(title))


def settle_headings(
    marks: Sequence[HeadingMark], directives: int = 0, *, is_rest: bool = False
) -> list[Heading]:
    """Determine the level and path of each heading; drop those of the other markup language.

    Markdown: the level is the number of #, 1 for === and 2 for ---. reStructuredText: each style of
    underline has a level of its own, in the order in which the styles first appear.

    `is_rest`: the text is reStructuredText. Otherwise, the text is Markdown if it has headings with
    #, and at least as many of them as of underlines that only reStructuredText has. To the latter,
    `directives`, the number of its directives, is added, unless all headings have #.
    """
    hashed = sum(mark.hashes > 0 and bool(mark.title) for mark in marks)
    foreign = sum(bool(mark.underline) and not _is_markdown_style(mark) for mark in marks)
    if hashed < len(marks):
        foreign += directives
    is_markdown = not is_rest and hashed >= max(1, foreign)
    shows_rest = is_rest or foreign > hashed
    styles: dict[str, int] = {}
    stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    headings: list[Heading] = []
    for mark in marks:
        if is_markdown:
            level = mark.hashes or _MARKDOWN_UNDERLINES.get(mark.underline, 0)
        elif mark.underline:
            level = styles.setdefault(mark.underline, len(styles) + 1)
        else:
            level = 0
        if level == 0:
            continue
        while stack[-1][0] >= level:
            stack.pop()
        title = _shown(mark, is_rest=shows_rest)
        path = (*stack[-1][1], _shortened(title)) if title else stack[-1][1]
        stack.append((level, path))
        headings.append(Heading(mark.start, mark.end, path, title, level, mark.is_html))
    return headings


def _is_markdown_style(mark: HeadingMark) -> bool:
    return mark.underline in _MARKDOWN_UNDERLINES


def _hash_heading(lines: Lines, index: int, line: str) -> HeadingMark | None:
    body = line.strip()
    match = _HASH_HEADING.match(body)
    indent = line[: lines.indent(index)].expandtabs(TAB_COLUMNS)
    if match is None or len(indent) > 3:
        return None
    title = _CLOSING_HASHES.sub("", body[match.end() :].strip()).strip()
    if _is_tab_label(title):
        return None
    return HeadingMark(lines.start(index), lines.end(index), title, len(match[1]), "", 1)


def _is_ruler(line: str, underlines: frozenset[str]) -> bool:
    line = line.rstrip()
    return len(line) >= 3 and line[0] in underlines and not line.strip(line[0])


def _is_title(title: str, overline: str, underline: str, *, is_rest: bool) -> bool:
    if not any(character.isalnum() for character in title):
        return False
    if overline:
        if title.startswith("#") and not is_rest:  # a Markdown heading between two thematic breaks
            return False
        is_long = len(title) <= len(underline)
        return overline == underline and (
            is_long or (is_rest and len(underline) >= LOOSE_UNDERLINE_CHARACTERS)
        )
    if title[0].isspace():
        return False
    return _is_rest_title(title, underline) if is_rest else _is_either_title(title, underline)


def _is_rest_title(title: str, underline: str) -> bool:
    is_long_enough = len(underline) >= min(len(title), LOOSE_UNDERLINE_CHARACTERS)
    return is_long_enough and not _NOT_A_REST_TITLE.match(title)


def _is_either_title(title: str, underline: str) -> bool:
    if _NOT_A_TITLE.match(title):
        return False
    if _DEFINITION.match(title) and len(title) != len(underline):  # else it is drawn for it
        return False
    if len(title) <= len(underline):
        return True
    if underline[0] not in _MARKDOWN_UNDERLINES or _NOT_A_LOOSE_TITLE.match(title):
        return False
    if len(title) <= LOOSE_TITLE_CHARACTERS:
        return True
    return len(title) <= _READ_CHARACTERS and len(plain_heading(title)) <= LOOSE_TITLE_CHARACTERS


def _shown(mark: HeadingMark, *, is_rest: bool) -> str:
    title = mark.title[:_READ_CHARACTERS]
    return title if mark.is_html else plain_heading(title, is_rest=is_rest)


def _shortened(title: str) -> str:
    return title if len(title) <= TITLE_CHARACTERS else title[: TITLE_CHARACTERS - 1] + "…"
