"""Keeps the candidates of the wanted chunk types, which the indexes cannot filter by."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from app.models import ChunkRow
from app.search.requests import SearchRequest
from app.search.retrieval import Candidates
from app.slices import slices

_OF_TYPES = select(ChunkRow.id).where(
    ChunkRow.id.in_(bindparam("chunk_ids", expanding=True)),
    ChunkRow.chunk_type.in_(bindparam("chunk_types", expanding=True)),
)


def of_types(
    connection: Connection, request: SearchRequest, candidates: Candidates, deeper: int
) -> tuple[Candidates, bool]:
    """The candidates that pass, and whether they are as good as if the indexes had filtered.

    They are if as many pass from each side as its depth asks for, or the side has no more. Read the
    rows of those that pass in the same snapshot: in a later one they may be gone.
    """
    if not request.chunk_types:
        return candidates, True
    ids = candidates.chunk_ids
    passing: set[str] = set()
    types = list(request.chunk_types)
    for some in slices(ids):
        asked = {"chunk_ids": some, "chunk_types": types}
        passing.update(connection.scalars(_OF_TYPES, asked))
    kept = _only(candidates, [place for place, key in enumerate(ids) if key in passing])
    dense_found, dense = (int(one.found_dense.sum()) for one in (candidates, kept))
    words = int((kept.lexical_scores > 0).sum())
    enough_dense = dense >= request.dense_depth or dense_found < request.dense_depth * deeper
    enough_words = words >= request.lexical_depth or candidates.lexical_exhausted
    return kept, (
        (request.mode == "lexical" or enough_dense)
        and (request.mode == "dense" or enough_words or not candidates.lexical_answered)
    )


def _only(candidates: Candidates, places: Sequence[int]) -> Candidates:
    chosen = np.array(places, np.int64)
    cosines = candidates.ranking_cosines
    return dataclasses.replace(
        candidates,
        chunk_ids=tuple(candidates.chunk_ids[place] for place in places),
        cosines=candidates.cosines[chosen],
        found_dense=candidates.found_dense[chosen],
        lexical_scores=candidates.lexical_scores[chosen],
        documents=candidates.documents[chosen],
        ranking_cosines=None if cosines is None else cosines[chosen],
    )
