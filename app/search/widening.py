"""Asks the indexes again: in other wordings, and for more like the first results."""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from app.adapters.text_analysis.languages import Languages
from app.database import Database
from app.errors import EmbeddingError
from app.protocols import SearchScope, Vector, VectorIndex
from app.search.code_first import penalties_of_tests
from app.search.demands import Demands
from app.search.fusion import LEAST_CEILING, Floats
from app.search.profiles import Ranking
from app.search.ranking import rank
from app.search.requests import SearchRequest
from app.search.retrieval import Candidates, Retriever, each_its_own
from app.search.signal_queries import vectors_of_chunks
from app.search.stages import added
from app.search.wordings import other_wordings
from app.search.words_by_collection import WordsByCollection

SPARE_FEEDBACK = 3
"""How many times the wanted results are looked at together: a query may exclude some."""

MOST_LOOKED_AT = 500
"""The most to look at for the first results: a query that excludes nearly all would take long."""


@dataclass(frozen=True)
class _Round:
    """What one wording found."""

    vector: Vector
    candidates: Candidates


class Widener:
    """Retrieves in a bounded number of rounds. Safe to call from many threads."""

    def __init__(
        self,
        *,
        database: Database,
        retriever: Retriever,
        vector_index: VectorIndex,
        languages: Languages,
    ) -> None:
        self._database = database
        self._retriever = retriever
        self._vector_index = vector_index
        self._languages = languages

    def retrieve(
        self,
        request: SearchRequest,
        asked: SearchRequest,
        ranking: Ranking,
        demands: Demands,
        deeper: int,
    ) -> Candidates:
        """The candidates of all rounds, with the cosine by which each is ranked.

        `asked` is the request as the indexes get it: they may both be needed to answer in the mode
        of one. Every candidate keeps its cosine to the query as it was asked. If that cannot be
        embedded or read, there is only the first round. Raises what Retriever.retrieve raises.
        """
        words, scope = demands.words, demands.allowed.scope
        found = self._retriever.retrieve(
            asked, words.meaning, scope, deeper, by_meaning=request.mode == "dense"
        )
        if found.by_words_alone:
            return found
        try:
            vector = self._retriever.embed(words.meaning)
        except EmbeddingError:
            return found
        if ranking.expand:
            found = self._in_other_wordings(asked, scope, deeper, _Round(vector, found))
        if ranking.feedback_weight and request.mode != "lexical":
            moved = self._moved(request, ranking, demands, vector, found)
            found = self._asked_again(request, scope, deeper, vector, found, moved)
        return found

    # Other wordings ------------------------------------------------------------------------

    def _in_other_wordings(
        self, asked: SearchRequest, scope: SearchScope, deeper: int, first: _Round
    ) -> Candidates:
        """The candidates of the first round, and of the other wordings that can be embedded."""
        rounds, missing = [first], ""
        for wording in other_wordings(asked.query):
            meaning = WordsByCollection(wording, self._languages, {}).meaning
            otherwise = dataclasses.replace(asked, query=wording)
            started = time.perf_counter()
            try:
                vector = self._retriever.embed(meaning)
                embedded = ("embed", time.perf_counter() - started)
                candidates = self._retriever.retrieve(
                    otherwise, meaning, scope, deeper, by_meaning=True
                )
            except EmbeddingError as error:
                missing = f"embedding: {error.detail} Other wordings were left out."
                break
            seconds = added((embedded,), candidates.seconds)
            rounds.append(_Round(vector, dataclasses.replace(candidates, seconds=seconds)))
        found = self._merged(rounds) if len(rounds) > 1 else first.candidates
        return dataclasses.replace(found, degraded=(*found.degraded, missing)) if missing else found

    def _merged(self, rounds: Sequence[_Round]) -> Candidates:
        """Each candidate counts by the wording that suits it best, by meaning and by words."""
        first = rounds[0]
        keys = tuple(dict.fromkeys(key for one in rounds for key in one.candidates.chunk_ids))
        found = self._widened(first.vector, first.candidates, keys)
        best = np.max([self._cosines(one.vector, found.chunk_ids) for one in rounds], axis=0)
        bm25 = np.max([_bm25(one.candidates, found) for one in rounds], axis=0)
        dense = {
            key
            for one in rounds
            for key, is_dense in zip(
                one.candidates.chunk_ids, one.candidates.found_dense.tolist(), strict=True
            )
            if is_dense
        }
        return dataclasses.replace(
            found,
            ranking_cosines=best,
            lexical_scores=bm25,
            found_dense=np.array([key in dense for key in found.chunk_ids], np.bool_),
            exhausted=all(one.candidates.exhausted for one in rounds),
            lexical_exhausted=all(one.candidates.lexical_exhausted for one in rounds),
            degraded=tuple(dict.fromkeys(why for one in rounds for why in one.candidates.degraded)),
            seconds=added(*(one.candidates.seconds for one in rounds)),
        )

    # Feedback ------------------------------------------------------------------------------

    def _moved(
        self,
        request: SearchRequest,
        ranking: Ranking,
        demands: Demands,
        vector: Vector,
        found: Candidates,
    ) -> Vector:
        """The query's vector, moved towards the mean of the first results, of unit length.

        Rocchio, "Relevance Feedback in Information Retrieval", 1971, without what is irrelevant.
        """
        ranked = rank(
            request,
            found,
            words_required=demands.words.require_words,
            test_penalties=penalties_of_tests(
                request, ranking, demands.words.meaning, found, self._retriever
            ),
        )
        wanted = ranking.feedback_results
        with self._database.snapshot() as connection:
            best = _first_suiting(connection, demands, ranked.chunk_ids[:MOST_LOOKED_AT], wanted)
            known = vectors_of_chunks(connection, best, self._retriever.fingerprint)
        # In the order of the ranking: a sum of floats depends on its order.
        vectors = [known[key] for key in best if key in known]
        if not vectors:
            return vector
        moved = vector + ranking.feedback_weight * np.mean(vectors, axis=0)
        length = float(np.linalg.norm(moved))
        return (moved / length).astype(np.float32) if length else vector

    def _asked_again(
        self,
        request: SearchRequest,
        scope: SearchScope,
        deeper: int,
        vector: Vector,
        found: Candidates,
        moved: Vector,
    ) -> Candidates:
        """The candidates and those nearest to the moved query, all ranked by their cosine to it."""
        started = time.perf_counter()
        hits = self._vector_index.search(moved, request.dense_depth * deeper, scope)
        again_seconds = time.perf_counter() - started
        keys = tuple(dict.fromkeys((*found.chunk_ids, *(hit.chunk_id for hit in hits))))
        wider = self._widened(vector, found, keys)
        again = {hit.chunk_id for hit in hits}
        found_again = np.array([key in again for key in wider.chunk_ids], np.bool_)
        return dataclasses.replace(
            wider,
            ranking_cosines=self._cosines(moved, wider.chunk_ids),
            found_dense=wider.found_dense | found_again,
            seconds=added(found.seconds, (("dense", again_seconds),)),
        )

    # Both ----------------------------------------------------------------------------------

    def _cosines(self, vector: Vector, keys: Sequence[str]) -> Floats:
        """The cosines to this vector; 0 for a chunk without a vector, as in Retriever."""
        return self._vector_index.compared(vector, keys).cosines

    def _widened(self, vector: Vector, found: Candidates, keys: Sequence[str]) -> Candidates:
        """The candidates, with those of the keys added that are not among them.

        What to rank by is for the caller to say.
        """
        known = set(found.chunk_ids)
        new = [key for key in keys if key not in known]
        if not new:
            return found
        # One without a vector is found by its words, or SQL drops it: see Retriever.
        cosines, numbers = self._vector_index.compared(vector, new)
        zeros = np.zeros(len(new))
        return dataclasses.replace(
            found,
            chunk_ids=(*found.chunk_ids, *new),
            cosines=np.append(found.cosines, cosines),
            found_dense=np.append(found.found_dense, zeros.astype(np.bool_)),
            lexical_scores=np.append(found.lexical_scores, zeros),
            documents=each_its_own(np.append(found.documents, numbers)),
            ranking_cosines=None,
        )


def _first_suiting(
    connection: Connection, demands: Demands, chunk_ids: Sequence[str], wanted: int
) -> list[str]:
    """The first of the chunks that can become results, in their order."""
    suiting: list[str] = []
    step = SPARE_FEEDBACK * wanted
    for start in range(0, len(chunk_ids), step):
        suiting += demands.suiting(connection, chunk_ids[start : start + step])
        if len(suiting) >= wanted:
            break
    return suiting[:wanted]


def _bm25(one: Candidates, found: Candidates) -> Floats:
    """BM25 of one wording for all candidates, as if its ceiling were that of the question."""
    scale = 1.0
    own, wanted = one.lexical_ceiling, found.lexical_ceiling
    if own is not None and wanted is not None and min(own, wanted) >= LEAST_CEILING:
        scale = wanted / own
    scores = dict(zip(one.chunk_ids, (scale * one.lexical_scores).tolist(), strict=True))
    return np.array([scores.get(key, 0.0) for key in found.chunk_ids], np.float64)
