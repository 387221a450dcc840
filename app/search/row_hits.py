"""Reads the rows of candidates, best first, until enough of them suit."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.search.demands import Demands
from app.search.queries import rows_by_chunk
from app.search.ranking import RankedCandidates
from app.search.retrieval import Candidates
from app.slices import VALUES_AT_ONCE

SPARE_ROWS = 2
"""How many rows are read beyond those wanted: SQL may lack some chunks that the indexes hold."""

FURTHER = 8
"""Factor by which more are read when too few suited."""

LAST_OF_A_SIDE = 16
"""How many of the last that a side found tell how strong its next ones would be: a single one may
be stronger or weaker than those beside it, for the other chunks of its document."""


@dataclass(frozen=True)
class RowHits:
    """What reading the rows of the first candidates gave."""

    hits: list[tuple[Any, int]]
    """Rows that suit, with their positions in the ranking."""
    least: float
    """Candidates of less strength are weak; -inf: none are."""
    unfit: frozenset[str]
    """Candidates that were read and cannot be results."""


def strong_hits(
    connection: Connection,
    ranked: RankedCandidates,
    demands: Demands,
    least_share: float,
    wanted: int,
) -> RowHits:
    """The first rows that suit, without weak ones.

    A candidate is weak below `least_share` of the strength of the first, if that is above 0.
    """
    hits: list[tuple[Any, int]] = []
    unfit: set[str] = set()
    strengths, least = ranked.strengths(), -math.inf
    start, size = 0, wanted + SPARE_ROWS
    while len(hits) < wanted and (strengths[start:] >= least).any():
        page = ranked.chunk_ids[start : start + min(size, VALUES_AT_ONCE)]
        rows = rows_by_chunk(connection, page, demands.allowed)
        for position, chunk_id in enumerate(page, start):
            if chunk_id not in rows or not demands.suits(rows[chunk_id]):
                unfit.add(chunk_id)
                continue
            if not hits and least_share and strengths[position] > 0:
                least = least_share * strengths[position]
            if strengths[position] >= least:
                hits.append((rows[chunk_id], position))
        start += len(page)
        size *= FURTHER
    return RowHits(hits[:wanted], least, frozenset(unfit))


def others_are_weak(ranked: RankedCandidates, candidates: Candidates, least: float) -> bool:
    """Whether only weak candidates follow, as far as that can be told.

    It does not follow from there being weak ones: one that was found only by words may be weak,
    however strong the next by meaning would be. So each side that has more to give must have come
    to weak ones. Tests of code tell nothing of that: they are weaker than the code behind them.
    """
    strengths, places = ranked.strengths(), ranked.places
    if not (strengths < least).any():
        return False
    is_test = ranked.are_tests
    for scores, found, exhausted in (
        (candidates.cosines, candidates.found_dense, candidates.dense_exhausted),
        (candidates.lexical_scores, candidates.lexical_scores > 0, candidates.lexical_exhausted),
    ):
        of_side = np.flatnonzero(found[places] & ~is_test)
        last = np.argsort(scores[places[of_side]], kind="stable")[:LAST_OF_A_SIDE]
        none_told = not len(last) and bool(found[places].any())
        if not exhausted and (none_told or (strengths[of_side[last]] >= least).any()):
            return False
    return True
