"""Mends what contradicts itself in SQL, as far as SQL itself knows what is right."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.database import Database
from app.errors import EmbeddingError
from app.indexing import maintenance_queries, queries, repair_queries
from app.indexing.database_check import Fault, FaultKind, vector_faults
from app.indexing.documents import PreparedDocument, document_number
from app.indexing.embedding import embed_unknown
from app.indexing.generation import Generation, splitting_rules
from app.indexing.publisher import Publisher
from app.indexing.stored_documents import cut_again, loaded_document
from app.indexing.vector_repair import VectorRepair
from app.protocols import Embedder, SourceEntry, TextSplitter

ANOTHER_MODEL = (
    "left as it is: only the model that embedded the rest can embed it, and another one is open. "
    "Set EMBEDDING_MODEL back, or embed everything by `groundwork rebuild --embed`"
)
STILL_DAMAGED = "left as it is: it was embedded again, and what is stored is no vector still"


@dataclass(frozen=True)
class Repair:
    """What became of a fault."""

    fault: Fault
    mended: bool
    remark: str
    """What was done, or what there is to do."""


class DatabaseRepair:
    """For a service that nobody else works with: the command has the data directory to itself."""

    def __init__(
        self,
        *,
        database: Database,
        publisher: Publisher,
        embedder: Embedder,
        splitter: TextSplitter,
        generation: Generation,
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._embedder = embedder
        self._splitter = splitter
        self._generation = generation
        self._vectors = VectorRepair(database=database, embedder=embedder, generation=generation)
        # Each mends rows of one kind, by their ids: of numbers or of texts.
        self._mend_rows: dict[FaultKind, tuple[Callable[[Session, list[Any]], None], str]] = {
            FaultKind.CHUNK_WITHOUT_DOCUMENT: (repair_queries.delete_chunks, "deleted"),
            FaultKind.DOCUMENT_WITHOUT_ITEM: (repair_queries.delete_documents, "deleted"),
            FaultKind.TAGS_WITHOUT_ITEM: (repair_queries.delete_tags, "deleted"),
            FaultKind.NOTES_WITHOUT_DOCUMENT: (repair_queries.delete_document_notes, "deleted"),
            FaultKind.CHUNK_OF_ANOTHER_ITEM: (
                repair_queries.give_chunks_to_their_item,
                "given to the item of its document",
            ),
            FaultKind.OTHER_NUMBER: (self._renumber, "given its own"),
            FaultKind.DAMAGED_TAGS: (
                repair_queries.restore_tags,
                "given those that filters know it by",
            ),
        }

    def mend(self, faults: Iterable[Fault]) -> list[Repair]:
        """Mend what can be mended, kind by kind; every fault is accounted for."""
        by_kind: dict[FaultKind, list[Fault]] = defaultdict(list)
        for fault in faults:
            by_kind[fault.kind].append(fault)
        repairs: list[Repair] = []
        # In the order of the kinds: rows that are deleted need no vector any more, and an item
        # may have chunks again in the end.
        for kind in FaultKind:
            repairs += self._mend_kind(kind, by_kind[kind])
        self._publisher.settled().result()
        return repairs

    def embed_missing(self) -> None:
        """Embed every text that has no sound vector under the model; raises EmbeddingError."""
        with self._database.read() as session:
            lacking = [str(fault.row) for fault in vector_faults(session, self._generation)]
        self._vectors.embed(lacking)

    # Inside ------------------------------------------------------------------------------------

    def _mend_kind(self, kind: FaultKind, faults: Sequence[Fault]) -> list[Repair]:
        if not faults:
            return []
        if kind in (FaultKind.CHUNK_WITHOUT_VECTOR, FaultKind.DAMAGED_VECTOR):
            return self._mend_vectors(faults)
        if kind is FaultKind.OTHER_TEXT:
            return [self._have_read_again(fault) for fault in faults]
        if kind is FaultKind.BAD_CHUNKS:
            return self._split_again(faults)
        if kind is FaultKind.ITEM_WITHOUT_CHUNKS:
            return self._make_pending(faults)
        mend, remark = self._mend_rows[kind]
        with self._database.write() as session:
            mend(session, [fault.row for fault in faults])
        return [Repair(fault, mended=True, remark=remark) for fault in faults]

    def _mend_vectors(self, faults: Sequence[Fault]) -> list[Repair]:
        if not self._vectors.has_the_model:
            return [Repair(fault, mended=False, remark=ANOTHER_MODEL) for fault in faults]
        failure, chunk_ids = STILL_DAMAGED, [str(fault.row) for fault in faults]
        try:
            self._vectors.embed(chunk_ids)
        except EmbeddingError as error:
            failure = error.detail
        # What was embedded before a failure is mended; what was stored is looked at once more.
        sound = self._vectors.are_sound(chunk_ids)
        return [
            Repair(fault, mended=True, remark="embedded again")
            if sound.get(str(fault.row), True)
            else Repair(fault, mended=False, remark=failure)
            for fault in faults
        ]

    def _have_read_again(self, fault: Fault) -> Repair:
        """The source alone knows what the text should be."""
        with self._database.write() as session:
            repair_queries.have_read_again(session, int(fault.row))
        return Repair(fault, mended=False, remark="index its item again to read it anew")

    def _split_again(self, faults: Sequence[Fault]) -> list[Repair]:
        """Make the chunks of documents anew from the text that is stored."""
        failures: dict[int | str, str] = {}
        for document_id in {fault.row for fault in faults}:
            try:
                self._split_document(int(document_id))
            except EmbeddingError as error:
                failures[document_id] = error.detail
        return [
            Repair(
                fault,
                mended=fault.row not in failures,
                remark=failures.get(fault.row, "its chunks were made anew from its text"),
            )
            for fault in faults
        ]

    def _split_document(self, document_id: int) -> None:
        with self._database.read() as session:
            row = queries.document(session, document_id)
        if row is None:
            return
        chunks = cut_again(row, self._splitter, self._embedder.token_meter, self._generation)
        texts = {chunk.text_hash: chunk.embedded_text for chunk in chunks}
        embed_unknown(self._database, self._embedder, texts)
        entry = SourceEntry(row.key, row.uri, row.stamp, row.modified_at)
        rules = splitting_rules(self._splitter)
        document = PreparedDocument(entry, loaded_document(row), rules, chunks)
        self._publisher.publish(row.item_id, [document], anew=True).result()

    def _make_pending(self, faults: Sequence[Fault]) -> list[Repair]:
        """Let items say that they have to be indexed, if nothing has given them chunks again."""
        with self._database.write() as session:
            empty = set(maintenance_queries.active_items_without_chunks(session))
            repair_queries.make_pending(session, [int(f.row) for f in faults if f.row in empty])
        pending, whole = "made pending: index it again", "it has chunks again"
        return [
            Repair(fault, mended=True, remark=pending if fault.row in empty else whole)
            for fault in faults
        ]

    @staticmethod
    def _renumber(session: Session, document_ids: list[int]) -> None:
        for document_id in document_ids:
            row = queries.document(session, document_id)
            if row is not None:
                number = document_number(row.item_id, row.key)
                repair_queries.renumber_document(session, row.id, number)
