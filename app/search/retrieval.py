"""Retrieves the candidates of a search by meaning and by words, each with its exact cosine."""

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.errors import EmbeddingError, LexicalIndexError, StoppingError
from app.processor import UnderWay
from app.protocols import (
    UNKNOWN_DOCUMENT,
    Compared,
    Embedder,
    LexicalHit,
    LexicalIndex,
    SearchScope,
    Vector,
    VectorHit,
    VectorIndex,
)
from app.search.fusion import Floats
from app.search.requests import SearchRequest
from app.search.stages import StageSeconds

LEXICAL_THREADS = 4
"""How many lexical searches may run while their queries are embedded, if no other search runs."""

CACHED_QUERIES = 512
"""How many queries' vectors are kept, since people page, filter and repeat: 1 MB, and up to 8 MB
more where each has the 8,000 characters that a query may have."""

UNREADABLE = (
    "embedding: the model knows next to none of the characters of this query, so that only its "
    "words are looked for."
)


@dataclass(frozen=True)
class Candidates:
    """What both sides found; arrays have shape (candidates,), in the order of `chunk_ids`."""

    chunk_ids: tuple[str, ...]
    cosines: Floats
    """Exact, whichever side found the candidate; 0 if the query has no vector."""
    found_dense: npt.NDArray[np.bool_]
    """Whether the dense side found it."""
    lexical_scores: Floats
    """BM25; 0 where the lexical side did not find the candidate."""
    documents: npt.NDArray[np.int64]
    """The number of each candidate's document; below 0 for one that has just left the index."""
    lexical_ceiling: float | None
    """See QueryWorth; None: not known."""
    lexical_guessed: float
    """See QueryWorth."""
    lexical_answered: bool
    exhausted: bool
    """Both sides gave all they have: asking for more would find nothing new."""
    lexical_exhausted: bool
    """The lexical side gave all it has: no other text holds the words."""
    complete_above: float
    """Every record with a greater cosine is among the candidates; -1: all records are."""
    degraded: tuple[str, ...]
    """Which sides are missing, and why."""
    seconds: StageSeconds
    """How long each stage took; the lexical one may have run alongside the embedding."""
    ranking_cosines: Floats | None = None
    """What to rank by instead of `cosines`, where several rounds found them, or meaning is not to
    count."""
    by_words_alone: bool = False
    """The model cannot read the query, so that cosines to it tell nothing."""

    @property
    def dense_exhausted(self) -> bool:
        """The dense side gave all it has."""
        return self.complete_above <= -1.0

    @property
    def found_by_words(self) -> frozenset[str]:
        """The ids of those that the lexical side found."""
        by_words = (self.lexical_scores > 0).tolist()
        return frozenset(key for key, found in zip(self.chunk_ids, by_words, strict=True) if found)


