"""The one writer: makes documents searchable, and keeps both indexes equal to SQL.

A new version of documents becomes visible in four steps:

1. the ids of its new chunks are committed to the outbox;
2. the chunks go into both indexes, where no search shows them, since SQL has no such rows;
3. one transaction swaps the rows, and replaces the ids in the outbox by those of the old chunks;
4. the old chunks leave the indexes, and the outbox row is deleted. Where no old chunk went, step 3
   has already deleted it.

An outbox row names chunks for which an index and SQL may differ. Settling a row means putting into
the indexes what SQL holds of these chunks, and taking out the rest. It may be done at any time and
in any order, so whatever a crash leaves is mended by settling the rows that are still there.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from app.clock import now
from app.content_versions import ContentVersions
from app.database import Database
from app.errors import AppError, ItemStoppedError
from app.fault_points import FaultPoint, reached
from app.indexing import lexical_queries, outbox_queries, queries, vector_queries
from app.indexing.documents import KnownDocument, PreparedDocument
from app.indexing.generation import Generation
from app.indexing.index_records import lexical_record, vector_record
from app.indexing.results import Changes
from app.indexing.writer_thread import WriterThread
from app.knowledge.existing_items import item_exists
from app.protocols import LexicalIndex, LexicalRecord, VectorIndex, VectorRecord
from app.slices import slices
from app.surviving import survive

logger = logging.getLogger(__name__)

UPSERTED_AT_ONCE = 200
"""Records written to the vector index between two checks whether the service is stopping."""

SETTLED_AT_START = 4
"""Outbox rows that are settled before the start goes on. A row of about a thousand chunks takes
half a second; with Chroma open, 0.1 s more for vectors that it holds, or 1 s for those that it
lacks. A process that dies leaves one or two rows; a change of a collection's language may leave
hundreds."""

RETRY_SECONDS = 5.0
"""Pause before the outbox is tried again after a failure."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class KeptIndexes:
    """Both indexes of a generation."""

    vectors: VectorIndex
    words: LexicalIndex
    generation: Generation


