"""Counts, checks and rebuilds: keeps both indexes true copies of SQL."""

import random
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from app.database import Database
from app.errors import LexicalIndexError, StartupError
from app.indexing import maintenance_queries, queries, vector_queries
from app.indexing.documents import sha256_hex
from app.indexing.embedded_text import embedded_text
from app.indexing.publisher import Publisher
from app.models import ChunkRow, DocumentRow, EmbeddingRow, ItemRow
from app.protocols import Embedder, LexicalIndex, VectorIndex

SAMPLED_VECTORS = 200
"""Vectors that are compared and must find themselves."""

SELF_SCORE = 0.999
"""Least cosine of a vector with itself as an index reports it."""

MOST_PROBLEMS = 100
"""Problems that a report spells out; the rest is counted."""

EMBEDDED_AT_ONCE = 256


class Rebuildable(Protocol):
    """An index that can be filled anew from SQL."""

    def rebuild(self) -> int:
        """Fill it anew, while searches go on; returns how many records it took."""
        ...


class RebuildableVectorIndex(VectorIndex, Rebuildable, Protocol):
    """A vector index that can be filled anew from SQL."""


class RebuildableLexicalIndex(LexicalIndex, Rebuildable, Protocol):
    """A lexical index that can be filled anew from SQL."""


@dataclass(frozen=True)
class CollectionStats:
    """Counts of what is stored and searchable."""

    total_chunks: int
    unique_knowledge_items: int
    collection_name: str
    embedding_model: str
    dimension: int
    total_items: int
    total_documents: int
    total_embeddings: int
    vector_index: str
    vector_index_records: int
    lexical_index_records: int
    pending_index_changes: int


