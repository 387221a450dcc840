"""Turns hits into passages: whole lines of their documents, merged where they touch."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.knowledge.content_lines import (
    line_end,
    line_start,
    split_lines,
    without_line_break,
)
from app.search.passage_queries import DocumentFacts, Extent
from app.search.queries import citation
from app.search.results import Highlight


@dataclass(frozen=True)
class PassageHit:
    """A search result, and where it stands in its document."""

    rank: int
    """1 is the best."""
    chunk_id: str
    score: float
    """Its cosine."""
    extent: Extent
    highlights: tuple[Highlight, ...] = ()
    """Counted from where it begins."""

    @property
    def telling_sentence(self) -> Highlight | None:
        """The sentence that says most of what was asked for."""
        return next((said for said in self.highlights if said.kind == "sentence"), None)


@dataclass(frozen=True)
class PassagePlan:
    """A stretch of a document that shall become a passage."""

    rank: int
    """Of its best hit; 1 is the best."""
    document: DocumentFacts
    heading_path: tuple[str, ...]
    """Of its best hit."""
    hits: tuple[PassageHit, ...]
    """Best first, at least one."""
    extent: Extent
    """All of it: the hits, and their neighbours where these are wanted."""
    parts: tuple["PassagePlan", ...] = ()
    """What it was merged from; empty: it is of one piece."""

    @property
    def score(self) -> float:
        """The best cosine among its hits."""
        return max(hit.score for hit in self.hits)


@dataclass(frozen=True)
class Passage:
    """Whole lines of a document, and where they stand; parts of lines that are too long."""

    rank: int
    score: float
    document: DocumentFacts
    heading_path: tuple[str, ...]
    chunk_ids: tuple[str, ...]
    start_line: int
    end_line: int
    """1-based lines of the source, the last one included."""
    start_index: int
    end_index: int
    """`document[start_index:end_index] == content`, in characters of the document's text."""
    content: str
    """The document's own characters, without the last line's line break."""
    cut_before: bool = False
    """Whether its first line begins before it."""
    cut_after: bool = False
    """Whether its last line goes on after it."""

    @property
    def is_cut(self) -> bool:
        """Whether it has less than whole lines."""
        return self.cut_before or self.cut_after

    @property
    def citation(self) -> str:
        """`guide/auth.md#L120-L135`."""
        return citation(self.document.key, self.start_line, self.end_line)


@dataclass(frozen=True)
class PassageLines:
    """A plan with the lines that it stands for: from here, passages are cut."""

    plan: PassagePlan
    first_index: int
    """Where the lines begin in the document's text."""
    first_line: int
    """1-based line of the source."""
    lines: tuple[str, ...]
    """With their line breaks."""

    @property
    def last_line(self) -> int:
        """The last line of the source, included."""
        return self.first_line + len(self.lines) - 1

    def have_text(self, start_line: int, end_line: int) -> bool:
        """Whether any of these lines of the source says something."""
        first, last = start_line - self.first_line, end_line - self.first_line
        return any(line.strip() for line in self.lines[first : last + 1])

    def passage(self, start_line: int, end_line: int) -> Passage:
        """These lines of the source; blank ones at either end are left out.

        It names the hits of which it shows a line, and has the best cosine among them: where none
        is to be seen, that of all.
        """
        first = start_line - self.first_line
        lines = self.lines[first : end_line - self.first_line + 1]
        above, below = _blank_edges(lines)
        text = without_line_break("".join(lines[above : len(lines) - below]))
        start = self.first_index + sum(map(len, self.lines[: first + above]))
        shown = [
            hit
            for hit in self.plan.hits
            if hit.extent.start_line <= end_line - below
            and hit.extent.end_line >= start_line + above
        ]
        return Passage(
            rank=self.plan.rank,
            score=max((hit.score for hit in shown), default=self.plan.score),
            document=self.plan.document,
            heading_path=self.plan.heading_path,
            chunk_ids=tuple(hit.chunk_id for hit in shown),
            start_line=start_line + above,
            end_line=end_line - below,
            start_index=start,
            end_index=start + len(text),
            content=text,
        )


def merge_plans(
    plans: Iterable[PassagePlan], touch: Callable[[Extent, Extent], bool] = Extent.touches
) -> list[PassagePlan]:
    """Those of one document that overlap or adjoin become one; best rank first.

    Afterwards there is at least one line between any two of a document.
    """
    merged: list[PassagePlan] = []
    order = sorted(plans, key=lambda plan: (plan.document.row_id, plan.extent.start_index))
    for plan in order:
        last = merged[-1] if merged else None
        if (
            last
            and last.document.row_id == plan.document.row_id
            and touch(last.extent, plan.extent)
        ):
            merged[-1] = _united(last, plan)
        else:
            merged.append(plan)
    return sorted(merged, key=lambda plan: plan.rank)


def _united(some: PassagePlan, other: PassagePlan) -> PassagePlan:
    return dataclasses.replace(
        min(some, other, key=lambda plan: plan.rank),
        hits=tuple(sorted((*some.hits, *other.hits), key=lambda hit: hit.rank)),
        extent=some.extent.united(other.extent),
        parts=(*(some.parts or (some,)), *(other.parts or (other,))),
    )


def lines_of_plan(plan: PassagePlan, text: str) -> PassageLines:
    """The plan widened to whole lines of the document's text."""
    start = line_start(text, plan.extent.start_index)
    end = line_end(text, plan.extent.end_index - 1)
    return PassageLines(plan, start, plan.extent.start_line, tuple(split_lines(text[start:end])))


def _blank_edges(lines: Sequence[str]) -> tuple[int, int]:
    """How many lines at the start and at the end say nothing; never all of them."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return (filled[0], len(lines) - 1 - filled[-1]) if filled else (0, 0)
