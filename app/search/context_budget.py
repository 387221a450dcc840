"""Chooses the passages that fit into a number of tokens, and notes what had to stay out."""

import dataclasses
from dataclasses import dataclass

from app.protocols import TokenMeter
from app.search.context_formats import ContextWriter
from app.search.passage_queries import DocumentFacts
from app.search.passages import Passage, PassageLines, PassagePlan
from app.search.queries import citation

CHARACTERS_PER_TOKEN = 4
"""Of English text, roughly; for models of which only the endpoint knows how they count."""

MOST_CHARACTERS_PER_TOKEN = 16
"""A stretch with more characters for each token left is not even counted: a line of 10 MB would
take seconds. Ordinary text and code have 3 to 6, wide tables and deep indentation up to 12."""

USEFUL_TOKENS = 20
"""A part of a hit with less text than this is not worth its header: about one sentence."""


@dataclass(frozen=True)
class Omission:
    """Lines that belong to the context and found no room in it."""

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
    """What the budget came to."""

    text: str
    passages: tuple[Passage, ...]
    omitted: tuple[Omission, ...]
    total_tokens: int
    """Of the text, headers included."""


class ContextBudget:
    """Takes passages in the order of their ranks while there is room. For one thread."""

    def __init__(self, max_tokens: int, meter: TokenMeter | None, style: ContextWriter) -> None:
        """`max_tokens` must hold the format's own sentences: at least 25."""
        self._max_tokens = max_tokens
        self._meter = meter
        self._style = style
        self._passages: list[Passage] = []
        self._omitted: list[Omission] = []
        self._left = max_tokens - self.count(style.joined(()))

    def count(self, text: str) -> int:
        """Tokens of the text, or an estimate where the model does not tell how it counts."""
        if self._meter is not None:
            return self._meter.count(text)
        return -(-len(text) // CHARACTERS_PER_TOKEN)

    @property
    def is_spent(self) -> bool:
        """Whether not even a part of a passage can find room."""
        return self._left < USEFUL_TOKENS

    def add(self, lines: PassageLines) -> None:
        """Take the passage whole, or the part of it that is of use and has room, or none of it."""
        passage = lines.passage(lines.first_line, lines.last_line)
        cost = self._cost(passage)
        if cost > self._left:
            part = self._useful_part(lines)
            if part is None:
                self.leave_out(lines.plan)
                return
            passage, cost = part, self._cost(part)
        self._left -= cost
        self._passages.append(passage)
        if lines.have_text(lines.first_line, passage.start_line - 1):
            self._note(lines.plan, lines.first_line, passage.start_line - 1)
        if lines.have_text(passage.end_line + 1, lines.last_line):
            self._note(lines.plan, passage.end_line + 1, lines.last_line)

    def leave_out(self, plan: PassagePlan | Passage) -> None:
        """Note that a passage is not in the context."""
        if isinstance(plan, Passage):
            self._note(plan, plan.start_line, plan.end_line)
        else:
            self._note(plan, plan.extent.start_line, plan.extent.end_line)

    def finished(self) -> ContextText:
        """The text of all that was taken; it keeps the budget, however the model counts.

        The sum of the blocks' tokens may miss that of the whole text by a few where a tokenizer
        joins across line breaks; then the last passage goes.
        """
        while self._passages:
            blocks = [self._style.block(p, n) for n, p in enumerate(self._passages, 1)]
            text = self._style.joined(blocks)
            tokens = self.count(text)
            if tokens <= self._max_tokens:
                return ContextText(text, tuple(self._passages), tuple(self._omitted), tokens)
            self.leave_out(self._passages.pop())
        text = self._style.nothing_fits if self._omitted else self._style.nothing_found
        return ContextText(text, (), tuple(self._omitted), self.count(text))

    def _note(self, of: PassagePlan | Passage, start_line: int, end_line: int) -> None:
        self._omitted.append(Omission(of.rank, of.score, of.document, start_line, end_line))

    def _useful_part(self, lines: PassageLines) -> Passage | None:
        """From the first line as far as there is room.

        Where neighbours in front would push the hit out, from the hit's own first line.
        """
        hit = lines.plan.hits[0].extent
        end_of_hit = min(hit.end_line, lines.last_line)
        start = lines.first_line
        end = self._last_line_with_room(lines, start)
        if end < end_of_hit and start < hit.start_line:
            start = hit.start_line
            end = self._last_line_with_room(lines, start)
        if end < start:
            return None
        part = lines.passage(start, end)
        is_useful = end >= end_of_hit or self.count(part.content) >= USEFUL_TOKENS
        return part if is_useful else None

    def _last_line_with_room(self, lines: PassageLines, start: int) -> int:
        """Up to which line there is room from this one on; `start - 1` if not even for it.

        Line by line first, which tokenizes everything once; then as the whole is counted, which
        may differ by a few tokens.
        """
        header = dataclasses.replace(lines.passage(start, start), content="")
        left = self._left - self._cost(header)
        end = start - 1
        for line in lines.lines[start - lines.first_line :]:
            left -= self._count_up_to(self._style.written(line), left)
            if left < 0:
                break
            end += 1
        while end >= start and self._cost(lines.passage(start, end)) > self._left:
            end -= 1
        while end < lines.last_line and self._cost(lines.passage(start, end + 1)) <= self._left:
            end += 1
        return end

    def _cost(self, passage: Passage) -> int:
        """Tokens that the passage takes; more than there are, where it is surely too long."""
        separator = self._style.separator if self._passages else ""
        block = self._style.block(passage, len(self._passages) + 1)
        return self._count_up_to(separator + block, self._left)

    def _count_up_to(self, text: str, most: int) -> int:
        return self.count(text) if len(text) <= most * MOST_CHARACTERS_PER_TOKEN else most + 1
