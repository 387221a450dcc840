"""Chooses the passages that fit into a number of tokens, and notes what had to be left out."""

import bisect
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.protocols import TokenMeter
from app.search.context_formats import ContextWriter
from app.search.excerpts import Excerpt, excerpts_of
from app.search.passage_queries import DocumentFacts
from app.search.passages import Passage, PassageLines, PassagePlan
from app.search.queries import citation
from app.search.token_counts import token_count

MOST_CHARACTERS_PER_TOKEN = 16
"""Text with more characters than this for each token left is not even counted: a line of 10 MB
would take seconds. Ordinary text and code have 3 to 6, wide tables and deep indents up to 12."""

USEFUL_TOKENS = 20
"""A part of a hit with less text than this is not worth its header: about one sentence."""


@dataclass(frozen=True)
class Omission:
    """Lines that belong into the context but did not, or not all, fit."""

    rank: int
    score: float
    document: DocumentFacts
    start_line: int
    end_line: int

    @property
    def citation(self) -> str:
        """`guide/auth.md#L120-L135`."""
        return citation(self.document.key, self.start_line, self.end_line)


@dataclass(frozen=True)
class ContextText:
    """The context that fits into the budget."""

    text: str
    passages: tuple[Passage, ...]
    omitted: tuple[Omission, ...]
    total_tokens: int
    """The tokens of the text, headers included."""


