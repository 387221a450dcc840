"""The order of a search's candidates, and how it came about."""

from dataclasses import dataclass

import numpy as np

from app.search import fusion
from app.search.requests import Explanation, SearchRequest
from app.search.retrieval import Candidates

METHODS: dict[str, fusion.Fuse] = {
    "coverage": fusion.coverage,
    "convex": fusion.convex,
    "rrf": fusion.rrf,
}


@dataclass(frozen=True)
class RankedCandidates:
    """Candidates in their final order, best first."""

    chunk_ids: tuple[str, ...]
    cosines: tuple[float, ...]
    places: fusion.Ranks
    """Where each stands among the candidates as they were retrieved; shape (ranked,)."""
    fused: fusion.Fusion
    """By place."""


def rank(
    request: SearchRequest, candidates: Candidates, *, words_required: bool
) -> RankedCandidates:
    """Put the candidates that the mode wants, and `min_score` allows, in order.

    With `words_required`, only those that the lexical side found, if it could be asked.
    """
    by_words = candidates.lexical_scores > 0
    eligible = np.ones(len(candidates.chunk_ids), np.bool_)
    if request.mode == "dense":
        eligible &= candidates.found_dense
    elif request.mode == "lexical" or (words_required and candidates.lexical_answered):
        eligible &= by_words
    if request.min_score is not None:
        eligible &= candidates.cosines >= request.min_score
    both = fusion.Candidates(
        cosines=candidates.cosines,
        bm25=candidates.lexical_scores,
        found_dense=candidates.found_dense,
        bm25_ceiling=candidates.lexical_ceiling,
        documents=candidates.documents,
    )
    fused = _fuse(request, both)
    places = fused.order[eligible[fused.order]]
    return RankedCandidates(
        chunk_ids=tuple(candidates.chunk_ids[place] for place in places.tolist()),
        cosines=tuple(candidates.cosines[places].tolist()),
        places=places,
        fused=fused,
    )


def _fuse(request: SearchRequest, both: fusion.Candidates) -> fusion.Fusion:
    if request.mode == "hybrid":
        return METHODS[request.fusion](both)
    return fusion.convex(both, dense_share=1.0 if request.mode == "dense" else 0.0)


def explain(ranked: RankedCandidates, candidates: Candidates, position: int) -> Explanation:
    """How the candidate at this position (0 is the best) came to its place.

    Its rank is that among the candidates: those that SQL no longer holds leave gaps.
    """
    place = int(ranked.places[position])

    how = ranked.fused.explain(place)
    return Explanation(
        rank=position + 1,
        fused_score=how.score,
        dense_part=how.dense_part,
        lexical_part=how.lexical_part,
        cosine=float(candidates.cosines[place]),
        document_cosine=how.document_cosine,
        dense_rank=how.dense_rank,
        lexical_rank=how.lexical_rank,
        bm25=float(candidates.lexical_scores[place]),
        bm25_ceiling=candidates.lexical_ceiling,
    )
