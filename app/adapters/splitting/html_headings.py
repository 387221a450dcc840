"""Recognises headings that Markdown texts write in HTML, as READMEs do to centre them."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.adapters.splitting.headings import HeadingMark
from app.adapters.splitting.lines import Lines

_MAX_LINES = 20
"""Over how many lines a heading in HTML may reach: some have a logo in them."""
_MAX_CHARACTERS = 4000
_MAX_CHARACTERS_BEHIND = 200
"""A line on which more stands behind its heading is a page on one line, and no heading."""

_HTML_START = re.compile(r" {0,3}</?[a-z]", re.IGNORECASE)
_ANY_START = re.compile(r"<h[1-6](?=[\s>]|$)", re.IGNORECASE)
_START = re.compile(
    r"\s*(?:<(?:a|article|center|details|div|header|main|p|section|summary)(?:\s[^<>]*)?>\s*)*"
    r"<h(?P<level>[1-6])(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
"""A heading may stand in elements that begin on its line, but not in the cell of a table."""
_END = re.compile(r"</h(?P<level>[1-6])\s*>", re.IGNORECASE)
_TAG = re.compile(r"<(?P<name>/?[a-z!][a-z0-9-]*+)[^<>]*+>", re.IGNORECASE)
_BOX = re.compile(
    r"<(?:aside|blockquote|div|section)\s(?:[^<>]*\s)?class\s*=\s*"
    r"(?:[\"'](?P<names>[^\"'<>]*)[\"']|(?P<name>[^\s\"'<>]+))[^<>]*>\s*$",
    re.IGNORECASE,
)
_MAX_BOX_CHARACTERS = 300
BOX_WORDS = {
    *("alert", "admonition", "admonitionblock", "callout", "note", "notice"),
    *("tip", "warning", "caution", "important"),
}
"""Of which one is in the class of a box, of what holds its title, or of the title itself."""

BETWEEN_WORDS = re.compile("[-_]")
_PARTING_TAGS = {"br", "img"}
_IMAGE = re.compile(r"\[?!\[(?P<text>[^\[\]]*+)\]\([^()]*+\)(?:\]\([^()]*+\))?")
"""Of Markdown, which may stand in HTML below a blank line, as logos do."""


@dataclass(frozen=True)
class _HtmlHeading:
    """A heading as a reader sees it."""

    title: str
    level: int
    line_count: int
    before: str
    """What stands before it on its line."""


def _stands_in_html(line: str, *, follows_html: bool) -> bool:
    """Whether a line stands in a block of HTML, which the next blank line ends.

    `follows_html` says that the line right above it does.
    """
    return bool(line.strip()) and (follows_html or bool(_HTML_START.match(line)))


def _may_hold_heading(line: str) -> bool:
    """Whether a heading in HTML may begin on the line."""
    return bool(_ANY_START.search(line))


def _html_heading(lines: Sequence[str]) -> _HtmlHeading | None:
    """The heading that begins on the first of these lines, which stands in HTML.

    None without any, where nothing closes it within 20 lines, and where it has no text.
    """
    if not _may_hold_heading(lines[0]):
        return None
    markup = "\n".join(lines[:_MAX_LINES])[:_MAX_CHARACTERS]
    start = _START.match(markup)
    end = _END.search(markup, start.end()) if start else None
    if not start or not end or end["level"] != start["level"]:
        return None
    inner = markup[start.end() : end.start()]
    behind = markup[end.end() :].partition("\n")[0]
    title = _text(inner)
    if not title or _ANY_START.search(inner) or len(_text(behind)) > _MAX_CHARACTERS_BEHIND:
        return None
    before = markup[: start.start("level")].rpartition("<")[0]
    return _HtmlHeading(title, int(start["level"]), markup.count("\n", 0, end.end()) + 1, before)


def names_a_box(classes: str) -> bool:
    """Whether a class says that an element is a note, or the title of one."""
    return not BOX_WORDS.isdisjoint(BETWEEN_WORDS.sub(" ", classes.lower()).split())


def _is_in_box(heading: _HtmlHeading, line_above: str) -> bool:
    """Whether it is the title of a note, which begins with it: the text goes on below the note."""
    above = heading.before if heading.before.strip() else line_above
    box = _BOX.search(above[-_MAX_BOX_CHARACTERS:])
    if heading.level == 1 or box is None:
        return False
    return names_a_box(box["names"] or box["name"] or "")


class HtmlHeadingFinder:
    """Recognises headings in HTML where they begin. Calls must go forward."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._is_in_html = False

    def mark(self, index: int) -> HeadingMark | None:
        """The heading that begins at this line, if one does."""
        follows_html = self._is_in_html and self._lines.follows(index)
        line = self._lines.text(index)
        self._is_in_html = _stands_in_html(line, follows_html=follows_html)
        if not self._is_in_html or not _may_hold_heading(line):
            return None
        last = min(index + _MAX_LINES, len(self._lines))
        found = _html_heading([self._lines.text(number) for number in range(index, last)])
        if found is None or _is_in_box(found, self._lines.text(index - 1) if follows_html else ""):
            return None
        return HeadingMark(
            start=self._lines.start(index),
            end=self._lines.end(index + found.line_count - 1),
            title=found.title,
            hashes=found.level,
            underline="",
            line_count=found.line_count,
            is_html=True,
        )


def _text(markup: str) -> str:
    text = _IMAGE.sub(r"\g<text>", markup)
    text = _TAG.sub(lambda tag: " " if tag["name"].lower() in _PARTING_TAGS else "", text)
    return " ".join(html.unescape(text).split())