class ContextBudget:
    """Takes passages in the order of their ranks as long as there is room. For one thread."""

    def __init__(
        self,
        max_tokens: int,
        meter: TokenMeter | None,
        style: ContextWriter,
        allows: Callable[[Passage], bool] = lambda _: True,
    ) -> None:
        """`max_tokens` must have room for the format's own sentences: at least 25.

        `allows`: whether a passage may be shown as it is.
        """
        self._allows = allows
        self._max_tokens = max_tokens
        self._meter = meter
        self._style = style
        self._passages: list[Passage] = []
        self._omitted: list[Omission] = []
        self._room = self._left = max_tokens - self.count(style.joined(()))

    def count(self, text: str) -> int:
        """The tokens of the text; an estimate if the model's tokenizer is not known."""
        return token_count(text, self._meter)

    def fill(
        self, plans: Sequence[PassagePlan], lines_of: Callable[[PassagePlan], PassageLines]
    ) -> None:
        """Take what fits, best rank first: whole lines, or else excerpts around what was found.

        Of what is not allowed, what is narrower.
        """
        waiting: list[PassagePlan | Excerpt] = list(plans)
        while waiting:
            best = waiting.pop(0)
            instead: Sequence[Excerpt] = ()
            if isinstance(best, Excerpt):
                if not self._add_excerpt(best):
                    instead = best.narrower()
            elif self._cannot_hold(best):
                self._leave_out(best)
            else:
                lines = lines_of(best)
                if not self._add_lines(lines):
                    instead = excerpts_of(lines, self._is_too_long)
            for excerpt in instead:
                bisect.insort(waiting, excerpt, key=lambda each: each.rank)

    def _cannot_hold(self, plan: PassagePlan) -> bool:
        """Whether neither the whole nor a useful part can fit; this is known before it is read."""
        characters = plan.extent.end_index - plan.extent.start_index
        is_too_long = characters > self._left * MOST_CHARACTERS_PER_TOKEN
        return is_too_long and self._left < USEFUL_TOKENS

    def _add_lines(self, lines: PassageLines) -> bool:
        """Take the passage whole, or those of its lines that fit and are useful, if any are.

        False if none are, or they are not allowed.
        """
        passage = lines.passage(lines.first_line, lines.last_line)
        if self._cost(passage) > self._left:
            part = self._useful_part(lines)
            if part is None:
                return False
            passage = part
        if not self._allows(passage):
            return False
        self._take(passage)
        if lines.have_text(lines.first_line, passage.start_line - 1):
            self._note(lines.plan, lines.first_line, passage.start_line - 1)
        if lines.have_text(passage.end_line + 1, lines.last_line):
            self._note(lines.plan, passage.end_line + 1, lines.last_line)
        return True

    def _add_excerpt(self, excerpt: Excerpt) -> bool:
        """Take the excerpt whole, or as much around its words as fits, if that is useful.

        False if that is not allowed.
        """
        passage = excerpt.whole()
        if self._cost(passage) > self._left:
            part = self._part_of(excerpt)
            if part is None:
                self._leave_out(excerpt.plan)
                return True
            passage = part
        if not self._allows(passage):
            return False
        self._take(passage)
        extent = excerpt.plan.extent
        last_before = passage.start_line - (not passage.cut_before)
        first_after = passage.end_line + (not passage.cut_after)
        if excerpt.says_more_before(passage):
            self._note(passage, extent.start_line, last_before)
        if excerpt.says_more_after(passage):
            self._note(passage, first_after, extent.end_line)
        return True

    def _part_of(self, excerpt: Excerpt) -> Passage | None:
        """Whole lines of an excerpt, or a part of lines that no context of this size could hold."""
        lines = self._largest(excerpt, excerpt.lines_around_words)
        says_why = excerpt.plan.hits[0].telling_sentence is not None  # lines are around it
        if lines is not None and (says_why or self.count(lines.content) >= USEFUL_TOKENS):
            return lines
        part = self._largest(excerpt, excerpt.around_words)
        if part is None or self.count(part.content) < USEFUL_TOKENS:
            return None
        return part if all(map(self._is_too_long, excerpt.lines_cut_by(part))) else None

    def _is_too_long(self, line: Passage) -> bool:
        """Whether a line does not fit even by itself; a piece of a line counts as such a line."""
        if line.is_cut:
            return True
        return self._count_up_to(self._style.block(line, 1), self._room) > self._room

    def _largest(
        self, excerpt: Excerpt, part_of_size: Callable[[int], Passage | None]
    ) -> Passage | None:
        """The largest part of an excerpt that fits. A size that gives no part is too small."""
        best, least = None, 1
        most = min(len(excerpt.text), self._left * MOST_CHARACTERS_PER_TOKEN)
        while least <= most:
            size = (least + most) // 2
            part = part_of_size(size)
            if part is None or self._cost(part) <= self._left:
                best, least = part or best, size + 1
            else:
                most = size - 1
        return best

    def _take(self, passage: Passage) -> None:
        self._left -= self._cost(passage)
        self._passages.append(passage)

    def _leave_out(self, plan: PassagePlan | Passage) -> None:
        """Note that a passage is not in the context."""
        if isinstance(plan, Passage):
            self._note(plan, plan.start_line, plan.end_line)
        else:
            self._note(plan, plan.extent.start_line, plan.extent.end_line)

    def finished(self) -> ContextText:
        """The text of all that was taken; it keeps the budget, however the model counts.

        If a tokenizer joins across line breaks, the tokens of the blocks may not add up to those of
        the whole text; if that exceeds the budget, the last passage is dropped.
        """
        while self._passages:
            blocks = [self._style.block(p, n) for n, p in enumerate(self._passages, 1)]
            text = self._style.joined(blocks)
            tokens = self.count(text)
            if tokens <= self._max_tokens:
                return ContextText(text, tuple(self._passages), tuple(self._omitted), tokens)
            self._leave_out(self._passages.pop())
        text = self._style.nothing_fits if self._omitted else self._style.nothing_found
        return ContextText(text, (), tuple(self._omitted), self.count(text))

    def _note(self, of: PassagePlan | Passage, start_line: int, end_line: int) -> None:
        """Note omitted lines, once: several excerpts of one line each lack the rest of it."""
        if not any(
            of.document == known.document
            and known.start_line <= start_line
            and end_line <= known.end_line
            for known in self._omitted
        ):
            self._omitted.append(Omission(of.rank, of.score, of.document, start_line, end_line))

    def _useful_part(self, lines: PassageLines) -> Passage | None:
        """The lines that fit, from the first one on.

        If lines in front would push out the best hit, from the first line of that hit on, or from
        further up if everything below it fits. None if the telling sentence does not fit.
        """
        best = lines.plan.hits[0]
        hit, telling = best.extent, best.telling_sentence
        end_of_hit = min(hit.end_line, lines.last_line)
        start = lines.first_line
        end = self._last_line_with_room(lines, start)
        if end < end_of_hit and start < hit.start_line:
            start = hit.start_line
            end = self._last_line_with_room(lines, start)
            if end == lines.last_line:
                start = self._first_line_with_room(lines, start)
        if end < start:
            return None
        part = lines.passage(start, end)
        if end >= end_of_hit:
            return part
        says_most = telling is None or hit.start_index + telling.end <= part.end_index
        return part if says_most and self.count(part.content) >= USEFUL_TOKENS else None

    def _last_line_with_room(self, lines: PassageLines, start: int) -> int:
        """The last line that fits if the passage begins at `start`; `start - 1` if none does.

        It first counts line by line, which tokenizes everything once, then corrects that by the
        count of the whole: with a tokenizer that differs by a few tokens, by a few for each line if
        the text is quoted, and without a tokenizer by up to half if lines are short.
        """
        header = dataclasses.replace(lines.passage(start, start), content="")
        left = self._left - self._cost(header)
        end = start - 1
        for line in lines.lines[start - lines.first_line :]:
            left -= self._count_up_to(self._style.written(line), left)
            if left < 0:
                break
            end += 1
        if end >= start and not self._has_room(lines, start, end):
            return self._last_with_room(lines, start, range(start, end))
        if end == lines.last_line or not self._has_room(lines, start, end + 1):
            return end
        return self._last_with_room(lines, start, range(end + 2, lines.last_line + 1))

    def _last_with_room(self, lines: PassageLines, start: int, ends: range) -> int:
        """Up to which of these lines there is room; the one before them if for none."""
        first_without = bisect.bisect_left(
            ends, True, key=lambda last: not self._has_room(lines, start, last)
        )
        return ends.start + first_without - 1

    def _first_line_with_room(self, lines: PassageLines, latest: int) -> int:
        """The first line from which everything to the end fits; from `latest` on it does."""
        starts = range(lines.first_line, latest)
        return lines.first_line + bisect.bisect_left(
            starts,
            True,
            key=lambda start: self._has_room(lines, start, lines.last_line),
        )

    def _has_room(self, lines: PassageLines, start: int, end: int) -> bool:
        return self._cost(lines.passage(start, end)) <= self._left

    def _cost(self, passage: Passage) -> int:
        """The tokens of the passage; if it is surely too long, more than there are left."""
        separator = self._style.separator if self._passages else ""
        block = self._style.block(passage, len(self._passages) + 1)
        return self._count_up_to(separator + block, self._left)

    def _count_up_to(self, text: str, most: int) -> int:
        return self.count(text) if len(text) <= most * MOST_CHARACTERS_PER_TOKEN else most + 1
