"""Reads the rows of candidates, best first, until enough of them suit."""

import math
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.search.demands import Demands
from app.search.queries import READ_AT_ONCE, rows_by_chunk
from app.search.ranking import RankedCandidates

SPARE_ROWS = 2
"""Rows that are read beyond the wanted results: the indexes may hold chunks that SQL lost."""

FURTHER = 8
"""Factor by which more are read when too few suited."""


@dataclass(frozen=True)
class RowHits:
    """What came of the first candidates of a ranking."""

    hits: list[tuple[Any, int]]
    """Rows that suit, with their places in the ranking."""
    weak_left_out: bool
    """Whether there are fewer than were wanted since all others are weak."""
    unfit: frozenset[str]
    """Candidates that were read and can be no results."""


def strong_hits(
    connection: Connection,
    ranked: RankedCandidates,
    demands: Demands,
    least_share: float,
    wanted: int,
) -> RowHits:
    """The first rows that suit, but weak ones.

    Weak are those below this share of the first's strength, if that is above 0.
    """
    hits: list[tuple[Any, int]] = []
    unfit: set[str] = set()
    strengths, least = ranked.strengths(), -math.inf
    start, size = 0, wanted + SPARE_ROWS
    while len(hits) < wanted and (strengths[start:] >= least).any():
        page = ranked.chunk_ids[start : start + min(size, READ_AT_ONCE)]
        rows = rows_by_chunk(connection, page, demands.allowed)
        for place, chunk_id in enumerate(page, start):
            if chunk_id not in rows or not demands.suits(rows[chunk_id]):
                unfit.add(chunk_id)
                continue
            if not hits and least_share and strengths[place] > 0:
                least = least_share * strengths[place]
            if strengths[place] >= least:
                hits.append((rows[chunk_id], place))
        start += len(page)
        size *= FURTHER
    weak_left_out = len(hits) < wanted and bool((strengths < least).any())
    return RowHits(hits[:wanted], weak_left_out, frozenset(unfit))