class Retriever:
    """Asks both indexes, in parallel if no other search is under way. Safe for many threads."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        vector_index: VectorIndex,
        lexical_index: LexicalIndex,
        searches: UnderWay | None = None,
    ) -> None:
        """`searches` counts those under way; it may be shared with what has to know it, too."""
        self.searches = searches or UnderWay()
        self.fingerprint = embedder.fingerprint
        self._meter = embedder.token_meter
        self._embed = functools.lru_cache(CACHED_QUERIES)(embedder.embed_query)
        self._vector_index = vector_index
        self._lexical_index = lexical_index
        self._is_closed = False
        self._threads = ThreadPoolExecutor(LEXICAL_THREADS, thread_name_prefix="lexical-search")

    def retrieve(
        self,
        request: SearchRequest,
        meaning: str,
        scope: SearchScope,
        deeper: int,
        *,
        by_meaning: bool = False,
    ) -> Candidates:
        """The candidates of the sides that the request's mode wants, `deeper` times its depths.

        `meaning` is the text to embed; with `by_meaning` it counts however little of it is read.

        In hybrid mode the model or the lexical index may fail, and the other side answers alone; so
        does the lexical index if the model cannot read the query.
        Raises EmbeddingError and LexicalIndexError when no side is left, and EmbeddingError when a
        `min_score` needs cosines that cannot be computed. The vector index answers from SQL where
        it has to: what it raises is raised in every mode.
        """
        lexical = None
        if request.mode != "dense":
            lexical = self._start_lexical(request, scope, deeper)
        degraded: list[str] = []
        started = time.perf_counter()
        vector = self._vector(request, meaning, degraded)
        embedded = time.perf_counter()
        seconds = [("embed", embedded - started)]
        by_words_alone = request.mode == "hybrid" and not by_meaning and not self._reads(meaning)
        if by_words_alone:
            degraded.append(UNREADABLE)
        dense = _Dense()
        if request.mode != "lexical" and vector is not None and not by_words_alone:
            dense = self._nearest(vector, request.dense_depth * deeper, scope)
            seconds.append(("dense", time.perf_counter() - embedded))
        words = _Lexical()
        if lexical is not None:
            is_alone = request.mode == "lexical" or vector is None or by_words_alone
            words = _answer_of(lexical, degraded, is_alone=is_alone)
            if words.answered:
                seconds.append(("lexical", words.seconds))
        found = self._candidates(vector, dense, words, degraded, tuple(seconds))
        if not by_words_alone:
            return found
        zeros = np.zeros(len(found.chunk_ids))
        return dataclasses.replace(found, ranking_cosines=zeros, by_words_alone=True)

    def embed(self, meaning: str) -> Vector:
        """The vector of a query, which is cached; raises EmbeddingError."""
        return self._embed(meaning)

    def documents_of_tests(self) -> frozenset[int]:
        """The numbers of documents that are tests of code; none while there is no lexical index."""
        try:
            return self._lexical_index.documents_of_tests()
        except LexicalIndexError:
            return frozenset()

    def close(self) -> None:
        """Wait for running searches to end."""
        self._is_closed = True
        self._threads.shutdown()

    def _vector(self, request: SearchRequest, meaning: str, degraded: list[str]) -> Vector | None:
        """The query's vector; None, with the reason added to `degraded`, if words alone will do."""
        try:
            return self._embed(meaning)
        except EmbeddingError as error:
            if request.mode == "dense" or request.min_score is not None:
                raise
            degraded.append(f"embedding: {error.detail} Scores are 0.")
            return None

    def _reads(self, meaning: str) -> bool:
        """Whether the vector of this text tells anything; where that is not known, it does."""
        return self._meter is None or self._meter.reads(meaning)

    def _nearest(self, vector: Vector, limit: int, scope: SearchScope) -> "_Dense":
        hits = self._vector_index.search(vector, limit, scope)
        if len(hits) < limit:
            return _Dense(hits, complete_above=-1.0)
        return _Dense(hits, exhausted=False, complete_above=hits[-1].score)

    def _start_lexical(
        self, request: SearchRequest, scope: SearchScope, deeper: int
    ) -> "Callable[[], _Lexical]":
        """Start the lexical search on another thread; returns what waits for its answer.

        If other searches keep the cores busy, it only starts when its answer is asked for, on the
        same thread: changing threads would take longer. With 8 clients on two cores, two searches
        at once, that gave 12 % more searches.
        """

        def search() -> _Lexical:
            started = time.perf_counter()
            limit = request.lexical_depth * deeper
            hits = self._lexical_index.search(request.query, limit, scope)
            worth = self._lexical_index.worth(request.query)
            return _Lexical(
                hits,
                exhausted=len(hits) < limit,
                seconds=time.perf_counter() - started,
                ceiling=worth.ceiling,
                guessed=worth.guessed,
                answered=True,
            )

        try:
            return self._threads.submit(search).result if self.searches.is_alone else search
        except RuntimeError as error:  # it was shut down, or the system gives no thread
            if self._is_closed:
                raise StoppingError from error
            return search

    def _candidates(
        self,
        vector: Vector | None,
        dense: "_Dense",
        words: "_Lexical",
        degraded: Sequence[str],
        seconds: StageSeconds,
    ) -> Candidates:
        bm25 = dict(words.hits)
        chunk_ids = [hit.chunk_id for hit in dense.hits]
        found_dense = frozenset(chunk_ids)
        only_lexical = [key for key in bm25 if key not in found_dense]
        chunk_ids += only_lexical
        # A chunk that the dense index lacks has either just been deleted, and SQL will drop it, or
        # its vector is damaged, and it is still found by its words.
        others = self._compared(vector, only_lexical)
        numbers = np.array([hit.document_number for hit in dense.hits], np.int64)
        return Candidates(
            chunk_ids=tuple(chunk_ids),
            cosines=np.append([hit.score for hit in dense.hits], others.cosines),
            found_dense=np.arange(len(chunk_ids)) < len(dense.hits),  # they come first
            lexical_scores=np.array([bm25.get(key, 0.0) for key in chunk_ids], np.float64),
            documents=each_its_own(np.append(numbers, others.document_numbers)),
            lexical_ceiling=words.ceiling,
            lexical_guessed=words.guessed,
            lexical_answered=words.answered,
            exhausted=dense.exhausted and words.exhausted,
            lexical_exhausted=words.exhausted,
            complete_above=dense.complete_above,
            degraded=tuple(degraded),
            seconds=seconds,
        )

    def _compared(self, vector: Vector | None, chunk_ids: Sequence[str]) -> Compared:
        """As VectorIndex.compared; without a vector all cosines are 0."""
        if vector is not None:
            return self._vector_index.compared(vector, chunk_ids)
        numbers = self._vector_index.documents_of(chunk_ids)
        of_each = [numbers.get(key, UNKNOWN_DOCUMENT) for key in chunk_ids]
        return Compared(np.zeros(len(chunk_ids)), np.array(of_each, np.int64))


def each_its_own(documents: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The numbers of candidates' documents, with one of its own, below 0, for each unknown one."""
    return np.where(documents < 0, -1 - np.arange(len(documents)), documents)


@dataclass(frozen=True)
class _Dense:
    """What the dense side gave; nothing, unless it was asked."""

    hits: Sequence[VectorHit] = ()
    exhausted: bool = True
    complete_above: float = 1.0
    """Every record whose cosine is greater is among the hits."""


@dataclass(frozen=True)
class _Lexical:
    """What the lexical side gave; nothing, unless it was asked and answered."""

    hits: Sequence[LexicalHit] = ()
    exhausted: bool = True
    seconds: float = 0.0
    ceiling: float | None = None
    guessed: float = 0.0
    answered: bool = False


def _answer_of(lexical: Callable[[], _Lexical], degraded: list[str], *, is_alone: bool) -> _Lexical:
    """What the lexical side gives, or why it gives nothing, if it is not alone with the query."""
    try:
        return lexical()
    except LexicalIndexError as error:
        if is_alone:
            raise
        degraded.append(f"lexical index: {error.detail}")
        return _Lexical()
