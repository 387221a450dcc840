"""Makes the chunks of a generation from the text that is stored, a few documents at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.database import Database
from app.fault_points import FaultPoint, reached
from app.generations import queries
from app.indexing import vector_queries
from app.indexing.documents import PreparedChunk
from app.indexing.generation import Generation
from app.indexing.queries import slices
from app.indexing.stored_documents import cut_again
from app.models import DocumentRow
from app.protocols import Embedder, TextSplitter

DOCUMENTS_LISTED = 500
"""Missing documents that one look at SQL names."""

GROUP_CHUNKS = 192
"""Chunks that are embedded together, at most one document more: enough for batches of equal
length, few enough that a stop is heeded soon."""


@dataclass(frozen=True)
class _Cut:
    """A document as it was read, and its chunks."""

    row: DocumentRow
    chunks: tuple[PreparedChunk, ...]


class GenerationFiller:
    """Fills one generation. What it has stored stays, whatever happens: it goes on from there."""

    def __init__(
        self,
        *,
        database: Database,
        generation: Generation,
        splitter: TextSplitter,
        embedder: Embedder,
        check: Callable[[], None],
        on_stored: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        """`check` raises when the work is to stop; asked before each document and each batch.

        `on_stored` is given the ids of chunks that were stored.
        """
        self._database = database
        self._generation = generation
        self._splitter = splitter
        self._embedder = embedder
        self._check = check
        self._on_stored = on_stored
        self.embedded = 0
        """Texts that no generation had embedded before."""

    def fill(self) -> None:
        """Go on until no document is missing; raises EmbeddingError, StorageError."""
        while True:
            with self._database.read() as session:
                missing = queries.missing_documents(session, self._generation.id, DOCUMENTS_LISTED)
            if not missing:
                return
            group: list[_Cut] = []
            for document_id in missing:
                self._check()
                cut = self._cut(document_id)
                if cut is not None:
                    group.append(cut)
                if sum(len(one.chunks) for one in group) >= GROUP_CHUNKS:
                    self._store(group)
                    group = []
            self._store(group)

    # Inside ------------------------------------------------------------------------------------

    def _cut(self, document_id: int) -> _Cut | None:
        with self._database.read() as session:
            row = queries.document(session, document_id)
        if row is None:
            return None
        return _Cut(
            row, cut_again(row, self._splitter, self._embedder.token_meter, self._generation)
        )

    def _store(self, group: Sequence[_Cut]) -> None:
        self._embed({c.text_hash: c.embedded_text for one in group for c in one.chunks})
        stored: list[str] = []
        with self._database.write() as session:
            for one in group:
                # One that changed or went meanwhile is missing still, or not any more.
                if queries.add_document(session, self._generation, one.row, one.chunks):
                    stored += [chunk.id for chunk in one.chunks]
        reached(FaultPoint.GENERATION_DOCUMENTS_STORED)
        self._on_stored(stored)

    def _embed(self, texts: dict[str, str]) -> None:
        """Store a vector for every text (by its hash) that has none yet."""
        fingerprint = self._generation.fingerprint
        with self._database.read() as session:
            missing = vector_queries.missing_embeddings(session, list(texts), fingerprint)
        for hashes in slices(missing, GROUP_CHUNKS):
            self._check()
            vectors = self._embedder.embed_documents([texts[text_hash] for text_hash in hashes])
            with self._database.write() as session:
                vector_queries.add_embeddings(
                    session, fingerprint, zip(hashes, vectors, strict=True)
                )
            self.embedded += len(hashes)
