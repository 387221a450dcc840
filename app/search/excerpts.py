"""Cuts passages around the words that were found: at lines, or within lines that are too long."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import regex

from app.adapters.splitting.boundaries import Positions
from app.adapters.splitting.graphemes import grapheme_breaks
from app.adapters.splitting.source_lines import count_line_ends, line_end, line_start
from app.search.passage_queries import Extent
from app.search.passages import Passage, PassageHit, PassageLines, PassagePlan, merge_plans
from app.search.results import Highlight

LONGEST_WORD = 60
"""So far the end of a word is looked for; what is longer is cut between two characters."""

_WITHIN_WORD = regex.compile(r"\w\w")
"""An accent that is a character of its own is part of its word here, otherwise than in `re`."""


@dataclass(frozen=True)
class Excerpt:
    """A plan that is shown without the rest of its lines: from here, passages are cut."""

    plan: PassagePlan
    text: str
    """Of the plan's extent."""
    begins_line: bool
    ends_line: bool
    """Whether nothing but blanks stands beside it in its first line, and in its last."""

    @property
    def rank(self) -> int:
        """Of its best hit."""
        return self.plan.rank

    def whole(self) -> Passage:
        """All of the plan."""
        return self._passage(0, len(self.text))

    def lines_around_words(self, size: int) -> Passage | None:
        """Whole lines of so many characters or less, around the sentence that says most.

        Where these have no room, around the first of them, and None where that has none. Only the
        first line of all may begin before it, and the last go on behind it.
        """
        said_start, said_end = self._telling(size)
        first = line_start(self.text, said_start)
        last = line_end(self.text, max(said_start, said_end - 1))
        if last - first > size:
            last = line_end(self.text, said_start)
        if last - first > size:
            return None
        start, end = self._window(first, last, size)
        if start > 0:
            start = self._next_line(start)
        if end < len(self.text) and line_end(self.text, end) > end:
            end = line_start(self.text, end)
        return self._passage(start, end)

    def around_words(self, size: int) -> Passage:
        """So many characters of it, or a few less: around the sentence that says most.

        Where there is no room for that, around those of its words that stand closest. It begins
        and ends with a line, where that leaves these whole, else with a word.
        """
        said_start, said_end = self._telling(size)
        start, end = self._window(said_start, said_end, size)
        if start > 0:
            start = self._begin(start, max(said_start, start))
        if end < len(self.text):
            end = self._end(end, max(min(said_end, end), start))
        return self._passage(start, end)

    def lines_cut_by(self, part: Passage) -> list[Passage]:
        """The lines of which this part of it has less than all: none, one or two."""
        start = part.start_index - self.plan.extent.start_index
        end = part.end_index - self.plan.extent.start_index
        places = ([start] if part.cut_before else []) + ([end - 1] if part.cut_after else [])
        return [
            self._passage(line_start(self.text, place), line_end(self.text, place))
            for place in places
        ]

    def says_more_before(self, part: Passage) -> bool:
        """Whether more than blanks stands in front of this part of it, or in its first line."""
        start = part.start_index - self.plan.extent.start_index
        return part.cut_before or bool(self.text[:start].strip())

    def says_more_after(self, part: Passage) -> bool:
        """Whether more than blanks stands behind this part of it, or in its last line."""
        end = part.end_index - self.plan.extent.start_index
        return part.cut_after or bool(self.text[end:].strip())

    def _window(self, start: int, end: int, size: int) -> tuple[int, int]:
        """So many characters around a stretch that is no longer."""
        start -= (size - (end - start)) // 2
        start = min(max(start, 0), len(self.text) - size)
        return start, start + size

    def _next_line(self, place: int) -> int:
        """Where the first line begins that does not begin before this place."""
        end = line_end(self.text, place - 1)
        return end + (2 if self.text[end : end + 2] == "\r\n" else 1)

    def _telling(self, size: int) -> tuple[int, int]:
        """The stretch that an excerpt of this size has to show."""
        hit = self.plan.hits[0]
        first = hit.extent.start_index - self.plan.extent.start_index
        sentence = hit.telling_sentence
        if sentence is None:
            return first, first
        said = sentence.start, sentence.end
        if sentence.end - sentence.start > size:
            said = _closest_words(hit, sentence, size)
        return first + said[0], first + said[1]

    def _begin(self, start: int, latest: int) -> int:
        """The first place from here on at which a line begins, else a word, else a character."""
        following = self._next_line(start)
        if following <= latest:
            return following
        near = range(start, min(latest, start + LONGEST_WORD) + 1)
        return next(filter(self._parts_words, near), self._next_break(start))

    def _end(self, end: int, earliest: int) -> int:
        """The last place up to here at which a line ends, else a word, else a character."""
        line = line_start(self.text, end)
        if line > earliest:
            return line
        near = range(end, max(earliest, end - LONGEST_WORD) - 1, -1)
        last_break = int(self._breaks[np.searchsorted(self._breaks, end, side="right") - 1])
        return next(filter(self._parts_words, near), last_break)

    @functools.cached_property
    def _breaks(self) -> Positions:
        """Where no character is torn as its reader sees it."""
        return np.flatnonzero(grapheme_breaks(self.text))

    def _next_break(self, place: int) -> int:
        return int(self._breaks[np.searchsorted(self._breaks, place)])

    def _parts_words(self, place: int) -> bool:
        is_within_word = _WITHIN_WORD.fullmatch(self.text, place - 1, place + 1)
        return not is_within_word and self._next_break(place) == place

    def _passage(self, start: int, end: int) -> Passage:
        """These characters, without blank lines in front and white space at the end.

        The indentation of a line that is shown from its first word belongs to it.

        It names the hits of which it shows anything, and has the best cosine among them.
        """
        stretch = self.text[start:end]
        filled = start + len(stretch) - len(stretch.lstrip())
        line = line_start(self.text, filled)
        start = line if self._begins_line(line, filled) else filled
        content = self.text[start:end].rstrip()
        end = start + len(content)
        extent = self.plan.extent
        first, last = extent.start_index + start, extent.start_index + end
        hits = [
            hit
            for hit in self.plan.hits
            if hit.extent.start_index < last and hit.extent.end_index > first
        ]
        start_line = extent.start_line + count_line_ends(self.text[:start])
        return Passage(
            rank=self.plan.rank,
            score=max((hit.score for hit in hits), default=self.plan.score),
            document=self.plan.document,
            heading_path=self.plan.heading_path,
            chunk_ids=tuple(hit.chunk_id for hit in hits),
            start_line=start_line,
            end_line=start_line + count_line_ends(content),
            start_index=first,
            end_index=last,
            content=content,
            cut_before=not self._begins_line(line, start),
            cut_after=self._cut_after(end),
        )

    def _begins_line(self, line: int, start: int) -> bool:
        """Whether nothing but blanks stands between the beginning of the line and this place."""
        return bool(line or self.begins_line) and not self.text[line:start].strip()

    def _cut_after(self, end: int) -> bool:
        line = line_end(self.text, end)
        return bool(self.text[end:line].strip()) or not (line < len(self.text) or self.ends_line)


