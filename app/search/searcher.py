"""Retrieve, fuse, join to SQL, cut, cite."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from app.adapters.lexical_index.languages import Languages
from app.content_versions import ContentVersions
from app.database import Database
from app.errors import UnavailableError
from app.models import now
from app.protocols import VectorIndex
from app.search.candidate_filter import of_types
from app.search.demands import Demands
from app.search.document_spread import spread
from app.search.grouping import (
    GroupedHits,
    group_by_document,
    group_by_text,
    hits_to_group,
)
from app.search.neighbours import NO_NEIGHBOURS, neighbours_of_chunks
from app.search.profiles import NO_WISHES, Ranking, RankingWishes, resolved
from app.search.queries import (
    RowHit,
    Shown,
    hit_of,
    result_of,
    tags_of,
)
from app.search.ranking import RankedCandidates, explain, rank
from app.search.requests import GroupBy, ResultGroup, SearchAnswer, SearchRequest, SearchResult
from app.search.retrieval import Candidates, Retriever
from app.search.row_hits import strong_hits
from app.search.scope import ScopeResolver
from app.search.weighing import weigh
from app.search.widening import Widener
from app.search.words_by_collection import WordsByCollection
from app.web.metrics import Metrics

HASTY_ATTEMPTS = 2
"""So often an answer may be overtaken by a new version before the search keeps that waiting."""
MOST_ATTEMPTS = 8
"""A version that is kept waiting may still come after a while (ContentVersions)."""

DEEPER = 8
"""Factor by which more are asked for when too few candidates proved to be in SQL."""

DEEPEST_READING = 64
"""Times the depths: where no lexical index says which texts hold a phrase, they have to be read,
and 8,000 take a second."""

GROUPINGS: Mapping[GroupBy, Callable[[Sequence[RowHit]], list[GroupedHits[RowHit]]]] = {
    "document": group_by_document,
    "text": group_by_text,
}


class Searcher:
    """Answers searches. Safe from many threads."""

    def __init__(
        self,
        *,
        database: Database,
        retriever: Retriever,
        languages: Languages,
        versions: ContentVersions,
        degraded: Callable[[], Sequence[str]],
        metrics: Metrics,
        vector_index: VectorIndex,
        collection_ranking: Callable[[str | None], RankingWishes] = lambda _: NO_WISHES,
        collection_languages: Callable[[], Mapping[str, str]] = dict,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """`versions` tell whether an answer under way may have missed new chunks.

        `collection_languages` are those of collections that have one of their own.
        """
        self._database = database
        self._scopes = ScopeResolver(database)
        self._retriever = retriever
        self._languages = languages
        self._versions = versions
        self._degraded = degraded
        self._metrics = metrics
        self._collection_ranking = collection_ranking
        self._collection_languages = collection_languages
        self._clock = clock
        self._widener = Widener(
            database=database,
            retriever=retriever,
            vector_index=vector_index,
            languages=languages,
        )

    def search(self, request: SearchRequest) -> SearchAnswer:
        """The chunks that answer the query best, best first.

        Never fewer than exist, unless the ranking leaves weak ones out.

        Raises EmbeddingError, StorageError, UnavailableError, VectorIndexError, LexicalIndexError.
        """
        started = time.perf_counter()
        with self._retriever.searches.counted():
            answer = self._consistent_answer(request)
        total = time.perf_counter() - started
        for stage, milliseconds in answer.timings_ms:
            self._metrics.observe_search(stage, milliseconds / 1000)
        self._metrics.observe_search("total", total)
        return dataclasses.replace(answer, duration_ms=round(total * 1000, 2))

    def _consistent_answer(self, request: SearchRequest) -> SearchAnswer:
        """Results that see each document's old version or its new one, whole.

        The indexes are asked before SQL. If a new version became visible in between, its chunks
        may not be among the candidates while those of the old are gone: then everything is asked
        again, at last with further versions kept waiting. Raises UnavailableError rather than give
        an answer that may mix versions.
        """
        for attempt in range(MOST_ATTEMPTS):
            with self._versions.kept() if attempt >= HASTY_ATTEMPTS else nullcontext():
                version = self._versions.number
                answer = self._answer(request)
                if self._versions.number == version:
                    return answer
        raise UnavailableError("Too much is being indexed to search right now; try again.")

    def _answer(self, request: SearchRequest) -> SearchAnswer:
        allowed = self._scopes.resolve(request)
        if allowed.allows_nothing:
            return self._finished(request, [], (), ())
        words = WordsByCollection(request.query, self._languages, self._collection_languages())
        demands = Demands(allowed, words)
        ranking = resolved(request.ranking, self._collection_ranking(request.collection))
        deeper = 1
        while True:
            candidates, whole = self._candidates(request, ranking, demands, deeper)
            if not whole:
                deeper *= DEEPER
                continue
            retrieved = time.perf_counter()
            ranked = rank(request, candidates, words_required=words.require_words)
            fused = time.perf_counter()
            if words.require_words:
                demands = dataclasses.replace(demands, by_words=candidates.found_by_words)
            results, enough = self._join(candidates, ranked, request, ranking, demands, deeper)
            joined = time.perf_counter()
            enough = enough and _is_nearest(results, candidates, request, words)
            whole = _wanted_hits(request, deeper) >= len(ranked.chunk_ids)
            if enough or _complete(candidates, request, words, deeper, read_whole=whole):
                seconds = (
                    *candidates.seconds,
                    ("fuse", fused - retrieved),
                    ("join", joined - fused),
                )
                return self._finished(request, results, candidates.degraded, seconds)
            deeper *= DEEPER

    def _candidates(
        self,
        request: SearchRequest,
        ranking: Ranking,
        demands: Demands,
        deeper: int,
    ) -> tuple[Candidates, bool]:
        """What the indexes give, and whether that is as good as if they knew the whole filter."""
        words, scope = demands.words, demands.allowed.scope
        if request.mode == "dense" and words.require_words:  # who says that a text holds them?
            request = dataclasses.replace(request, mode="hybrid")
        if ranking.widens:
            found = self._widener.retrieve(request, ranking, demands, deeper)
        else:
            found = self._retriever.retrieve(request, words.meaning, scope, deeper)
        if not request.chunk_types:
            return found, True
        with self._database.snapshot() as connection:
            return of_types(connection, request, found, deeper)

    def _finished(
        self,
        request: SearchRequest,
        results: Sequence[SearchResult],
        degraded: Sequence[str],
        seconds: Sequence[tuple[str, float]],
    ) -> SearchAnswer:
        return SearchAnswer(
            query=request.query,
            results=tuple(results),
            degraded=(*(() if request.mode == "lexical" else self._degraded()), *degraded),
            duration_ms=0.0,
            timings_ms=tuple((stage, round(value * 1000, 3)) for stage, value in seconds),
        )

    def _join(
        self,
        candidates: Candidates,
        ranked: RankedCandidates,
        request: SearchRequest,
        ranking: Ranking,
        demands: Demands,
        deeper: int,
    ) -> tuple[list[SearchResult], bool]:
        """The candidates that SQL holds and the filter allows; whether they are enough."""
        wanted = _wanted_hits(request, deeper)
        with self._database.snapshot() as connection:
            if ranking.weighs:
                model = self._retriever.fingerprint
                ranked = weigh(connection, ranked, ranking, demands, model, self._clock())
            if not demands.words.exclude_any:  # what they leave out is known too late not to count
                ranked = spread(ranked, request, ranking)
            hits, was_cut = strong_hits(connection, ranked, demands, ranking.least_share, wanted)
            shown = _grouped(hits, ranked, request.group_by, request.n_results)
            near = neighbours_of_chunks(
                connection, [row.id for row, _, _ in shown], request.context_chunks
            )
            tags = tags_of(connection, {row.item_id for row, _, _ in shown})
        results = [
            result_of(
                row,
                ranked.cosines[place],
                tags.get(row.item_id, ()),
                Shown(
                    highlights=demands.words.of(row.collection).highlights(row.content)
                    if request.highlight
                    else (),
                    near=near.get(row.id, NO_NEIGHBOURS),
                    group=group,
                    explanation=explain(ranked, candidates, place) if request.explain else None,
                ),
            )
            for row, place, group in shown
        ]
        return results, was_cut or len(results) >= request.n_results


def _grouped(
    hits: Sequence[tuple[Any, int]],
    ranked: RankedCandidates,
    group_by: GroupBy | None,
    most: int,
) -> list[tuple[Any, int, ResultGroup | None]]:
    """The rows that are shown, with their places and with the hits that they stand for."""
    if group_by is None:
        return [(row, place, None) for row, place in hits]
    by_chunk = {row.id: (row, place) for row, place in hits}
    groups = GROUPINGS[group_by]([hit_of(row, ranked.cosines[place]) for row, place in hits])
    return [
        (*by_chunk[group.best.chunk_id], ResultGroup(group.count, group.others))
        for group in groups[:most]
    ]


def _is_nearest(
    results: Sequence[SearchResult],
    candidates: Candidates,
    request: SearchRequest,
    words: WordsByCollection,
) -> bool:
    """Whether no text that holds the phrases can be nearer than a result.

    That is asked of the mode `dense`, where the holders that the lexical index names may be the
    best by words only. Nearer than `complete_above`, every text is known.
    """
    if request.mode != "dense" or not words.require_words or not candidates.lexical_answered:
        return True
    farthest = min(result.score for result in results)
    return candidates.lexical_exhausted or farthest >= candidates.complete_above


def _wanted_hits(request: SearchRequest, deeper: int) -> int:
    """How far down the ranking results are looked for."""
    if request.group_by is None:
        return request.n_results
    return hits_to_group(request.n_results) * deeper


def _complete(
    candidates: Candidates,
    request: SearchRequest,
    words: WordsByCollection,
    deeper: int,
    *,
    read_whole: bool,
) -> bool:
    """Whether going deeper could not bring any further result, or took too long.

    `read_whole`: the ranking was, to its end: hits of one group may fill what is read of it.
    """
    by_words = words.require_words and candidates.lexical_answered
    if words.require_words and not by_words and deeper >= DEEPEST_READING:
        return True
    if request.group_by is not None and not read_whole:
        return False
    exhausted = candidates.lexical_exhausted if by_words else candidates.exhausted
    least = request.min_score or 0.0  # 0 cuts nothing off: cosines below 0 are shown as 0
    return exhausted or 0 < least > candidates.complete_above
