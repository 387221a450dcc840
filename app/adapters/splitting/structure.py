"""Reads the structure of a document from its lines, in Markdown or any other markup."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.adapters.splitting.asciidoc import is_asciidoc, read_asciidoc
from app.adapters.splitting.blocks import Block, BlockFinder
from app.adapters.splitting.front_matter import front_matter_end
from app.adapters.splitting.headings import Heading, HeadingMark, heading_mark, settle_headings
from app.adapters.splitting.html_headings import HtmlHeadingFinder
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.manual_pages import read_manual
from app.adapters.splitting.markdown_boxes import opens_box
from app.adapters.splitting.markup import Markup
from app.adapters.splitting.outlines import is_outline, outline_heading
from app.adapters.splitting.section_labels import labels_start
from app.adapters.splitting.verbatim import Opening, verbatim_opening

_EXPLICIT_MARKUP = re.compile(r"\s*\.\.(?:[ \t]+(?P<directive>\w[\w:+.-]*::)?|$)")
"""Explicit markup of reStructuredText: directives, comments, footnotes, targets."""
_ONE_HASH = re.compile(r"#(?!#)")
_ABOVE_SIGNATURE, _ABOVE_FOOTER = "--", "_" * 47
"""The separators below the last line of a mail: of its signature, and of the footer of Mailman."""


@dataclass(frozen=True)
class Structure:
    """Headings and blocks in the order of the text; they never overlap."""

    headings: list[Heading]
    blocks: list[Block]
    directives: int = 0
    """The number of reStructuredText directives that are neither indented nor nested."""
    is_code: bool = False
    """Whether the whole text is code."""


@dataclass(frozen=True)
class Verbatim:
    """A stretch of the text whose content is not read as Markdown, such as an HTML comment."""

    end: int
    """The index of the first line after it."""
    is_block: bool
    """Whether it should be kept in one chunk."""
    is_table: bool


class _HeadingFinder:
    """Recognises headings by their first line. Must be called with rising line indexes."""

    def __init__(self, lines: Lines, *, is_rest: bool, is_told: bool) -> None:
        self._lines = lines
        self._is_rest = is_rest
        self._is_told = is_told
        self._html = HtmlHeadingFinder(lines)
        self._is_outline = is_told and not is_rest and is_outline(lines)

    def mark(self, index: int, *, after_break: bool) -> HeadingMark | None:
        """The heading that begins at this line, if there is one; HTML counts only in Markdown."""
        if not self._is_rest and (mark := self._html.mark(index)):
            return mark
        if self._is_outline and (mark := outline_heading(self._lines, index)):
            return mark
        if not self._is_told and self._is_comment(index):
            return None
        mark = heading_mark(self._lines, index, after_break=after_break, is_rest=self._is_rest)
        if mark and not self._is_told and self._ends_mail(index, mark):
            return None
        return None if mark and self._is_in_box(index, mark) else mark

    def _is_in_box(self, index: int, mark: HeadingMark) -> bool:
        """Whether it is the title of a note, which begins with it: the text goes on below."""
        return mark.hashes > 1 and index > 0 and opens_box(self._lines.text(index - 1))

    def _ends_mail(self, index: int, mark: HeadingMark) -> bool:
        """Whether the apparent underline is a separator at the end of a mail in a mail archive."""
        if mark.line_count != 2:
            return False
        below, title = self._lines.text(index + 1).strip(), mark.title
        if below == _ABOVE_SIGNATURE:
            return len(title) > len(below)
        return below == _ABOVE_FOOTER and len(title) < len(below)

    def _is_comment(self, index: int) -> bool:
        """Whether the line and one next to it both begin with a single #.

        In plain text, such lines are comments, for example in configuration files.
        """
        lines = self._lines
        if not _ONE_HASH.match(lines.text(index)):
            return False
        is_below = lines.follows(index) and _ONE_HASH.match(lines.text(index - 1))
        return bool(
            is_below or (lines.follows(index + 1) and _ONE_HASH.match(lines.text(index + 1)))
        )


class _UnheadedLines:
    """Recognises stretches in which nothing is a heading, even if it looks like one.

    Must be called with rising line indexes.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._body_end = 0
        self._unclosed_before: dict[tuple[re.Pattern[str], str], int] = {}
        self.directives = 0
        """The number of reStructuredText directives so far. Nested and indented ones do not count:
        Markdown may show them as examples."""

    def verbatim(self, index: int) -> Verbatim | None:
        """The stretch beginning at this line that is not read as Markdown, if there is one."""
        opening = verbatim_opening(self._lines.text(index)) if index >= self._body_end else None
        if opening is None or index < self._unclosed_before.get(opening.closing, 0):
            return None
        end = index
        while end < len(self._lines) and (end == index or self._may_hold(opening, end)):
            end += 1
            if opening.is_closed_by(self._lines.text(end - 1), is_first=end == index + 1):
                return Verbatim(end, opening.form.is_block, opening.form.is_table)
        if opening.form.reaches_end:
            return Verbatim(end, opening.form.is_block, opening.form.is_table)
        self._unclosed_before[opening.closing] = end
        return None

    def _may_hold(self, opening: Opening, index: int) -> bool:
        return opening.form.spans_blanks or self._lines.follows(index)

    def is_markup(self, index: int) -> bool:
        """Whether the line begins explicit markup of reStructuredText or is indented below it."""
        if index < self._body_end:
            return True
        markup = _EXPLICIT_MARKUP.match(self._lines.text(index))
        if markup is None:
            return False
        self._body_end = self._lines.deeper_end(index)
        self.directives += bool(markup["directive"]) and not self._lines.indent(index)
        return True