def excerpts_of(lines: PassageLines, is_too_long: Callable[[Passage], bool]) -> list[Excerpt]:
    """The hits of a plan with their neighbours, each for itself unless their characters touch.

    They begin and end with whole lines, but within such as are too long.
    """
    text = "".join(lines.lines)
    excerpts = []
    is_long = functools.cache(lambda number: is_too_long(lines.passage(number, number)))
    parts = [_widened(part, lines, text, is_long) for part in lines.plan.parts or (lines.plan,)]
    for plan in merge_plans(parts, Extent.adjoins):
        start = plan.extent.start_index - lines.first_index
        end = plan.extent.end_index - lines.first_index
        excerpts.append(
            Excerpt(
                plan,
                text[start:end],
                begins_line=not text[line_start(text, start) : start].strip(),
                ends_line=not text[end : line_end(text, end - 1)].strip(),
            )
        )
    return excerpts


def _widened(
    plan: PassagePlan, lines: PassageLines, text: str, is_long: Callable[[int], bool]
) -> PassagePlan:
    """The plan from where its first line begins to where its last ends, unless these are long."""
    extent = plan.extent
    start, end = extent.start_index - lines.first_index, extent.end_index - lines.first_index
    before, after = start - line_start(text, start), line_end(text, end - 1) - end
    if before > 0 and not is_long(extent.start_line):
        extent = dataclasses.replace(extent, start_index=extent.start_index - before)
    if after > 0 and not is_long(extent.end_line):
        extent = dataclasses.replace(extent, end_index=extent.end_index + after)
    return dataclasses.replace(plan, extent=extent)


def _closest_words(hit: PassageHit, sentence: Highlight, size: int) -> tuple[int, int]:
    """The stretch of at most this size that says most different words of the sentence."""
    words = [
        word
        for word in hit.highlights
        if word.kind == "word" and sentence.start <= word.start < sentence.end
    ]
    closest, most = (sentence.start, sentence.start), 0
    for number, first in enumerate(words):
        different: set[str] = set()
        for word in words[number:]:
            if word.end - first.start > size:
                break
            different.add(word.text.casefold())
            if len(different) > most:
                closest, most = (first.start, word.end), len(different)
    return closest
