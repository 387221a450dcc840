"""Answers a search: retrieve, fuse, rank, join to SQL; look deeper if there are too few."""

import dataclasses
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from app.adapters.text_analysis.languages import Languages
from app.clock import now
from app.content_versions import ContentVersions
from app.database import Database
from app.errors import OverloadedError
from app.metrics import Metrics
from app.protocols import TokenMeter, VectorIndex
from app.search.candidate_filter import of_types
from app.search.code_first import penalties_of_tests
from app.search.demands import Demands
from app.search.joining import JoinedRows, join
from app.search.profiles import NO_WISHES, Ranking, RankingWishes, resolved
from app.search.ranking import knows_all_near_enough, rank
from app.search.requests import SearchRequest
from app.search.results import Explanation, SearchAnswer, SearchResult
from app.search.retrieval import Candidates, Retriever
from app.search.row_hits import others_are_weak
from app.search.scope import ScopeResolver
from app.search.stages import StageSeconds, added
from app.search.token_counts import token_count
from app.search.widening import Widener
from app.search.words_by_collection import WordsByCollection

HASTY_ATTEMPTS = 2
"""How often new versions may overtake an answer before the search keeps them waiting."""
MOST_ATTEMPTS = 8
"""A version that is kept waiting still goes ahead after a while: see ContentVersions."""

DEEPER = 8
"""Factor by which more candidates are asked for when too few of them became results."""

MOST_REJECTED = 4_000
"""How many texts are read in vain before a search ends. Texts have to be read where no lexical
index says which hold a phrase, or where they may say what the query excludes. A round reads up to
about twice as many, and takes 1 to 3 seconds."""


class Searcher:
    """Answers searches. Safe to call from many threads."""

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
        token_meter: TokenMeter | None = None,
        collection_ranking: Callable[[str | None], RankingWishes] = lambda _: NO_WISHES,
        collection_languages: Callable[[], Mapping[str, str]] = dict,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """`versions` tell whether new chunks may have been missed while an answer was made.

        Without a token meter, tokens are estimated from the characters of the text.
        `collection_languages` gives the languages of collections that have one of their own.
        """
        self._database = database
        self._scopes = ScopeResolver(database)
        self._retriever = retriever
        self._languages = languages
        self._versions = versions
        self._degraded = degraded
        self._metrics = metrics
        self._token_meter = token_meter
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

        Never fewer than there are, unless the ranking leaves out weak ones, or nearly every text
        says what the query excludes: then those behind MOST_REJECTED others may be missing.

        Raises EmbeddingError, StorageError, OverloadedError, VectorIndexError, LexicalIndexError.
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
        """An answer in which each document is seen whole, in its old version or its new one.

        The indexes are asked before SQL. If a new version became visible in between, its chunks
        may not be among the candidates while the old ones are gone. Then everything is asked again,
        in the end with further versions kept waiting. Raises OverloadedError rather than give an
        answer that may mix versions.
        """
        for attempt in range(MOST_ATTEMPTS):
            with self._versions.kept() if attempt >= HASTY_ATTEMPTS else nullcontext():
                version = self._versions.number
                answer = self._answer(request)
                if self._versions.number == version:
                    return answer
        raise OverloadedError("Too much is being indexed to search right now; try again.")

    def _answer(self, request: SearchRequest) -> SearchAnswer:
        allowed = self._scopes.resolve(request)
        if allowed.allows_nothing:
            return self._finished(request, [], (), ())
        words = WordsByCollection(request.query, self._languages, self._collection_languages())
        demands = Demands(allowed, words, chunk_types=request.chunk_types)
        ranking = resolved(request.ranking, self._collection_ranking(request.collection))
        deeper = 1
        earlier: Mapping[str, Explanation | None] = {}
        seconds: StageSeconds = ()
        while True:
            found = self._round(request, ranking, demands, earlier, deeper)
            seconds = added(seconds, found.seconds)
            demands, candidates, joined = found.demands, found.candidates, found.joined
            if joined is None:
                if _are_few(candidates, request, deeper):
                    holders = self._scopes.resolve(request, holding_types=True)
                    if holders.allows_nothing:
                        return self._finished(request, [], candidates.degraded, seconds)
                    demands = dataclasses.replace(demands, allowed=holders)
                deeper *= DEEPER
                continue
            started = time.perf_counter()
            results = joined.results(request, demands, candidates, earlier, deeper)
            seconds = added(seconds, (("join", time.perf_counter() - started),))
            nearest = _is_nearest(joined, candidates, request, ranking, words)
            enough = nearest and (
                len(results) >= request.n_results
                or others_are_weak(joined.ranked, candidates, joined.least)
            )
            if enough or _complete(candidates, request, words, joined.rejected):
                return self._finished(request, results, candidates.degraded, seconds)
            earlier = {result.chunk_id: result.explain for result in results} if nearest else {}
            deeper *= _further(candidates, words)

    def _round(
        self,
        request: SearchRequest,
        ranking: Ranking,
        demands: Demands,
        earlier: Collection[str],
        deeper: int,
    ) -> "_Round":
        """Ask the indexes and join to SQL."""
        candidates = self._found(request, ranking, demands, deeper)
        retrieved_at = time.perf_counter()
        with self._database.snapshot() as connection:
            candidates, whole = of_types(connection, request, candidates, deeper)
            if not whole:
                sorted_out = ("fuse", time.perf_counter() - retrieved_at)
                return _Round(candidates, demands, None, (*candidates.seconds, sorted_out))
            require_words = demands.words.require_words
            ranked = rank(
                request,
                candidates,
                words_required=require_words,
                test_penalties=penalties_of_tests(
                    request, ranking, demands.words.meaning, candidates, self._retriever
                ),
            )
            fused_at = time.perf_counter()
            if require_words:
                demands = dataclasses.replace(demands, by_words=candidates.found_by_words)
            joined = join(
                connection,
                ranked,
                request,
                ranking,
                demands,
                earlier=earlier,
                deeper=deeper,
                fingerprint=self._retriever.fingerprint,
                now=self._clock(),
            )
        fusing, joining = fused_at - retrieved_at, time.perf_counter() - fused_at
        seconds = (*candidates.seconds, ("fuse", fusing), ("join", joining))
        return _Round(candidates, demands, joined, seconds)

    def _found(
        self, request: SearchRequest, ranking: Ranking, demands: Demands, deeper: int
    ) -> Candidates:
        """What the indexes give; they can filter by document, but not by type of chunk."""
        words, asked = demands.words, request
        if request.mode == "dense" and words.require_words:
            # Only the lexical index tells which texts hold the phrases.
            self._retriever.embed(words.meaning)  # fails here: words alone are no dense search
            asked = dataclasses.replace(request, mode="hybrid")
        if ranking.widens:
            return self._widener.retrieve(request, asked, ranking, demands, deeper)
        return self._retriever.retrieve(
            asked,
            words.meaning,
            demands.allowed.scope,
            deeper,
            by_meaning=request.mode == "dense",
        )

    def _finished(
        self,
        request: SearchRequest,
        results: Sequence[SearchResult],
        degraded: Sequence[str],
        seconds: StageSeconds,
    ) -> SearchAnswer:
        return SearchAnswer(
            query=request.query,
            results=tuple(_within(results, request.max_tokens, self._token_meter)),
            degraded=(*(() if request.mode == "lexical" else self._degraded()), *degraded),
            duration_ms=0.0,
            timings_ms=tuple((stage, round(value * 1000, 3)) for stage, value in seconds),
        )


