"""Puts a search's candidates in order, and explains how each came to its place."""

import dataclasses
import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from app.search import fusion
from app.search.requests import SearchRequest
from app.search.results import Explanation
from app.search.retrieval import Candidates
from app.search.weighed import Weighed

METHODS: dict[str, fusion.Fuse] = {
    "coverage": fusion.coverage,
    "convex": fusion.convex,
    "rrf": fusion.rrf,
}
RRF_SCALE = fusion.RRF_K + 1
"""Scales `rrf` so that the first of both lists scores 1."""


@dataclass(frozen=True)
class RankedCandidates:
    """Candidates in their final order, best first.

    A position is where a candidate stands in this order, a place where it stood when retrieved.
    """

    retrieved_ids: Sequence[str]
    """By place."""
    retrieved_cosines: fusion.Floats
    """By place."""
    places: fusion.Ranks
    """The place of each among the candidates as they were retrieved; shape (ranked,)."""
    fused: fusion.Fusion
    """By place."""
    scale: float = 1.0
    """What fused scores are multiplied by, to be about 0 to 1 however they were fused."""
    test_penalties: fusion.Floats | None = None
    """By place: what each loses for being from a test of code. None: nothing."""
    weighed: Weighed | None = None
    """What else decided the order besides the fused score, if anything did."""
    penalties: fusion.Floats | None = None
    """By position: what each loses to the better ones of its document. None: nothing."""

    @functools.cached_property
    def chunk_ids(self) -> tuple[str, ...]:
        """By position."""
        return tuple(self.retrieved_ids[place] for place in self.places.tolist())

    @functools.cached_property
    def cosines(self) -> fusion.Floats:
        """By position."""
        return self.retrieved_cosines[self.places]

    @property
    def lowered(self) -> fusion.Floats:
        """The fused scores less what tests of code lose, by place."""
        scores = self.fused.scores
        return scores if self.test_penalties is None else scores - self.test_penalties

    def scaled_scores(self) -> fusion.Floats:
        """The lowered scores in the order of the candidates, times their scale."""
        return self.lowered[self.places] * self.scale

    def strengths(self) -> fusion.Floats:
        """The scores in the order of the candidates, before repetition takes anything off."""
        return self.lowered[self.places] if self.weighed is None else self.weighed.strengths

    def final_score(self, position: int) -> float:
        """What decides where the candidate at this position stands."""
        final = self.lowered[self.places[position]]
        if self.weighed is not None:
            final = self.weighed.final[position]
        return float(final) - self.penalty(position)

    @property
    def are_tests(self) -> npt.NDArray[np.bool_]:
        """By position: whether the candidate loses anything for being from a test of code."""
        if self.test_penalties is None:
            return np.zeros(len(self.places), np.bool_)
        lowered: npt.NDArray[np.bool_] = self.test_penalties[self.places] > 0
        return lowered

    def test_penalty(self, position: int) -> float:
        """What the candidate at this position loses for being from a test of code."""
        if self.test_penalties is None:
            return 0.0
        return float(self.test_penalties[self.places[position]])

    def penalty(self, position: int) -> float:
        """What the candidate at this position loses to the better ones of its document."""
        return 0.0 if self.penalties is None else float(self.penalties[position])

    def without(self, chunk_ids: Collection[str]) -> Self:
        """All candidates but these, in the same order."""
        if not chunk_ids:
            return self
        gone = set(chunk_ids)
        return self.in_order([n for n, key in enumerate(self.chunk_ids) if key not in gone])

    def begun_by(self, chunk_ids: Collection[str]) -> Self:
        """Those of these chunks that are candidates first, in the order given; then the others."""
        if not chunk_ids:
            return self
        positions = {key: position for position, key in enumerate(self.chunk_ids)}
        first = [positions.pop(key) for key in chunk_ids if key in positions]
        return self.in_order([*first, *positions.values()])

    def in_order(self, positions: Sequence[int] | fusion.Ranks) -> Self:
        """The candidates at these positions, in this order."""
        chosen = np.asarray(positions, np.int64)
        return dataclasses.replace(
            self,
            places=self.places[chosen],
            weighed=None if self.weighed is None else self.weighed.in_order(chosen),
            penalties=None if self.penalties is None else self.penalties[chosen],
        )


