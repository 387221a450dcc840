"""Cuts passages around matched words: at line breaks, or inside lines that are too long."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import regex

from app.adapters.splitting.boundaries import Positions
from app.adapters.splitting.graphemes import grapheme_breaks
from app.knowledge.content_lines import count_line_ends, line_end, line_start
from app.search.passage_queries import Extent
from app.search.passages import Passage, PassageHit, PassageLines, PassagePlan, merge_plans
from app.search.results import Highlight

LONGEST_WORD = 60
"""Characters searched for a word boundary; a longer word is cut between two characters."""

_WITHIN_WORD = regex.compile(r"\w\w")
"""From `regex`, because its `\\w`, unlike that of `re`, includes combining accents."""


@dataclass(frozen=True)
class Excerpt:
    """The text of a plan's extent, without the rest of its lines: passages are cut from it."""

    plan: PassagePlan
    text: str
    """The text of the plan's extent."""
    begins_line: bool
    """Whether only white space precedes it in its first line."""
    ends_line: bool
    """Whether only white space follows it in its last line."""

    @property
    def rank(self) -> int:
        """The rank of its best hit."""
        return self.plan.rank

    def whole(self) -> Passage:
        """The whole text as one passage."""
        return self._passage(0, len(self.text))

    def lines_around_words(self, size: int) -> Passage | None:
        """Whole lines of at most `size` characters around the sentence with the most matches.

        If the lines of that sentence are longer than `size`, only the first of them is kept; None
        if even that one is longer. The excerpt's own first and last line may be incomplete, as they
        are in `text`.
        """
        focus_start, focus_end = self._focus(size)
        first = line_start(self.text, focus_start)
        last = line_end(self.text, max(focus_start, focus_end - 1))
        if last - first > size:
            last = line_end(self.text, focus_start)
        if last - first > size:
            return None
        start, end = self._window(first, last, size)
        if start > 0:
            start = self._next_line(start)
        if end < len(self.text) and line_end(self.text, end) > end:
            end = line_start(self.text, end)
        return self._passage(start, end)

    def around_words(self, size: int) -> Passage:
        """At most `size` characters, and few less, around the sentence with the most matches.

        If that sentence is longer than `size`, they surround those of its matched words that stand
        closest together. The passage begins and ends at line breaks where that cuts off nothing of
        the sentence or these words, otherwise at word boundaries.
        """
        focus_start, focus_end = self._focus(size)
        start, end = self._window(focus_start, focus_end, size)
        if start > 0:
            start = self._begin(start, max(focus_start, start))
        if end < len(self.text):
            end = self._end(end, max(min(focus_end, end), start))
        return self._passage(start, end)

    def lines_cut_by(self, part: Passage) -> list[Passage]:
        """The lines that `part`, a passage of this excerpt, shows incompletely: at most two."""
        start = part.start_index - self.plan.extent.start_index
        end = part.end_index - self.plan.extent.start_index
        places = ([start] if part.cut_before else []) + ([end - 1] if part.cut_after else [])
        return [
            self._passage(line_start(self.text, place), line_end(self.text, place))
            for place in places
        ]

    def says_more_before(self, part: Passage) -> bool:
        """Whether any text precedes `part`, in this excerpt or in the part's first line."""
        start = part.start_index - self.plan.extent.start_index
        return part.cut_before or bool(self.text[:start].strip())

    def says_more_after(self, part: Passage) -> bool:
        """Whether any text follows `part`, in this excerpt or in the part's last line."""
        end = part.end_index - self.plan.extent.start_index
        return part.cut_after or bool(self.text[end:].strip())

    def narrower(self) -> list["Excerpt"]:
        """Its hits without their neighbours, else one by one, else without the rest of their lines.

        Hits that adjoin stay together as long as that is less than all of this; of one hit alone
        nothing is narrower.
        """
        in_lines = [self._of_hit(hit, in_lines=True) for hit in self.plan.hits]
        alone = [self._of_hit(hit, in_lines=False) for hit in self.plan.hits]
        for plans in (merge_plans(in_lines, Extent.adjoins), in_lines, alone):
            if len(plans) > 1 or plans[0].extent != self.plan.extent:
                return [self._excerpt(plan) for plan in plans]
        return []

    def _of_hit(self, hit: PassageHit, *, in_lines: bool) -> PassagePlan:
        extent = hit.extent
        if in_lines:
            first = self.plan.extent.start_index
            start, end = extent.start_index - first, extent.end_index - first
            extent = dataclasses.replace(
                extent,
                start_index=first + line_start(self.text, start),
                end_index=first + max(end, line_end(self.text, end - 1)),
            )
        return dataclasses.replace(self.plan, rank=hit.rank, hits=(hit,), extent=extent, parts=())

    def _excerpt(self, plan: PassagePlan) -> "Excerpt":
        """The part of this excerpt for which the plan stands."""
        first = self.plan.extent.start_index
        start, end = plan.extent.start_index - first, plan.extent.end_index - first
        line, line_ends = line_start(self.text, start), line_end(self.text, end - 1)
        return Excerpt(
            plan,
            self.text[start:end],
            begins_line=self._begins_line(line, start),
            ends_line=not self.text[end:line_ends].strip()
            and (line_ends < len(self.text) or self.ends_line),
        )

    def _window(self, start: int, end: int, size: int) -> tuple[int, int]:
        """`size` characters with the given stretch, which must not be longer, in the middle.

        Near either end of the text, the window is shifted so that it stays inside.
        """
        start -= (size - (end - start)) // 2
        start = min(max(start, 0), len(self.text) - size)
        return start, start + size

    def _next_line(self, place: int) -> int:
        """The start of the first line that begins at or after this place."""
        end = line_end(self.text, place - 1)
        return end + (2 if self.text[end : end + 2] == "\r\n" else 1)

    def _focus(self, size: int) -> tuple[int, int]:
        """The stretch, of at most `size` characters, that an excerpt must show.

        It is the best hit's sentence with the most matches, or part of it; for a hit without
        highlights, it is empty and marks where the hit begins.
        """
        hit = self.plan.hits[0]
        first = hit.extent.start_index - self.plan.extent.start_index
        sentence = hit.telling_sentence
        if sentence is None:
            return first, first
        start, end = sentence.start, sentence.end
        if end - start > size:
            start, end = _closest_words(hit, sentence, size)
        return first + start, first + end

    def _begin(self, start: int, latest: int) -> int:
        """The first line start between `start` and `latest`, else word start, else character."""
        following = self._next_line(start)
        if following <= latest:
            return following
        near = range(start, min(latest, start + LONGEST_WORD) + 1)
        return next(filter(self._parts_words, near), self._next_break(start))

    def _end(self, end: int, earliest: int) -> int:
        """The last line break between `earliest` and `end`, else word end, else character."""
        line = line_start(self.text, end)
        if line > earliest:
            return line
        near = range(end, max(earliest, end - LONGEST_WORD) - 1, -1)
        last_break = int(self._breaks[np.searchsorted(self._breaks, end, side="right") - 1])
        return next(filter(self._parts_words, near), last_break)

    @functools.cached_property
    def _breaks(self) -> Positions:
        """Offsets between two graphemes, the characters that a reader sees."""
        return np.flatnonzero(grapheme_breaks(self.text))

    def _next_break(self, place: int) -> int:
        return int(self._breaks[np.searchsorted(self._breaks, place)])

    def _parts_words(self, place: int) -> bool:
        is_within_word = _WITHIN_WORD.fullmatch(self.text, place - 1, place + 1)
        return not is_within_word and self._next_break(place) == place

    def _passage(self, start: int, end: int) -> Passage:
        """The passage of `text[start:end]`, without leading blank lines and trailing white space.

        If a line is shown from its first word, its indentation is included. The passage names the
        hits that overlap it, and its score is their best cosine.
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
        """Whether only white space stands between the start of the line and this place."""
        return bool(line or self.begins_line) and not self.text[line:start].strip()

    def _cut_after(self, end: int) -> bool:
        line = line_end(self.text, end)
        return bool(self.text[end:line].strip()) or not (line < len(self.text) or self.ends_line)


def excerpts_of(lines: PassageLines, is_too_long: Callable[[Passage], bool]) -> list[Excerpt]:
    """One excerpt for each hit of a plan with its neighbours; those that adjoin are merged.

    An excerpt is widened to whole lines, except where a line is too long.
    """
    text = "".join(lines.lines)
    is_long = functools.cache(lambda number: is_too_long(lines.passage(number, number)))
    parts = [_widened(part, lines, text, is_long) for part in lines.plan.parts or (lines.plan,)]
    excerpts = []
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
    """The plan, extended to the start of its first line and the end of its last.

    A line for which `is_long` is true is not completed.
    """
    extent = plan.extent
    start, end = extent.start_index - lines.first_index, extent.end_index - lines.first_index
    before, after = start - line_start(text, start), line_end(text, end - 1) - end
    if before > 0 and not is_long(extent.start_line):
        extent = dataclasses.replace(extent, start_index=extent.start_index - before)
    if after > 0 and not is_long(extent.end_line):
        extent = dataclasses.replace(extent, end_index=extent.end_index + after)
    return dataclasses.replace(plan, extent=extent)


def _closest_words(hit: PassageHit, sentence: Highlight, size: int) -> tuple[int, int]:
    """The stretch of at most `size` characters with the most different matches of the sentence.

    Of several such stretches it is the shortest, and of these the first.
    """
    words = [
        word
        for word in hit.highlights
        if word.kind == "word" and sentence.start <= word.start < sentence.end
    ]
    closest, best = (sentence.start, sentence.start), (0, 0)
    for number, first in enumerate(words):
        different: set[str] = set()
        for word in words[number:]:
            if word.end - first.start > size:
                break
            different.add(word.text.casefold())
            said = len(different), first.start - word.end
            if said > best:
                closest, best = (first.start, word.end), said
    return closest
