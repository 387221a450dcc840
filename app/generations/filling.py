"""Makes the chunks of a generation from the text that is stored, a few documents at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.database import Database
from app.fault_points import FaultPoint, reached
from app.generations import queries
from app.indexing import queries as indexing_queries
from app.indexing.documents import PreparedChunk
from app.indexing.embedding import GROUP_CHUNKS, TextsUnderWay, embed_unknown
from app.indexing.generation import Generation
from app.indexing.stored_documents import cut_again
from app.models import DocumentRow
from app.protocols import Embedder, TextSplitter

DOCUMENTS_LISTED = 500
"""How many missing documents one query names."""


@dataclass(frozen=True)
class _Cut:
    """A document as it was read, with its chunks."""

    row: DocumentRow
    chunks: tuple[PreparedChunk, ...]


class GenerationFiller:
    """Fills one generation. What it has stored stays, and it goes on from there."""

    def __init__(
        self,
        *,
        database: Database,
        generation: Generation,
        splitter: TextSplitter,
        embedder: Embedder,
        under_way: TextsUnderWay,
        check: Callable[[], None],
        on_stored: Callable[[Sequence[str]], None] = lambda _: None,
        on_embedded: Callable[[int, float], None] = lambda _texts, _seconds: None,
    ) -> None:
        """`check` raises when the work is to stop; asked before each document and each batch.

        `on_stored` is given the ids of chunks that were stored; for `on_embedded` see
        embed_unknown.
        """
        self._database = database
        self._generation = generation
        self._splitter = splitter
        self._embedder = embedder
        self._under_way = under_way
        self._check = check
        self._on_stored = on_stored
        self._on_embedded = on_embedded

    def fill(self) -> None:
        """Go once through the documents that are missing; raises EmbeddingError, StorageError.

        It ends even if documents are added and changed quickly: those are missing afterwards.
        """
        with self._database.read() as session:
            end = queries.last_document(session)
        last_id = 0
        while missing := self._missing_between(last_id, end):
            last_id = missing[-1]
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

    def _missing_between(self, last_id: int, end: int) -> list[int]:
        with self._database.read() as session:
            return queries.missing_documents(
                session, self._generation.id, DOCUMENTS_LISTED, after=last_id, up_to=end
            )

    def _cut(self, document_id: int) -> _Cut | None:
        with self._database.read() as session:
            row = indexing_queries.document(session, document_id)
        if row is None:
            return None
        return _Cut(
            row, cut_again(row, self._splitter, self._embedder.token_meter, self._generation)
        )

    def _store(self, group: Sequence[_Cut]) -> None:
        texts = {c.text_hash: c.embedded_text for one in group for c in one.chunks}
        embed_unknown(
            self._database,
            self._embedder,
            texts,
            under_way=self._under_way,
            check=self._check,
            on_embedded=self._on_embedded,
        )
        stored: list[str] = []
        with self._database.write() as session:
            for one in group:
                # One that has changed in the meantime is still missing; one that has gone is not.
                if queries.add_document(session, self._generation, one.row, one.chunks):
                    stored += [chunk.id for chunk in one.chunks]
        reached(FaultPoint.GENERATION_DOCUMENTS_STORED)
        self._on_stored(stored)
