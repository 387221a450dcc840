"""Retrieve, join to SQL, cut, cite."""

import time
from collections.abc import Callable, Sequence

from app.database import Database
from app.protocols import Embedder, Vector, VectorHit, VectorIndex
from app.search import queries
from app.search.requests import SearchAnswer, SearchRequest, SearchResult
from app.web.metrics import Metrics

SPARE_CANDIDATES = 8
"""Candidates asked for beyond the wanted results: the index may hold chunks that SQL lost."""

JOINED_AT_ONCE = 500
"""Candidates in one IN list; databases limit the parameters of a statement."""

MORE_CANDIDATES = 8
"""Factor by which more are asked for when too few of them proved to be in SQL."""


class Searcher:
    """Answers searches. Safe from many threads."""

    def __init__(
        self,
        *,
        database: Database,
        embedder: Embedder,
        vector_index: VectorIndex,
        content_version: Callable[[], int],
        degraded: Callable[[], Sequence[str]],
        metrics: Metrics,
    ) -> None:
        """`content_version` changes whenever an answer under way may have missed new chunks."""
        self._database = database
        self._embedder = embedder
        self._index = vector_index
        self._content_version = content_version
        self._degraded = degraded
        self._metrics = metrics

    def search(self, request: SearchRequest) -> SearchAnswer:
        """The chunks nearest to the query, best first.

        As good as an exact scan of what the filter allows, and never fewer results than exist.
        Raises EmbeddingError, StorageError, VectorIndexError.
        """
        started = time.perf_counter()
        vector = self._embedder.embed_query(request.query)
        embedded = time.perf_counter()
        results = self._consistent_results(request, vector)
        ended = time.perf_counter()
        self._metrics.observe_search("embed", embedded - started)
        self._metrics.observe_search("retrieve", ended - embedded)
        self._metrics.observe_search("total", ended - started)
        return SearchAnswer(
            query=request.query,
            results=tuple(results),
            degraded=tuple(self._degraded()),
            duration_ms=round((ended - started) * 1000, 2),
        )

    def _consistent_results(self, request: SearchRequest, vector: Vector) -> list[SearchResult]:
        """Results that see each document's old version or its new one, whole.

        The index is asked before SQL. If a new version became visible in between, its chunks may
        not be among the candidates while those of the old are gone: then everything is asked again.
        """
        while True:
            version = self._content_version()
            results = self._results(request, vector)
            if self._content_version() == version:
                return results

    def _results(self, request: SearchRequest, vector: Vector) -> list[SearchResult]:
        item_ids = self._allowed_items(request)
        if item_ids is not None and not item_ids:
            return []
        limit = request.n_results + SPARE_CANDIDATES
        while True:
            hits = self._index.search(vector, limit, item_ids)
            results = self._join(hits, request)
            if len(results) >= request.n_results or len(hits) < limit:
                return results[: request.n_results]
            if request.min_score is not None and hits[-1].score < request.min_score:
                return results
            limit *= MORE_CANDIDATES

    def _allowed_items(self, request: SearchRequest) -> list[int] | None:
        """The items that may answer, or None when all may."""
        with self._database.read() as session:
            if not request.is_filtered and not queries.archived_chunks_exist(session):
                return None
            return queries.searchable_item_ids(session, request.item_filter())

    def _join(self, hits: Sequence[VectorHit], request: SearchRequest) -> list[SearchResult]:
        """The hits that SQL holds and the filter allows, in the order of the hits."""
        wanted = request.item_filter()
        results: list[SearchResult] = []
        with self._database.read() as session:
            for start in range(0, len(hits), JOINED_AT_ONCE):
                scores = {
                    hit.chunk_id: hit.score
                    for hit in hits[start : start + JOINED_AT_ONCE]
                    if request.min_score is None or hit.score >= request.min_score
                }
                found = queries.results_by_chunk(session, scores, wanted)
                results += [found[chunk_id] for chunk_id in scores if chunk_id in found]
                if len(results) >= request.n_results:
                    break
        return results
