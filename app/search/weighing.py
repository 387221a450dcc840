"""Puts fused candidates in the order that a ranking's weights, boosts and diversity give."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from app.protocols import Vector
from app.search.demands import Demands
from app.search.diversity import DIVERSE_DEPTH, marginal_relevance
from app.search.fusion import Floats
from app.search.profiles import Ranking
from app.search.ranking import RankedCandidates
from app.search.signal_queries import facts_of_chunks, vectors_of_chunks
from app.search.signals import (
    SignalFacts,
    boost,
    boosted,
    completeness,
    importance,
    recency,
)
from app.search.weighed import Weighed


def weigh(
    connection: Connection,
    ranked: RankedCandidates,
    ranking: Ranking,
    demands: Demands,
    fingerprint: str,
    now: datetime,
) -> RankedCandidates:
    """The candidates in the order of their weighed strengths; equals stay in their order.

    Candidates that SQL no longer holds are left out if rows have to be read. `fingerprint` is that
    of the model by whose vectors `diversity` tells what repeats what; only a possible result can be
    repeated.
    """
    facts = _facts(connection, ranked, ranking)
    if facts is not None:
        ranked = ranked.without([key for key in ranked.chunk_ids if key not in facts])
    weighed = _weighed(ranked, ranking, facts, now)
    order = np.argsort(-weighed.strengths, kind="stable")
    ranked = dataclasses.replace(ranked, weighed=weighed).in_order(order)
    if not ranking.diversity:
        return ranked
    ranked, vectors = _comparable(connection, ranked, demands, fingerprint)
    return _diverse(ranked, vectors, ranking.diversity)


def _comparable(
    connection: Connection, ranked: RankedCandidates, demands: Demands, fingerprint: str
) -> tuple[RankedCandidates, npt.NDArray[np.float32]]:
    """The candidates less those seen not to be results, and the vectors of the first ones.

    Vectors are given for the first DIVERSE_DEPTH. A text whose vector is lost or damaged gets
    zeros: it is like nothing else.
    """
    held: list[str] = []
    gone: set[str] = set()
    vectors: dict[str, Vector] = {}
    for start in range(0, len(ranked.places), DIVERSE_DEPTH):
        keys = ranked.chunk_ids[start : start + DIVERSE_DEPTH]
        suiting = demands.suiting(connection, keys) if demands.words.demand_texts else keys
        vectors |= vectors_of_chunks(connection, suiting, fingerprint)
        lost = [key for key in suiting if key not in vectors]
        gone.update(set(keys).difference(suiting), lost)
        if lost:
            gone.difference_update(demands.suiting(connection, lost))
        held += [key for key in suiting if key not in gone]
        if len(held) >= DIVERSE_DEPTH:
            break
    nothing = np.zeros(max(map(len, vectors.values()), default=1), np.float32)
    first = [vectors.get(key, nothing) for key in held[:DIVERSE_DEPTH]]
    return ranked.without(gone), np.array(first, np.float32)


def _diverse(
    ranked: RankedCandidates, vectors: npt.NDArray[np.float32], diversity: float
) -> RankedCandidates:
    weighed = ranked.weighed
    assert weighed is not None  # noqa: S101, weigh made it
    order, repetition = marginal_relevance(weighed.strengths, vectors, diversity)
    final = (1 - diversity) * weighed.strengths - diversity * repetition
    weighed = dataclasses.replace(weighed, repetition=repetition, final=final)
    return dataclasses.replace(ranked, weighed=weighed).in_order(order)


def _facts(
    connection: Connection, ranked: RankedCandidates, ranking: Ranking
) -> dict[str, SignalFacts] | None:
    """The facts by chunk id; None if the ranking counts none of them."""
    if not ranking.asks_for_facts:
        return None
    return facts_of_chunks(connection, ranked.chunk_ids, with_labels=ranking.boosts)


def _weighed(
    ranked: RankedCandidates,
    ranking: Ranking,
    facts: Mapping[str, SignalFacts] | None,
    now: datetime,
) -> Weighed:
    each = [] if facts is None else [facts[key] for key in ranked.chunk_ids]
    nothing = np.zeros(len(ranked.places))

    def values(weight: float, value: Callable[[SignalFacts], float]) -> Floats:
        return np.array([value(fact) for fact in each]) if weight and each else nothing

    half_life = ranking.recency_half_life_days
    of_recency = values(
        ranking.recency_weight, lambda fact: recency(fact.modified_at, now, half_life)
    )
    of_importance = values(
        ranking.importance_weight, lambda fact: importance(fact.key, fact.item_importance)
    )
    of_completeness = values(
        ranking.completeness_weight, lambda fact: completeness(fact.completeness)
    )
    boosts = nothing + 1.0
    if ranking.boosts and each:
        boosts = np.array([boost(fact, ranking) for fact in each])
    fused, cosines = ranked.scaled_scores(), ranked.cosines
    sums = (
        ranking.fused_weight * fused
        + ranking.cosine_weight * cosines
        + ranking.recency_weight * of_recency
        + ranking.importance_weight * of_importance
        + ranking.completeness_weight * of_completeness
    )
    strengths = boosted(sums, boosts)
    return Weighed(
        ranking=ranking,
        fused=fused,
        cosines=cosines,
        recency=of_recency,
        importance=of_importance,
        completeness=of_completeness,
        boosts=boosts,
        strengths=strengths,
        repetition=nothing,
        final=strengths,
    )