def read_structure(lines: Lines, markup: Markup = Markup.MARKDOWN) -> Structure:
    """Find the headings, and the blocks to keep in one chunk.

    Nothing is a heading within a block, an HTML comment or the like, or the body of a directive,
    nor in code (NONE), of which blocks stay together as they do in Markdown.

    If the markup is unknown (UNTOLD), it is guessed. The text is a manual page if it begins as
    one. It is AsciiDoc if it has syntax that only AsciiDoc has, and at least as many headings of
    AsciiDoc as of Markdown. Otherwise it is read both ways, and is reStructuredText if this gives
    any headings, and together with the directives more than Markdown has headings. Adjacent lines
    that begin with a single # are then comments, not headings; and so are any that look like those
    in examples: see `_are_comments`.
    """
    if markup is Markup.NONE:
        return Structure([], _read(lines, is_rest=False, is_told=True).blocks, is_code=True)
    if markup is not Markup.UNTOLD:
        return _read(lines, is_rest=markup is Markup.RESTRUCTUREDTEXT, is_told=True)
    if sections := read_manual(lines):
        return Structure(settle_headings(sections), [])
    if is_asciidoc(lines) and (found := read_asciidoc(lines)):
        marks, blocks = found
        return Structure(settle_headings(marks), blocks)
    markdown = _read(lines, is_rest=False, is_told=False)
    rest = _read(lines, is_rest=True, is_told=False)
    signs = len(rest.headings) + rest.directives if rest.headings else 0
    return rest if signs > len(markdown.headings) else markdown


def _read(lines: Lines, *, is_rest: bool, is_told: bool) -> Structure:
    finder = BlockFinder(lines)
    unheaded = _UnheadedLines(lines)
    headings = _HeadingFinder(lines, is_rest=is_rest, is_told=is_told)
    marks: list[HeadingMark] = []
    blocks: list[Block] = []
    index = front_matter_end(lines)
    after_break = True
    while index < len(lines):
        if not is_rest and (verbatim := unheaded.verbatim(index)):
            if verbatim.is_block:
                last = lines.end(verbatim.end - 1)
                blocks.append(Block(lines.start(index), last, verbatim.is_table))
            index, after_break = verbatim.end, True
            continue
        after_break = after_break or not lines.follows(index)
        is_markup = unheaded.is_markup(index)
        mark = None if is_markup else headings.mark(index, after_break=after_break)
        if mark is not None:
            marks.append(_with_labels(lines, index, mark, is_rest=is_rest))
            index += mark.line_count
            after_break = True
            continue
        found, end = finder.passage(index, is_rest=is_rest)
        blocks += found
        # A paragraph does not continue after explicit markup or its body. But in Markdown, a line
        # that begins with two dots may be ordinary text, unless it is indented.
        ends_markup = is_markup and (is_rest or lines.indent(index) > 0)
        after_break = bool(found) or end > index + 1 or ends_markup
        index = end
    if not is_told and _are_comments(lines, marks):
        marks = [mark for mark in marks if mark.is_html or not mark.hashes]
    settled = settle_headings(marks, unheaded.directives, is_rest=is_rest)
    return Structure(settled, blocks, unheaded.directives)


def _are_comments(lines: Lines, marks: Sequence[HeadingMark]) -> bool:
    """Whether what may be headings with # are comments in examples of a plain text.

    Most of them have a single #, as have comments in many languages, and stand right above a line,
    as comments do; and none of them begins the text.
    """
    hashed = [mark for mark in marks if mark.hashes and not mark.is_html]
    single = sum(mark.hashes == 1 for mark in hashed)
    begins = bool(hashed) and hashed[0].start == lines.start(front_matter_end(lines))
    if len(marks) < 2 or begins or 2 * single <= len(hashed):
        return False
    return 2 * sum(lines.is_right_above_text(mark.end) for mark in hashed) > len(hashed)


def _with_labels(lines: Lines, index: int, mark: HeadingMark, *, is_rest: bool) -> HeadingMark:
    """The heading that begins at this line, from the first of the labels right above it on."""
    if mark.start != lines.start(index):  # definitions stand between
        return mark
    first = labels_start(lines, index, mark.title, is_rest=is_rest)
    return mark if first == index else replace(mark, start=lines.start(first))
