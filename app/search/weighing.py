"""Puts fused candidates in the order that a ranking's weights, boosts and diversity give."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from app.protocols import Vector
from app.search import signals
from app.search.diversity import DIVERSE_DEPTH, Floats, marginal_relevance
from app.search.profiles import Ranking
from app.search.ranking import RankedCandidates
from app.search.requests import SignalExplanation
from app.search.signal_queries import facts_of_chunks, vectors_of_chunks
from app.search.signals import ChunkFacts


@dataclass(frozen=True)
class Weighed:
    """How candidates came by their order, in that order; arrays of shape (n,)."""

    ranking: Ranking
    fused: Floats
    """The fused scores, scaled: what `fused_weight` weighs."""
    cosines: Floats
    recency: Floats
    importance: Floats
    completeness: Floats
    """0 where they do not count."""
    boosts: Floats
    strengths: Floats
    """The weighted sum after boosts."""
    repetition: Floats
    final: Floats
    """What decides the order: it never rises."""

    def explain(self, position: int) -> SignalExplanation:
        """What stands behind the final score of the candidate at this position (0 is the best)."""
        ranking = self.ranking
        return SignalExplanation(
            fused_part=float(ranking.fused_weight * self.fused[position]),
            cosine_part=float(ranking.cosine_weight * self.cosines[position]),
            recency=float(self.recency[position]) if ranking.recency_weight else None,
            recency_part=float(ranking.recency_weight * self.recency[position]),
            importance=float(self.importance[position]) if ranking.importance_weight else None,
            importance_part=float(ranking.importance_weight * self.importance[position]),
            completeness=(
                float(self.completeness[position]) if ranking.completeness_weight else None
            ),
            completeness_part=float(ranking.completeness_weight * self.completeness[position]),
            boost=float(self.boosts[position]),
            boosted_score=float(self.strengths[position]),
            repetition=float(self.repetition[position]) if ranking.diversity else None,
            diversity=ranking.diversity,
        )


def weigh(
    connection: Connection,
    ranked: RankedCandidates,
    ranking: Ranking,
    fingerprint: str,
    now: datetime,
) -> RankedCandidates:
    """The candidates in the order of their final scores; of equals, as they stood before.

    `fingerprint` is that of the model whose vectors tell what repeats what.

    Those that SQL does not hold (any more) are left out where rows have to be read.
    """
    facts = _facts(connection, ranked, ranking)
    if facts is not None:
        held = [n for n, key in enumerate(ranked.chunk_ids) if key in facts]
        ranked = ranked if len(held) == len(ranked.chunk_ids) else ranked.in_order(held)
    weighed = _weighed(ranked, ranking, facts, now)
    order = np.argsort(-weighed.strengths, kind="stable")
    ranked, weighed = ranked.in_order(order), _in_order(weighed, order)
    if ranking.diversity:
        keys = ranked.chunk_ids[:DIVERSE_DEPTH]
        vectors = vectors_of_chunks(connection, keys, fingerprint)
        order, repetition = marginal_relevance(
            weighed.strengths, _matrix(keys, vectors), ranking.diversity
        )
        final = (1 - ranking.diversity) * weighed.strengths - ranking.diversity * repetition
        weighed = dataclasses.replace(weighed, repetition=repetition, final=final)
        ranked, weighed = ranked.in_order(order), _in_order(weighed, order)
    return dataclasses.replace(ranked, weighed=weighed)


def _facts(
    connection: Connection, ranked: RankedCandidates, ranking: Ranking
) -> dict[str, ChunkFacts] | None:
    """By chunk id; None where nothing of them counts."""
    signals_count = (
        ranking.recency_weight or ranking.importance_weight or ranking.completeness_weight
    )
    if not signals_count and not ranking.boosts:
        return None
    return facts_of_chunks(connection, ranked.chunk_ids, with_tags=bool(ranking.tag_boosts))


def _weighed(
    ranked: RankedCandidates,
    ranking: Ranking,
    facts: Mapping[str, ChunkFacts] | None,
    now: datetime,
) -> Weighed:
    size = len(ranked.chunk_ids)
    nothing = np.zeros(size)
    recency = importance = completeness = nothing
    boosts = np.ones(size)
    if facts is not None:
        of_each = [facts[key] for key in ranked.chunk_ids]
        half_life = ranking.recency_half_life_days
        if ranking.recency_weight:
            recency = np.array([signals.recency(f.modified_at, now, half_life) for f in of_each])
        if ranking.importance_weight:
            importance = np.array([signals.importance(f.key, f.item_importance) for f in of_each])
        if ranking.completeness_weight:
            completeness = np.array([signals.completeness(f.completeness) for f in of_each])
        if ranking.boosts:
            boosts = np.array([signals.boost(f, ranking) for f in of_each])
    fused, cosines = ranked.scaled_scores(), np.array(ranked.cosines, np.float64)
    sums = (
        ranking.fused_weight * fused
        + ranking.cosine_weight * cosines
        + ranking.recency_weight * recency
        + ranking.importance_weight * importance
        + ranking.completeness_weight * completeness
    )
    strengths = signals.boosted(sums, boosts)
    return Weighed(
        ranking, fused, cosines, recency, importance, completeness, boosts, strengths, nothing,
        final=strengths,
    )  # fmt: skip


def _in_order(weighed: Weighed, order: npt.NDArray[np.int64]) -> Weighed:
    names = [field.name for field in dataclasses.fields(weighed) if field.name != "ranking"]
    return dataclasses.replace(weighed, **{name: getattr(weighed, name)[order] for name in names})


def _matrix(chunk_ids: Sequence[str], vectors: Mapping[str, Vector]) -> npt.NDArray[np.float32]:
    """A row for each id; zeros, which are like nothing, for one that has just left the index."""
    dimension = next((len(vector) for vector in vectors.values()), 1)
    missing = np.zeros(dimension, np.float32)
    rows = [vectors.get(key, missing) for key in chunk_ids]
    return np.array(rows, np.float32).reshape(len(rows), dimension)
