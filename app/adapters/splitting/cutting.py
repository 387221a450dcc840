"""Decides where chunks end and where the next ones begin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.adapters.splitting.blocks import Block, is_pipe_ruler
from app.adapters.splitting.boundaries import Flags, Positions, TextMap, merged
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.structure import Structure
from app.adapters.splitting.tokens import TokenRuler

SECTION_FILL = 0.3
PARAGRAPH_FILL = 0.9
LINE_FILL = 0.9
SENTENCE_FILL = 0.5
WORD_FILL = 0.2
"""A cut at such a boundary must leave the chunk at least this full; else a lesser one is taken.

Full chunks find more: on the 472 questions of brandonstarxel/chunking_evaluation, top 5 with
all-MiniLM-L6-v2, paragraphs and lines at 0.25, 0.5, 0.75 and 0.9 gave a recall of 0.782, 0.792,
0.795 and 0.804. Sections change the subject, and so may end a chunk early."""

REFITS_BY_TOKENS = 3
"""Cuts by the tokens of the slice itself before its length is halved, which surely ends."""


@dataclass(frozen=True)
class Preference:
    """Boundaries of one kind, and how full a chunk must be to end at one."""

    positions: Positions
    fill: float


@dataclass(frozen=True)
class CutPlan:
    """Where one document may be cut, best boundaries first."""

    preferences: tuple[Preference, ...]
    sections: Positions
    overlap_starts: Positions
    """Where a part begins that makes sense by itself: section, paragraph, line or sentence."""
    words: Positions
    spaces: Flags
    breaks: Flags
    kept_starts: Positions
    kept_ends: Positions
    """Blocks that fit into one chunk and are not cut, and the rows of tables that do not fit."""
    between_rows: Positions
    """Where a row of such a table ends, and where the next one begins."""


def plan_cuts(
    text_map: TextMap, lines: Lines, structure: Structure, ruler: TokenRuler | None, chunk_size: int
) -> CutPlan:
    """Sort out the boundaries: none within a block that fits, none between heading and body."""
    kept = _kept(structure.blocks, lines, ruler, chunk_size)
    starts, ends = kept.starts, kept.ends
    unkept = _outside(starts + 1, ends, len(text_map.breaks))
    headings = structure.headings
    heading_starts = np.array([heading.start for heading in headings], dtype=np.int64)
    bodies = lines.next_starts(np.array([heading.end for heading in headings], dtype=np.int64))
    free = unkept & _outside(heading_starts + 1, bodies + 1, len(text_map.breaks))
    block_ends = kept.block_ends[kept.block_ends < len(text_map.spaces)]
    filled_lines = text_map.lines[~text_map.blank_lines[1:]]
    sections = _only(heading_starts[heading_starts > 0], free)
    paragraphs = _only(text_map.paragraphs, free)
    line_cuts = _only(merged(filled_lines, block_ends), free)
    sentences = _only(text_map.sentences, free)
    words = _only(text_map.words, free)
    return CutPlan(
        preferences=(
            Preference(sections, SECTION_FILL),
            Preference(paragraphs, PARAGRAPH_FILL),
            Preference(line_cuts, LINE_FILL),
            Preference(sentences, SENTENCE_FILL),
            Preference(words, WORD_FILL),
            # Rather part a heading from its body than tear a word.
            Preference(_only(merged(text_map.lines, block_ends), unkept), WORD_FILL),
            Preference(_only(text_map.words, unkept), WORD_FILL),
        ),
        sections=sections,
        overlap_starts=merged(_only(filled_lines, free), sentences),
        words=words,
        spaces=text_map.spaces,
        breaks=text_map.breaks,
        kept_starts=starts,
        kept_ends=ends,
        between_rows=kept.between_rows,
    )


@dataclass(frozen=True)
class _Kept:
    """What is not cut, in order; and where it makes a good end."""

    starts: Positions
    ends: Positions
    block_ends: Positions
    between_rows: Positions


def _kept(
    blocks: Sequence[Block], lines: Lines, ruler: TokenRuler | None, chunk_size: int
) -> _Kept:
    """Each block that fits into one chunk, and each row that does of a table that does not.

    By characters and by tokens. A row is a line where a ruler says so, as in Markdown: those of
    other tables may have several.
    """
    starts = np.array([block.start for block in blocks], dtype=np.int64)
    ends = np.array([block.end for block in blocks], dtype=np.int64)
    fits = _fit(starts, ends, ruler, chunk_size)
    tables = [
        lines.within(block.start, block.end)
        for block, is_kept in zip(blocks, fits.tolist(), strict=True)
        if block.is_table and not is_kept and is_pipe_ruler(lines.below(block.start).strip())
    ]
    row_starts = np.concatenate([starts[:0], *(firsts for firsts, _ in tables)])
    row_ends = np.concatenate([ends[:0], *(lasts for _, lasts in tables)])
    rows_fit = _fit(row_starts, row_ends, ruler, chunk_size)
    between = [stretch for firsts, lasts in tables for stretch in (firsts[1:], lasts[:-1])]
    return _Kept(
        starts=merged(starts[fits], row_starts[rows_fit]),
        ends=merged(ends[fits], row_ends[rows_fit]),
        block_ends=ends[fits],
        between_rows=np.sort(np.concatenate([starts[:0], *between])),
    )


def _fit(starts: Positions, ends: Positions, ruler: TokenRuler | None, chunk_size: int) -> Flags:
    fits: Flags = ends - starts <= chunk_size
    return fits if ruler is None else fits & ruler.counts_fit(starts, ends)


class Cutter:
    """Cuts one document: greedy from its start, each chunk as full as good boundaries allow."""

    def __init__(
        self, plan: CutPlan, ruler: TokenRuler | None, chunk_size: int, chunk_overlap: int
    ) -> None:
        self._plan = plan
        self._ruler = ruler
        self._chunk_size = chunk_size
        self._chunk_overlap = chunk_overlap
        # A chunk that tokens keep short would otherwise hold little but its overlap.
        self._overlap_share = max(0.5, chunk_overlap / chunk_size)
        self._length = len(plan.breaks) - 1

    def cuts(self) -> Iterator[tuple[int, int]]:
        """Yield the start and end of every chunk; both rise, and nothing is left out."""
        start, covered = 0, 0
        while covered < self._length:
            end = self._end(start, covered)
            if end is None and start < covered:
                start = covered  # the overlap leaves no room for what follows it
                end = self._end(start, covered)
            if end is None:
                end = self._cluster_end(start)
            yield start, end
            start, covered = self._next_start(start, end), end

    def _end(self, start: int, covered: int) -> int | None:
        """The best end beyond `covered` of a chunk from `start`; None when there is none."""
        limit = min(start + self._chunk_size, self._length)
        if self._ruler is None:
            return self._best_cut(start, covered, limit)
        limit = min(limit, self._ruler.reach(start))
        attempts = 0
        while (end := self._best_cut(start, covered, limit)) is not None:
            fitting = self._ruler.fitting_end(start, end)
            if fitting == end:
                break
            attempts += 1
            halved = attempts > REFITS_BY_TOKENS
            limit = min(fitting, start + (end - start) // 2) if halved else fitting
        return end

    def _cluster_end(self, start: int) -> int:
        """The end of the grapheme cluster at `start`, cut where it does not fit into a chunk."""
        limit = min(start + self._chunk_size, self._length)
        whole = np.flatnonzero(self._plan.breaks[start + 1 : limit + 1])
        end = start + 1 + int(whole[0]) if len(whole) else limit
        while self._ruler is not None and end > start + 1:
            fitting = self._ruler.fitting_end(start, end)
            if fitting == end:
                break
            end = max(fitting, start + 1)
        return end

    def _best_cut(self, start: int, covered: int, limit: int) -> int | None:
        """The best cut after `covered` and up to `limit`; None where every cut tears a cluster."""
        if limit >= self._length:
            return self._length
        index = int(np.searchsorted(self._plan.kept_starts, limit)) - 1
        if index >= 0 and self._plan.kept_ends[index] > limit:
            block_start = int(self._plan.kept_starts[index])
            if block_start > covered:
                limit = block_start
            elif start < covered:
                return None
        if limit <= covered:
            return None
        for preference in self._plan.preferences:
            position = _last_up_to(preference.positions, limit)
            if position > covered and position - start >= preference.fill * (limit - start):
                return position
        whole = np.flatnonzero(self._plan.breaks[covered + 1 : limit + 1])
        return covered + 1 + int(whole[-1]) if len(whole) else None

    def _next_start(self, start: int, end: int) -> int:
        """Where the chunk after start..end begins: at `end`, or before it at a good place."""
        overlap = min(self._chunk_overlap, int((end - start) * self._overlap_share))
        first = max(end - overlap, start + 1)
        fresh = (self._plan.sections, self._plan.between_rows)  # a row makes sense by itself
        if first >= end or any(_first_from(positions, end) == end for positions in fresh):
            return end
        for positions in (self._plan.sections, self._plan.overlap_starts, self._plan.words):
            position = _first_from(positions, first)
            if position is not None and position < end:
                return position
        if self._plan.spaces[end - 1] or self._plan.spaces[end : end + 1].any():
            return end
        within_word = np.flatnonzero(self._plan.breaks[first:end])
        return first + int(within_word[0]) if len(within_word) else end


def _outside(starts: Positions, ends: Positions, length: int) -> Flags:
    """True where no stretch starts..ends (its end left out) lies; stretches may touch or nest."""
    steps = np.zeros(length + 1, dtype=np.int32)
    np.add.at(steps, starts, 1)
    np.add.at(steps, np.maximum(starts, ends), -1)
    return np.equal(np.cumsum(steps[:-1]), 0)


def _only(positions: Positions, allowed: Flags) -> Positions:
    return positions[allowed[positions]]


def _last_up_to(positions: Positions, limit: int) -> int:
    index = int(np.searchsorted(positions, limit, side="right")) - 1
    return int(positions[index]) if index >= 0 else 0


def _first_from(positions: Positions, first: int) -> int | None:
    index = int(np.searchsorted(positions, first))
    return int(positions[index]) if index < len(positions) else None
