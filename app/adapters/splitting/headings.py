"""Recognises headings of Markdown and reStructuredText, and settles what stands under what."""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from app.adapters.splitting.blocks import FENCE, TAB_COLUMNS
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.plain_headings import plain_heading

TITLE_CHARACTERS = 200
"""Longer titles are shortened in heading paths, which every chunk below them repeats."""

_READ_CHARACTERS = 10 * TITLE_CHARACTERS
"""What is read of each title: its links may be longer than their texts, and badges are many."""

LOOSE_TITLE_CHARACTERS = 100
"""A line of which so much is seen is a title even where its === or --- is shorter, as Markdown
allows. Badges may make it longer."""

MOST_TITLE_LINES = 3
"""Of a title in several lines, as Markdown allows."""

_HASH_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_TAB_LABEL = re.compile(r"\[[^\[\]]*\]\(#tab/[^()\s]*\)$")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_NOT_A_LOOSE_TITLE = re.compile(r"[-*+>|<#:]|\d+[.)](?:[ \t]|$)")
_NOT_A_TITLE = re.compile(rf"[-*+][ \t]|>|{FENCE.pattern}")
"""What a line begins with that Markdown makes no title of: --- ends the list or quote, or is the
first line of the code."""

_NOT_A_REST_TITLE = re.compile(r"[-*+][ \t]|>>> |:[^:\s][^:]*:(?:[ \t]|$)")
"""What a line begins with that is an item, a doctest or a field of reStructuredText."""

_REST_UNDERLINES = frozenset(string.punctuation)
_UNDERLINES = _REST_UNDERLINES - {"`"}
"""In a text that may be Markdown, where that one is code far more often."""
_EQUALS = frozenset("=")
_OVERLINES = _UNDERLINES - {"~"}
"""Nor does that one stand above a title there: it begins code, however short its lines are."""

LOOSE_UNDERLINE_CHARACTERS = 4
"""An underline of reStructuredText of that length makes a title of a longer line, too."""

_SHORT_UNDERLINE = re.compile(r"(?:==?|--)$")
"""What other marks are too short for; a single - is an empty item far more often."""

_SHORT_REST_UNDERLINE = re.compile(r"(?!::)([!-/:-@\[-`{-~])\1?$")
"""In reStructuredText any mark will do that is as long as the title; but `::` announces code."""

_MARKDOWN_UNDERLINES = {"=": 1, "-": 2}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, and the headings that it stands under."""

    start: int
    end: int
    path: tuple[str, ...]
    """Outermost first; the last is its own title, if there is anything to see of it, in short."""
    title: str
    """All of it, as a reader sees it."""
    level: int
    """1 is the highest; in reStructuredText, that of the style that the text uses first."""
    is_html: bool


@dataclass(frozen=True, slots=True)
class HeadingMark:
    """A heading as it is written, before its level is settled."""

    start: int
    end: int
    title: str
    """Empty where nothing stands behind the #: it ends the section above it."""
    hashes: int
    """How many # stand before it, or its level in HTML; 0 for an underlined one."""
    underline: str
    """The character that underlines it, twice when it is overlined as well; else empty."""
    line_count: int
    is_html: bool = False
    """Then the title is what a reader sees of it, and no Markdown."""


def heading_mark(
    lines: Lines, index: int, *, after_break: bool, is_rest: bool = False
) -> HeadingMark | None:
    """The heading that begins at this line, if one does.

    `after_break` says that no other text stands right above, which an underlined title needs;
    `is_rest`, that the text is known to be reStructuredText.
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
    """A title of Markdown in several lines, above ===.

    That a --- below them underlines, too, is meant less often than that it parts.
    """
    parts = [line.rstrip()]
    end = index + 1
    while end < index + MOST_TITLE_LINES and lines.follows(end):
        part = lines.text(end).strip()
        if not part.strip("="):
            break
        parts.append(part)
        end += 1
    title = " ".join(parts)
    is_underlined = lines.follows(end) and _is_ruler(lines.text(end).lstrip(), _EQUALS)
    if (
        len(parts) < 2
        or not is_underlined
        or len(title) > LOOSE_TITLE_CHARACTERS
        or title[0].isspace()
    ):
        return None
    if _NOT_A_TITLE.match(title) or any(map(_NOT_A_LOOSE_TITLE.match, parts)):
        return None
    if not any(map(str.isalnum, title)):
        return None
    return HeadingMark(lines.start(index), lines.end(end), title, 0, "=", end + 1 - index)


def _is_tab_label(title: str) -> bool:
    """Whether what stands behind the # is the label of a tab, as Microsoft Learn writes it.

    What the tab shows stays in the section around it, which goes on below the tabs.
    """
    return bool(_TAB_LABEL.match(title))


def settle_headings(
    marks: Sequence[HeadingMark], directives: int = 0, *, is_rest: bool = False
) -> list[Heading]:
    """Give each heading its level, by the rules of the language that they seem to be written in.

    Markdown: the number of #, 1 for === and 2 for ---. reStructuredText: every style of underline
    is a level of its own, in the order in which the styles first appear. `directives` is how many
    of reStructuredText were seen: they tell it as its underlines do, where anything is underlined;
    `is_rest` says that it is.
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
        if title.startswith("#") and not is_rest:  # a heading of Markdown between two rules
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