def _within(
    results: Sequence[SearchResult], max_tokens: int | None, meter: TokenMeter | None
) -> Sequence[SearchResult]:
    """The first results, as many as have room: a worse one never takes the place of a better."""
    if max_tokens is None:
        return results
    left = max_tokens
    for number, result in enumerate(results):
        texts = (result.before, result, result.after)
        left -= sum(token_count(text.content, meter) for text in texts if text is not None)
        if left < 0:
            return results[:number]
    return results


@dataclass(frozen=True)
class _Round:
    """What asking at one depth gave."""

    candidates: Candidates
    demands: Demands
    joined: JoinedRows | None
    """None: too few candidates are of the types asked for."""
    seconds: StageSeconds


def _are_few(candidates: Candidates, request: SearchRequest, deeper: int) -> bool:
    """Whether so few are of the types asked for that it pays to find the documents with such."""
    return 2 * len(candidates.chunk_ids) < request.dense_depth * deeper


def _is_nearest(
    joined: JoinedRows,
    candidates: Candidates,
    request: SearchRequest,
    ranking: Ranking,
    words: WordsByCollection,
) -> bool:
    """Whether no text that holds the phrases can be nearer to the query than a result.

    This only matters in mode `dense`, where the texts that the lexical index names as holding them
    may be the best by words only. Every text nearer than `complete_above` is known; but where more
    than nearness counts, all texts that hold the phrases have to be known.
    """
    if request.mode != "dense" or not words.require_words or not candidates.lexical_answered:
        return True
    if ranking.weighs or ranking.widens:
        return candidates.lexical_exhausted
    cosines = joined.ranked.cosines[[position for _, position, _ in joined.rows]]
    farthest = cosines.min(initial=1.0)
    return candidates.lexical_exhausted or bool(farthest >= candidates.complete_above)


def _must_read(candidates: Candidates, words: WordsByCollection) -> bool:
    """Whether the text of a candidate has to be read to tell that it is not a result."""
    unsure = words.must_read_phrases or not candidates.lexical_answered
    return words.exclude_any or (words.require_words and unsure)


def _further(candidates: Candidates, words: WordsByCollection) -> int:
    """The factor by which more are asked for: where all are read, not far beyond MOST_REJECTED."""
    if not _must_read(candidates, words):
        return DEEPER
    return max(2, min(DEEPER, math.ceil(2 * MOST_REJECTED / max(len(candidates.chunk_ids), 1))))


def _complete(
    candidates: Candidates,
    request: SearchRequest,
    words: WordsByCollection,
    rejected: int,
) -> bool:
    """Whether going deeper could bring no further result, or would take too long."""
    by_words = words.require_words and candidates.lexical_answered
    if _must_read(candidates, words) and rejected > MOST_REJECTED:
        return True
    exhausted = candidates.lexical_exhausted if by_words else candidates.exhausted
    return exhausted or knows_all_near_enough(request, candidates)
