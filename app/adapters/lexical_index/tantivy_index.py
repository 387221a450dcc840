"""A lexical index on disk: tantivy, fed with terms that are analysed here."""

import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.as_typed import READ_AGAIN, raised
from app.adapters.lexical_index.compiling import QueryCompiler
from app.adapters.lexical_index.documents_of_tests import DocumentsOfTests
from app.adapters.lexical_index.fields import (
    CHUNK_ID,
    DOCUMENT,
    SPLITS,
    FieldWeights,
    chunk_ids_at,
    language_term,
    make_document,
    make_schema,
)
from app.adapters.lexical_index.scoped_search import best_and_ties
from app.adapters.lexical_index.segment_files import SegmentFiles
from app.adapters.lexical_index.spelling import Spelling
from app.adapters.lexical_index.tantivy_errors import translated_errors
from app.adapters.lexical_index.term_counts import TermCounts, term_counts
from app.adapters.text_analysis.languages import Languages
from app.errors import LexicalIndexError
from app.fault_points import FaultPoint, reached
from app.protocols import EVERYWHERE, LexicalHit, LexicalRecord, QueryWorth, SearchScope

WRITER_HEAP_BYTES = 64_000_000
"""Room for what is added between two calls of `keep` (4,096 chunks of documentation take 20 MB), as
tantivy writes a segment whenever this is full. Searches of the 8 segments that the least, 15 MB,
left of 100,000 passages took 2.0 to 2.2 ms, of the 3 that this leaves 1.6 to 1.8 (medians). It is
taken as records come."""
MANY_PENDING_REMOVALS = 256
"""Once this many removals wait for a commit, `keep` makes one; each makes searches ask for one more
hit."""
MOST_PENDING_REMOVALS = 2048
"""Once this many wait, `remove` commits itself. At 100,000 records a delete that had to commit took
0.1 s: a client that deletes should not wait for that as long as `keep` finds a quiet moment."""

SOUGHT_ONE_BY_ONE = 1024
"""Records of up to so many ids are each looked up on their own, of more by one automaton for all of
them: among 100,000 records in 8 segments 64 take 0.17 ms instead of 0.62, 1,024 3.5 instead of 5.5,
and 4,096 as long."""


