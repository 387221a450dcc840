"""Checks that SQL does not contradict itself: every finding is one Fault."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from app.indexing import cell_queries, maintenance_queries, repair_queries
from app.indexing.documents import document_number, sha256_hex
from app.indexing.generation import Generation
from app.stored_vectors import vector_fault


class FaultKind(StrEnum):
    """What may be wrong with rows."""

    CHUNK_WITHOUT_DOCUMENT = "chunk_without_document"
    DOCUMENT_WITHOUT_ITEM = "document_without_item"
    TAGS_WITHOUT_ITEM = "tags_without_item"
    NOTES_WITHOUT_DOCUMENT = "notes_without_document"
    CHUNK_OF_ANOTHER_ITEM = "chunk_of_another_item"
    CHUNK_WITHOUT_VECTOR = "chunk_without_vector"
    DAMAGED_VECTOR = "damaged_vector"
    OTHER_TEXT = "other_text"
    OTHER_NUMBER = "other_number"
    DAMAGED_TAGS = "damaged_tags"
    BAD_CHUNKS = "bad_chunks"
    ITEM_WITHOUT_CHUNKS = "item_without_chunks"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with the rows of SQL."""

    kind: FaultKind
    row: int | str
    """Id of the item, document or chunk; a chunk's is a string."""
    sentence: str


def database_faults(session: Session, generation: Generation) -> Iterator[Fault]:
    """Everything that is wrong, from one snapshot; reads every text and every vector once."""
    yield from _orphans(session)
    for item_id in maintenance_queries.active_items_without_chunks(session):
        yield Fault(
            FaultKind.ITEM_WITHOUT_CHUNKS, item_id, f"item {item_id} is active but has no chunks"
        )
    yield from vector_faults(session, generation)
    yield from _damaged_names(session)
    for row in maintenance_queries.documents_with_text(session):
        name = f"document {row.key!r} of item {row.item_id}"
        if row.number != document_number(row.item_id, row.key):
            yield Fault(FaultKind.OTHER_NUMBER, row.id, f"{name} has the number of another")
        if sha256_hex(row.content) != row.content_hash:
            sentence = f"{name} does not have the text of its hash"
            yield Fault(FaultKind.OTHER_TEXT, row.id, sentence)
        for fault in span_faults(row.content, maintenance_queries.chunk_spans(session, row.id)):
            yield Fault(FaultKind.BAD_CHUNKS, row.id, f"{name}: {fault}")


def vector_faults(session: Session, generation: Generation) -> Iterator[Fault]:
    """Chunks of a generation that no search by meaning can find: their vector is not there."""
    for chunk_id, stored in maintenance_queries.vectors_of_all(session, generation):
        if stored is None:
            sentence = f"chunk {chunk_id} has no vector under the current model"
            yield Fault(FaultKind.CHUNK_WITHOUT_VECTOR, chunk_id, sentence)
        elif (wrong := vector_fault(stored, generation.dimension)) is not None:
            sentence = f"the stored vector of chunk {chunk_id} is damaged: {wrong}"
            yield Fault(FaultKind.DAMAGED_VECTOR, chunk_id, sentence)


def _orphans(session: Session) -> Iterator[Fault]:
    for chunk_id in repair_queries.chunks_without_document(session):
        sentence = f"chunk {chunk_id} belongs to no document or no item"
        yield Fault(FaultKind.CHUNK_WITHOUT_DOCUMENT, chunk_id, sentence)
    for document_id in repair_queries.documents_without_item(session):
        sentence = f"document number {document_id} belongs to no item"
        yield Fault(FaultKind.DOCUMENT_WITHOUT_ITEM, document_id, sentence)
    for item_id in repair_queries.tags_without_item(session):
        sentence = f"there are tags of an item {item_id}, which is gone"
        yield Fault(FaultKind.TAGS_WITHOUT_ITEM, item_id, sentence)
    for document_id in repair_queries.notes_without_document(session):
        sentence = f"something is noted of document number {document_id}, which is gone"
        yield Fault(FaultKind.NOTES_WITHOUT_DOCUMENT, document_id, sentence)
    for chunk_id in repair_queries.chunks_of_another_item(session):
        sentence = f"chunk {chunk_id} says another item than its document"
        yield Fault(FaultKind.CHUNK_OF_ANOTHER_ITEM, chunk_id, sentence)


def _damaged_names(session: Session) -> Iterator[Fault]:
    """What is read as an empty list: see StoredNames."""
    damaged = list(cell_queries.damaged_names(session))
    of_chunks = (cell.key for cell in damaged if cell.column.table.name == "chunks")
    found = {maintenance_queries.current_document_of(session, chunk_id) for chunk_id in of_chunks}
    for document_id in sorted(each for each in found if each is not None):
        sentence = f"document number {document_id} has chunks whose headings are damaged"
        yield Fault(FaultKind.BAD_CHUNKS, document_id, sentence)
    for document_id in (cell.row for cell in damaged if cell.column.table.name == "documents"):
        sentence = f"document number {document_id} has damaged tags"
        yield Fault(FaultKind.DAMAGED_TAGS, document_id, sentence)


def span_faults(text: str, spans: Sequence[tuple[str, int, int, str]]) -> Iterator[str]:
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