@dataclass(frozen=True)
class VerifyReport:
    """What a comparison of SQL with itself and with the indexes found."""

    documents: int
    chunks: int
    index_records: int
    sampled_vectors: int
    problem_count: int
    problems: tuple[str, ...]
    """The first problems, a sentence each."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return self.problem_count == 0


class IndexMaintenance:
    """Looks after what indexing has stored."""

    def __init__(
        self,
        *,
        database: Database,
        vector_index: RebuildableVectorIndex,
        lexical_index: RebuildableLexicalIndex,
        embedder: Embedder,
        publisher: Publisher,
        collection_name: str,
        index_name: str,
    ) -> None:
        self._database = database
        self._index = vector_index
        self._lexical_index = lexical_index
        self._embedder = embedder
        self._publisher = publisher
        self._collection_name = collection_name
        self._index_name = index_name

    def require_same_model(self) -> None:
        """Raise StartupError when what is stored was embedded by another model."""
        with self._database.read() as session:
            recorded = queries.collections(session)
        for collection in recorded:
            if collection.embedding_fingerprint != self._embedder.fingerprint:
                raise StartupError(
                    f"The collection {collection.name!r} holds vectors of the model "
                    f"{collection.embedding_model!r}, which cannot be mixed with those of "
                    f"{self._embedder.model_name!r}. Set EMBEDDING_MODEL back, or run "
                    "`groundwork rebuild --embed` to embed everything again."
                )

    def is_empty(self) -> bool:
        """Whether SQL holds no chunk at all."""
        with self._database.read() as session:
            return not maintenance_queries.chunks_exist(session)

    def stats(self) -> CollectionStats:
        """Counts from one snapshot of SQL, and from the vector index."""
        with self._database.read() as session:
            return CollectionStats(
                total_chunks=maintenance_queries.count(session, ChunkRow),
                unique_knowledge_items=maintenance_queries.count_indexed_items(session),
                collection_name=self._collection_name,
                embedding_model=self._embedder.model_name,
                dimension=self._embedder.dimension,
                total_items=maintenance_queries.count(session, ItemRow),
                total_documents=maintenance_queries.count(session, DocumentRow),
                total_embeddings=maintenance_queries.count(session, EmbeddingRow),
                vector_index=self._index_name,
                vector_index_records=self._index.count(),
                lexical_index_records=self._count_lexical_records(),
                pending_index_changes=maintenance_queries.count_open_changes(session),
            )

    def _count_lexical_records(self) -> int:
        try:
            return self._lexical_index.count()
        except LexicalIndexError:  # health and verify say why
            return 0

    def verify(self) -> VerifyReport:
        """Compare everything; meant for a service at rest, since it reads SQL and index in turn."""
        self._publisher.settled().result()
        problems = [
            *self._check_documents(),
            *self._check_vector_index(),
            *self._check_lexical_index(),
        ]
        stats = self.stats()
        return VerifyReport(
            documents=stats.total_documents,
            chunks=stats.total_chunks,
            index_records=stats.vector_index_records,
            sampled_vectors=min(SAMPLED_VECTORS, stats.total_chunks),
            problem_count=len(problems),
            problems=tuple(problems[:MOST_PROBLEMS]),
        )

    def rebuild(self, *, embed: bool = False) -> None:
        """Fill both indexes anew from SQL, without embedding anything.

        With `embed`, texts that have no vector under the current model are embedded first, and
        the collections then belong to that model.
        """
        if embed:
            self._embed_missing()
        self._lexical_index.rebuild()
        self._index.rebuild()
        self._publisher.settled().result()

    # Checks --------------------------------------------------------------------------------

    def _check_documents(self) -> Iterator[str]:
        with self._database.read() as session:
            for item_id in maintenance_queries.active_items_without_chunks(session):
                yield f"item {item_id} is active but has no chunks"
            fingerprint = self._embedder.fingerprint
            for chunk_id, *_ in maintenance_queries.chunks_without_embedding(session, fingerprint):
                yield f"chunk {chunk_id} has no vector under the current model"
            for row in maintenance_queries.documents_with_text(session):
                name = f"document {row.key!r} of item {row.item_id}"
                if sha256_hex(row.content) != row.content_hash:
                    yield f"{name} does not have the text of its hash"
                spans = maintenance_queries.chunk_spans(session, row.id)
                yield from (f"{name}: {fault}" for fault in _span_faults(row.content, spans))

    def _check_vector_index(self) -> Iterator[str]:
        present = self._index.chunk_ids()
        expected = yield from self._check_ids("vector", present)
        yield from self._check_vectors(sorted(expected & present))

    def _check_lexical_index(self) -> Iterator[str]:
        try:
            present = self._lexical_index.chunk_ids()
        except LexicalIndexError as error:
            yield error.detail
        else:
            yield from self._check_ids("lexical", present)

    def _check_ids(self, index: str, present: set[str]) -> Generator[str, None, set[str]]:
        """Yields the differences to SQL; gives the ids that SQL holds."""
        with self._database.read() as session:
            expected = maintenance_queries.chunk_ids(session)
        for chunk_id in sorted(expected - present):
            yield f"chunk {chunk_id} is not in the {index} index"
        for chunk_id in sorted(present - expected):
            yield f"the {index} index holds chunk {chunk_id}, which SQL does not"
        return expected

    def _check_vectors(self, chunk_ids: Sequence[str]) -> Iterator[str]:
        sample = random.sample(chunk_ids, min(SAMPLED_VECTORS, len(chunk_ids)))
        with self._database.read() as session:
            records = vector_queries.records_of(session, sample, self._embedder.fingerprint)
        held = self._index.vectors(sample)
        for record in records:
            vector = held.get(record.chunk_id)
            if vector is None or not np.allclose(vector, record.vector, atol=1e-4):
                yield f"chunk {record.chunk_id} has another vector in the vector index"
            hits = self._index.search(record.vector, 1)
            if not hits or hits[0].score < SELF_SCORE:
                yield f"chunk {record.chunk_id} does not find itself in the vector index"

    # A new model ---------------------------------------------------------------------------

    def _embed_missing(self) -> None:
        fingerprint = self._embedder.fingerprint
        with self._database.read() as session:
            rows = maintenance_queries.chunks_without_embedding(session, fingerprint)
        texts = {
            text_hash: embedded_text(context, content) for _, text_hash, context, content in rows
        }
        for hashes in queries.slices(list(texts), EMBEDDED_AT_ONCE):
            vectors = self._embedder.embed_documents([texts[text_hash] for text_hash in hashes])
            with self._database.write() as session:
                vector_queries.add_embeddings(
                    session, fingerprint, zip(hashes, vectors, strict=True)
                )
        with self._database.write() as session:
            for collection in queries.collections(session):
                collection.embedding_model = self._embedder.model_name
                collection.embedding_fingerprint = fingerprint
                collection.dimension = self._embedder.dimension


def _span_faults(text: str, spans: Sequence[tuple[str, int, int, str]]) -> Iterator[str]:
    """What is wrong with the chunks of a document: each must be its stretch, all must cover it."""
    covered = 0
    for chunk_id, start, end, content in spans:
        if text[start:end] != content:
            yield f"chunk {chunk_id} is not the text at {start}:{end}"
        if start > covered:
            yield f"characters {covered}:{start} are in no chunk"
        covered = max(covered, end)
    if covered < len(text) and text.strip():
        yield f"characters {covered}:{len(text)} are in no chunk"