class Publisher:
    """Owns the writer thread; everything that changes an index goes through it."""

    def __init__(
        self,
        database: Database,
        vector_index: VectorIndex,
        lexical_index: LexicalIndex,
        generation: Generation,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """`generation` is the one whose chunks the indexes hold, or are to hold."""
        self._retry_seconds = retry_seconds
        self._database = database
        self._indexes = KeptIndexes(vector_index, lexical_index, generation)
        self._next_indexes: KeptIndexes | None = None
        self.versions = ContentVersions()
        """Tells searches whether documents changed while they ran."""
        self._settling = threading.Event()
        self._writer = WriterThread("publisher")

    @property
    def generation(self) -> Generation:
        """The generation whose indexes follow SQL. It changes only on the writer thread."""
        return self._indexes.generation

    def start(self) -> None:
        """Settle what the last process left, then take work; many rows are settled alongside it."""
        if all(self._settle_oldest() for _ in range(SETTLED_AT_START)):
            self.settle_soon()
        reached(FaultPoint.OUTBOX_SETTLED)
        self._writer.start()

    def stop(self) -> None:
        """Take no more documents, and end the publication that runs between two batches.

        `close`, or else the next start, takes out of the indexes what was written of it.
        """
        self._writer.stop()

    def close(self) -> None:
        """Finish what was handed in, then stop."""
        self._writer.close()

    def publish(
        self,
        item_id: int,
        documents: Sequence[PreparedDocument],
        created_at: datetime | None = None,
        *,
        anew: bool = False,
    ) -> "Future[Changes]":
        """Store new versions of documents whose embeddings are stored already.

        `created_at` is the item's: a newer item that was given the same id gets none of them.
        `anew`: chunks that are already there are written again, since they may be damaged.
        """
        return self._writer.submit(lambda: self._publish(item_id, documents, created_at, anew=anew))

    def withdraw(self, documents: Sequence[KnownDocument]) -> "Future[int]":
        """Remove documents that their source lacks; gives how many searchable chunks went."""
        return self._writer.submit(lambda: self._withdraw(documents))

    def settle_soon(self) -> None:
        """Settle the rows of the outbox when the writer has time."""
        if not self._settling.is_set():
            self._settling.set()
            self._writer.add(self._settle_when_idle)

    def settled(self) -> "Future[None]":
        """Done once everything handed in before is done and the outbox is empty."""
        return self._writer.submit(self.settle_outbox)

    def keep_also(self, following: KeptIndexes | None) -> None:
        """Settle the outbox into these indexes, too, which are to answer next; None: no longer.

        Only for the writer thread. `publish` still writes only to the indexes that answer now.
        """
        self._next_indexes = following

    def switch_to(self, indexes: KeptIndexes) -> None:
        """Keep only these indexes from now on. Only for the writer thread.

        No documents may be in the middle of being published.
        """
        self._indexes, self._next_indexes = indexes, None

    def between_changes(self, work: Callable[[], Result]) -> "Future[Result]":
        """Run `work` on the writer thread, between two changes.

        While it runs, SQL and the indexes differ only in the chunks that the outbox names.
        """
        return self._writer.submit(work)

    # On the writer thread ------------------------------------------------------------------

    def _settle_when_idle(self) -> None:
        """Settle one row, and let other work go before the next: there may be many rows."""
        self._settling.clear()
        try:
            was_open = survive(
                self._settle_oldest,
                f"The outbox is tried again in {self._retry_seconds} s after an unexpected error",
                (AppError,),
            )
        except AppError as error:
            logger.warning(
                "The outbox is tried again in %s s: %s", self._retry_seconds, error.detail
            )
            was_open = None
        if was_open is None:
            retry = threading.Timer(self._retry_seconds, self.settle_soon)
            retry.daemon = True
            retry.start()
        elif was_open:
            self.settle_soon()

    def _publish(
        self,
        item_id: int,
        documents: Sequence[PreparedDocument],
        created_at: datetime | None,
        *,
        anew: bool,
    ) -> Changes:
        chunks = {chunk.id: chunk for document in documents for chunk in document.chunks}
        moment = now()
        with self._database.write() as session:
            item = _item_as_it_stands(session, item_id, created_at, moment)
            present = queries.present_chunks(session, list(chunks))
            fresh = [chunk_id for chunk_id in chunks if chunk_id not in present]
            change_id = outbox_queries.add_index_change(session, fresh)
        reached(FaultPoint.INTENT_COMMITTED)
        try:
            records, words = self._fresh_records(item_id, item, documents, set(fresh))
            for some in slices(records, UPSERTED_AT_ONCE):
                self._writer.require_open()
                self._indexes.vectors.upsert(some)
            reached(FaultPoint.VECTORS_UPSERTED)
            if words:
                self._indexes.words.upsert(words)
            reached(FaultPoint.WORDS_UPSERTED)
            with self.versions.changing(), self._database.write() as session:
                item_now = _item_as_it_stands(session, item_id, created_at, moment)
                changes, touched = self._swap(session, item_id, documents, anew=anew)
                if item_now != item:
                    # The change could not reach the new chunks: SQL did not hold them yet.
                    touched += fresh
                outbox_queries.update_index_change(session, change_id, touched)
            reached(FaultPoint.ROWS_SWAPPED)
        except BaseException:
            self.settle_soon()  # takes the new chunks out of the indexes again
            raise
        if touched:
            self._settle_or_later(change_id, touched)
        return changes

    def _swap(
        self, session: Session, item_id: int, documents: Sequence[PreparedDocument], *, anew: bool
    ) -> tuple[Changes, list[str]]:
        changes, touched = Changes(), []
        for document in documents:
            stored, differing = queries.store_document(
                session, item_id, document, self._indexes.generation.id, anew=anew
            )
            changes += stored
            touched += differing
        return changes, touched

    def _fresh_records(
        self,
        item_id: int,
        item: "_IndexedItem",
        documents: Sequence[PreparedDocument],
        fresh: set[str],
    ) -> tuple[list[VectorRecord], list[LexicalRecord]]:
        """Index records of the chunks that SQL does not hold yet, though it holds their vectors."""
        wanted = [
            (document, chunk)
            for document in documents
            for chunk in document.chunks
            if chunk.id in fresh
        ]
        with self._database.read() as session:
            hashes = list({chunk.text_hash for _, chunk in wanted})
            vectors = vector_queries.read_embeddings(
                session, hashes, self._indexes.generation.fingerprint
            )
        records = [
            vector_record(item_id, item.metadata, document, chunk, vectors[chunk.text_hash])
            for document, chunk in wanted
        ]
        words = [lexical_record(item_id, item.metadata, item.language, *pair) for pair in wanted]
        return records, words

    def _withdraw(self, documents: Sequence[KnownDocument]) -> int:
        row_ids = [document.id for document in documents]
        with self._database.write() as session:
            searchable = queries.count_searchable_chunks(session, row_ids)
            chunk_ids = queries.delete_documents(session, row_ids)
            change_id = outbox_queries.add_index_change(session, chunk_ids)
        reached(FaultPoint.DOCUMENTS_WITHDRAWN)
        self._settle_or_later(change_id, chunk_ids)
        return searchable

    # The outbox ----------------------------------------------------------------------------

    def settle_outbox(self) -> None:
        """Settle every open row. Only for the writer thread, or before it runs."""
        while self._settle_oldest():
            pass

    def _settle_oldest(self) -> bool:
        """Settle the oldest open row; returns whether there was one."""
        with self._database.read() as session:
            change = outbox_queries.oldest_index_change(session)
        if change is None:
            return False
        change_id, chunk_ids = change
        if chunk_ids is None:
            self._give_up(change_id)
        else:
            self._settle(change_id, chunk_ids)
        return True

    def _give_up(self, change_id: int) -> None:
        """Drop a damaged row: it would stay the oldest, and no row behind it would be settled."""
        logger.error(
            "Row %d of the outbox is damaged and is dropped; what the indexes lack for that is "
            "found by the care in the background, or by `groundwork verify --repair`.",
            change_id,
        )
        with self._database.write() as session:
            outbox_queries.close_index_change(session, change_id)

    def _settle_or_later(self, change_id: int, chunk_ids: Sequence[str]) -> None:
        """Settle a row; on failure it stays in the outbox, and is tried again later."""
        try:
            self._settle(change_id, chunk_ids)
        except BaseException:
            self.settle_soon()
            raise

    def _settle(self, change_id: int, chunk_ids: Sequence[str]) -> None:
        self.equalise(chunk_ids)
        reached(FaultPoint.INDEXES_EQUALISED)
        with self._database.write() as session:
            outbox_queries.close_index_change(session, change_id)
        reached(FaultPoint.OUTBOX_CLOSED)

    def equalise(self, chunk_ids: Sequence[str]) -> None:
        """Make the indexes equal to SQL for these chunks. Only for the writer thread."""
        for indexes in (self._indexes, self._next_indexes):
            if indexes is not None:
                self._equalise(indexes, chunk_ids)

    def _equalise(self, indexes: KeptIndexes, chunk_ids: Sequence[str]) -> None:
        generation = indexes.generation
        with self._database.read() as session:
            records = vector_queries.records_of(session, chunk_ids, generation)
            words = lexical_queries.lexical_records_of(session, chunk_ids, generation.id)
        held = {record.chunk_id for record in words}
        gone = [chunk_id for chunk_id in chunk_ids if chunk_id not in held]
        indexes.vectors.upsert(records)
        indexes.vectors.remove(gone)
        reached(FaultPoint.VECTORS_EQUALISED)
        if words:
            indexes.words.upsert(words)
        indexes.words.remove(gone)


@dataclass(frozen=True)
class _IndexedItem:
    """What all index records of an item share."""

    metadata: Mapping[str, Any]
    language: str | None


def _item_as_it_stands(
    session: Session, item_id: int, created_at: datetime | None, moment: datetime
) -> _IndexedItem:
    if not item_exists(session, item_id, created_at):
        raise ItemStoppedError("Indexing was stopped: the item was deleted meanwhile.")
    metadata = vector_queries.item_metadata(session, item_id, moment)
    return _IndexedItem(metadata, lexical_queries.language_of_item(session, item_id))