def rank(
    request: SearchRequest,
    candidates: Candidates,
    *,
    words_required: bool,
    test_penalties: fusion.Floats | None = None,
) -> RankedCandidates:
    """Put in order the candidates that suit the mode and `min_score`, less what tests of code lose.

    With `words_required`, only those that the lexical side found, if it answered.
    """
    by_words = candidates.lexical_scores > 0
    eligible = np.ones(len(candidates.chunk_ids), np.bool_)
    if request.mode == "lexical":
        eligible &= by_words
    elif words_required and candidates.lexical_answered:
        # Unless all that hold the words are known, the nearest by meaning may hold them as well.
        nearest_count = request.mode == "dense" or knows_all_near_enough(request, candidates)
        known = candidates.lexical_exhausted or not nearest_count
        eligible &= by_words if known else by_words | candidates.found_dense
    elif request.mode == "dense":
        eligible &= candidates.found_dense
    if request.min_score is not None:
        eligible &= np.maximum(candidates.cosines, 0.0) >= request.min_score  # as `score` is shown
    cosines = candidates.ranking_cosines
    both = fusion.BothSides(
        cosines=candidates.cosines if cosines is None else cosines,
        bm25=candidates.lexical_scores,
        found_dense=candidates.found_dense,
        bm25_ceiling=candidates.lexical_ceiling,
        guessed=candidates.lexical_guessed,
        documents=candidates.documents,
    )
    fused = _fuse(request, both)
    places = fused.order[eligible[fused.order]]
    if test_penalties is not None:
        lowered = fused.scores - test_penalties
        places = places[np.argsort(-lowered[places], kind="stable")]
    return RankedCandidates(
        retrieved_ids=candidates.chunk_ids,
        retrieved_cosines=candidates.cosines,
        places=places,
        fused=fused,
        scale=RRF_SCALE if request.mode == "hybrid" and request.fusion == "rrf" else 1.0,
        test_penalties=test_penalties,
    )


def knows_all_near_enough(request: SearchRequest, candidates: Candidates) -> bool:
    """Whether every record that `min_score` allows is among the candidates."""
    least = request.min_score or 0.0  # 0 cuts nothing off: cosines below 0 are shown as 0
    return 0 < least > candidates.complete_above


def _fuse(request: SearchRequest, both: fusion.BothSides) -> fusion.Fusion:
    if request.mode == "hybrid":
        return METHODS[request.fusion](both)
    return fusion.convex(both, dense_share=1.0 if request.mode == "dense" else 0.0)


def explain(
    ranked: RankedCandidates, candidates: Candidates, position: int, deeper: int
) -> Explanation:
    """How the candidate at this position (0 is the best) came to its place.

    Its rank counts all candidates. Those that SQL no longer holds leave gaps, unless they were
    taken out for a document penalty or for signals.
    """
    place = int(ranked.places[position])
    how = ranked.fused.explain(place)
    weighed, cosines = ranked.weighed, ranked.fused.candidates.cosines
    return Explanation(
        rank=position + 1,
        deeper=deeper,
        final_score=ranked.final_score(position),
        document_penalty=ranked.penalty(position),
        test_penalty=ranked.test_penalty(position),
        ranking_cosine=float(cosines[place]),
        signals=None if weighed is None else weighed.explain(position),
        fused_score=how.score,
        dense_part=how.dense_part,
        lexical_part=how.lexical_part,
        cosine=float(candidates.cosines[place]),
        document_cosine=how.document_cosine,
        dense_rank=how.dense_rank,
        lexical_rank=how.lexical_rank,
        bm25=float(candidates.lexical_scores[place]),
        bm25_ceiling=candidates.lexical_ceiling,
        bm25_highest=float(candidates.lexical_scores.max(initial=0.0)),
        bm25_contrast=how.contrast,
    )