class TantivyIndex:
    """The tantivy index in `folder`, which is created if it is missing.

    One writer at a time (a lock ensures that) and any number of readers, in one process. When
    `upsert` returns, its records can be found and are on the disk. `remove` takes effect at once
    for this object, and on the disk with the next `upsert`, with `keep` when
    MANY_PENDING_REMOVALS are waiting, or when the index is closed: a kill before then may bring
    removed records back.
    """

    def __init__(
        self,
        folder: Path,
        *,
        languages: Languages | None = None,
        weights: FieldWeights | None = None,
        must_exist: bool = False,
    ) -> None:
        """`must_exist`: one is opened and none made; LexicalIndexError where there is none."""
        self._languages = languages or Languages()
        self._weights = weights or FieldWeights()
        self._schema = make_schema()
        self._write_lock = threading.Lock()
        self._look_lock = threading.Lock()
        self._writer: tantivy.IndexWriter | None = None
        self._view: _View | None = None
        self._has_unkept = False
        with translated_errors("be opened"):
            if must_exist:
                self._index = tantivy.Index.open(str(folder))
            else:
                folder.mkdir(parents=True, exist_ok=True)
                self._index = tantivy.Index(self._schema, path=str(folder))
            self._index.config_reader("manual")
            self._files = SegmentFiles(folder)
            self._look_again()

    # Reading -----------------------------------------------------------------------------------

    def search(self, query: str, limit: int, scope: SearchScope = EVERYWHERE) -> list[LexicalHit]:
        """See LexicalIndex.search."""
        view = self._open_view()
        searcher, removed = view.searcher, view.removed
        limit = min(limit, searcher.num_docs)
        if limit <= 0:
            return []
        with translated_errors("be searched"):
            asked = max(limit, READ_AGAIN) + len(removed)
            compiler = self._compiler(query, view, scope)
            try:
                found = best_and_ties(searcher, compiler, asked)
            except ValueError:  # an open edge stands for more than 16,384 pairs, the most it takes
                compiler = self._compiler(query, view, scope, edges_open=False)
                found = best_and_ties(searcher, compiler, asked)
            chunk_ids = chunk_ids_at(searcher, [address for _, address in found])
            scores = {
                chunk_id: score
                for chunk_id, (score, _) in zip(chunk_ids, found, strict=True)
                if chunk_id not in removed
            }
            for chunk_id, share in self._shares(searcher, compiler, scores).items():
                scores[chunk_id] = raised(scores[chunk_id], share)
        ranked = sorted((-score, chunk_id) for chunk_id, score in scores.items())
        return [LexicalHit(chunk_id, -negative) for negative, chunk_id in ranked[:limit]]

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; unknown ids are left out."""
        searcher, removed, *_ = self._open_view()
        wanted = set(chunk_ids).difference(removed)
        if not wanted:
            return {}
        with translated_errors("be read"):
            found = searcher.search(self._with_ids(list(wanted)), len(wanted), count=False).hits
            addresses = [address for _, address in found]
            numbers = map(int, searcher.fast_field_values(DOCUMENT, addresses))  # type: ignore[arg-type]  # every record has one
            return dict(zip(chunk_ids_at(searcher, addresses), numbers, strict=True))

    def documents_of_tests(self) -> frozenset[int]:
        """See LexicalIndex.documents_of_tests; they are found anew after each commit."""
        with translated_errors("be read"):
            return self._open_view().tests.numbers()

    def in_other_language(self, expected: Mapping[str, str | None]) -> set[str]:
        """Which of these records it holds in another language than the one given for each."""
        searcher, removed, languages, *_ = self._open_view()
        wanted = {key: self._languages.known(language) for key, language in expected.items()}
        default = self._languages.default
        ids = list(wanted.keys() - removed)
        if not ids or (not languages and set(wanted.values()) == {default}):
            return set()
        with translated_errors("be read"):
            held = dict.fromkeys(self._found(searcher, self._with_ids(ids), len(ids)), default)
            for language in languages:
                both = [(Occur.Must, self._with_ids(ids)), (Occur.Must, self._spoken(language))]
                spoken = self._found(searcher, Query.boolean_query(both), len(ids))
                held.update(dict.fromkeys(spoken, language))
        return {chunk_id for chunk_id, language in held.items() if wanted[chunk_id] != language}

    def fault(self) -> str | None:
        """Why the folder does not hold what was committed last; None: it does, or may do so."""
        with self._look_lock:  # another look is over in a moment, while a write may take long
            if not self._write_lock.acquire(blocking=False):
                return None  # a write is under way: the next look will tell
            try:
                return self._files.fault() if self._view is not None else None
            finally:
                self._write_lock.release()

    def worth(self, query: str) -> QueryWorth:
        """See LexicalIndex.worth.

        The ceiling is `(k1 + 1) * sum of ln(1 + (N - n + 0.5) / (n + 0.5))` over the words.
        `n` of `N` records hold the word in their content, each in its own language; a word that
        none holds counts in full.
        This is the BM25 of one field that says every word again and again. Several fields, or words
        in the order in which they were typed, may lift a score above it.
        """
        view = self._open_view()
        with translated_errors("be searched"):
            return self._compiler(query, view).worth()

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        searcher, removed, *_ = self._open_view()
        with translated_errors("be read"):
            listed = searcher.terms_with_prefix(CHUNK_ID, "")
            if len(listed) != searcher.num_docs:  # some stand for deleted records only
                listed = searcher.terms_with_prefix(CHUNK_ID, "", Query.all_query())
        return {chunk_id for chunk_id, _ in listed}.difference(removed)

    def count(self) -> int:
        """How many records there are."""
        searcher, removed, *_ = self._open_view()
        return searcher.num_docs - len(removed)

    # Writing -----------------------------------------------------------------------------------

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        """Add or replace records; of equal ids the last counts. A call takes some 40 ms more."""
        latest = {record.chunk_id: record for record in records}
        if not latest:
            return
        with translated_errors("be written"):
            documents = [make_document(record, self._languages) for record in latest.values()]
            with self._writing() as writer:
                for chunk_id, document in zip(latest, documents, strict=True):
                    writer.delete_documents_by_term(CHUNK_ID, chunk_id)
                    writer.add_document(document)
                self._commit(writer)

    def add(self, records: Sequence[LexicalRecord]) -> None:
        """Add records that are not held yet; `keep` makes them visible."""
        with translated_errors("be written"):
            documents = [make_document(record, self._languages) for record in records]
            with self._writing() as writer:
                for document in documents:
                    writer.add_document(document)
                self._has_unkept = self._has_unkept or bool(documents)

    def keep(self) -> None:
        """Make what was added durable and visible to searches; also removals, if there are many."""
        if self._has_much_to_keep:  # else no writer is needed, and none is created
            with translated_errors("be written"), self._writing() as writer:
                if self._has_much_to_keep:
                    self._commit(writer)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; unknown ids are no error. On the disk with the next commit."""
        with translated_errors("be written"), self._writing() as writer:
            if self._has_unkept:
                self._commit(writer)  # only what is found can be removed
            view = self._open_view()
            searcher, removed = view.searcher, view.removed
            present = self._present(searcher, set(chunk_ids).difference(removed))
            for chunk_id in present:
                writer.delete_documents_by_term(CHUNK_ID, chunk_id)
            self._view = view._replace(removed=removed.union(present))
            if len(removed) + len(present) >= MOST_PENDING_REMOVALS:
                self._commit(writer)

    def close(self) -> None:
        """Put what is pending on the disk, wait for merges, release the files."""
        with translated_errors("be closed"), self._write_lock:
            view, self._view = self._view, None
            writer, self._writer = self._writer, None
            if view is not None and writer is not None:
                if view.removed or self._has_unkept:
                    writer.commit()
                writer.wait_merging_threads()

    # Inside ------------------------------------------------------------------------------------

    def _open_view(self) -> "_View":
        view = self._view
        if view is None:
            raise LexicalIndexError("The lexical index is closed.")
        return view

    @property
    def _has_much_to_keep(self) -> bool:
        return self._has_unkept or len(self._open_view().removed) >= MANY_PENDING_REMOVALS

    @contextmanager
    def _writing(self) -> Iterator[tantivy.IndexWriter]:
        """Exclusive use of the writer. After a failure, what was not committed is dropped."""
        with self._write_lock:
            removed = self._open_view().removed
            if self._writer is None:
                self._writer = self._index.writer(WRITER_HEAP_BYTES, 1)
                for chunk_id in removed:
                    self._writer.delete_documents_by_term(CHUNK_ID, chunk_id)
            try:
                yield self._writer
            except BaseException:
                failed, self._writer = self._writer, None
                self._has_unkept = False
                with suppress(ValueError, OSError, RuntimeError):
                    failed.wait_merging_threads()  # releases its lock, and commits nothing
                raise

    def _commit(self, writer: tantivy.IndexWriter) -> None:
        reached(FaultPoint.WORDS_WRITTEN)
        writer.commit()
        self._has_unkept = False
        reached(FaultPoint.WORDS_COMMITTED)
        self._look_again()

    def _look_again(self) -> None:
        self._index.reload()
        self._files.remember()
        searcher = self._index.searcher()
        self._view = _View(
            searcher,
            frozenset(),
            self._languages_in(searcher),
            Spelling(searcher, self._languages),
            DocumentsOfTests(self._schema, searcher),
            term_counts(searcher),
        )

    def _compiler(
        self,
        query: str,
        view: "_View",
        scope: SearchScope = EVERYWHERE,
        *,
        edges_open: bool = True,
    ) -> QueryCompiler:
        queries = self._languages.queries(query, view.languages)
        return QueryCompiler(
            self._schema,
            view.searcher,
            view.counts,
            self._weights,
            queries,
            view.spelling,
            scope=scope,
            edges_open=edges_open,
        )

    def _languages_in(self, searcher: tantivy.Searcher) -> frozenset[str]:
        """The languages, besides the default one, of the records that are not deleted."""
        start = language_term()
        names = [term[len(start) :] for term, _ in searcher.terms_with_prefix(SPLITS, start)]
        found = set()
        for name in names:
            if searcher.search(self._spoken(name), 1, count=False).hits:
                found.add(name)
        return frozenset(found)

    def _spoken(self, language: str) -> Query:
        """All records of a language that is not the default one."""
        return Query.term_query(self._schema, SPLITS, language_term(language), "basic")

    def _with_ids(self, chunk_ids: Sequence[str]) -> Query:
        if len(chunk_ids) > SOUGHT_ONE_BY_ONE:
            return Query.term_set_query(self._schema, CHUNK_ID, list(chunk_ids))
        ids = (Query.term_query(self._schema, CHUNK_ID, each, "basic") for each in chunk_ids)
        return Query.boolean_query([(Occur.Should, each) for each in ids])

    def _shares(
        self, searcher: tantivy.Searcher, compiler: QueryCompiler, scores: Mapping[str, float]
    ) -> dict[str, float]:
        """The share of the query that the best hits say as it was typed; the best come first.

        All hits that tie with the last of them are looked at, so that ties never change an answer.
        """
        last = list(scores.values())[READ_AGAIN - 1] if len(scores) > READ_AGAIN else 0.0
        best = [chunk_id for chunk_id, score in scores.items() if score >= last]
        said = compiler.as_typed() if best else None
        if said is None:
            return {}
        among = Query.const_score_query(self._with_ids(best), 0.0)
        both = Query.boolean_query([(Occur.Must, among), (Occur.Must, said)])
        found = searcher.search(both, len(best), count=False).hits
        chunk_ids = chunk_ids_at(searcher, [address for _, address in found])
        return dict(zip(chunk_ids, (share for share, _ in found), strict=True))

    @staticmethod
    def _found(searcher: tantivy.Searcher, query: Query, limit: int) -> list[str]:
        """The ids of the records that a query finds."""
        hits = searcher.search(query, max(1, limit), count=False).hits
        return chunk_ids_at(searcher, [address for _, address in hits])

    def _present(self, searcher: tantivy.Searcher, chunk_ids: Set[str]) -> set[str]:
        """Which of the ids the searcher finds."""
        if not chunk_ids:
            return set()
        return set(self._found(searcher, self._with_ids(list(chunk_ids)), len(chunk_ids)))


class _View(NamedTuple):
    """What readers see: a committed state, less what has been removed since."""

    searcher: tantivy.Searcher
    removed: frozenset[str]
    languages: frozenset[str]
    """Those of the records, besides the default one."""
    spelling: Spelling
    tests: DocumentsOfTests
    counts: TermCounts
