"""SQL that finds rows which contradict each other, and takes or puts them right."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, func, select, tuple_, update
from sqlalchemy.orm import Session

from app.indexing import queries
from app.knowledge.index_changes import note_chunks
from app.models import (
    ChunkRow,
    DocumentRow,
    DocumentTagRow,
    EmbeddingRow,
    GenerationDocumentRow,
    GenerationRow,
    ItemRow,
    TagRow,
)
from app.slices import slices

EMBEDDINGS_AT_ONCE = 5000
"""Vectors that one transaction drops: 0.1 s, in which nobody else can write."""

DOCUMENT_NOTES = (DocumentTagRow, GenerationDocumentRow)
"""Tables of what is noted of documents, beside their chunks."""


def chunks_without_document(session: Session) -> list[str]:
    """Chunks whose document or item is gone."""
    has_document = select(DocumentRow.id).where(DocumentRow.id == ChunkRow.document_id).exists()
    has_item = select(ItemRow.id).where(ItemRow.id == ChunkRow.item_id).exists()
    return list(session.scalars(select(ChunkRow.id).where(~has_document | ~has_item)))


def documents_without_item(session: Session) -> list[int]:
    """Documents whose item is gone."""
    has_item = select(ItemRow.id).where(ItemRow.id == DocumentRow.item_id).exists()
    return list(session.scalars(select(DocumentRow.id).where(~has_item)))


def tags_without_item(session: Session) -> list[int]:
    """Ids of items that are gone and whose tags are not."""
    has_item = select(ItemRow.id).where(ItemRow.id == TagRow.item_id).exists()
    return list(session.scalars(select(TagRow.item_id).where(~has_item).distinct()))


def notes_without_document(session: Session) -> list[int]:
    """Ids of documents that are gone, though their tags or what generations have done are not.

    A document that was given such an id could not be stored.
    """
    found: set[int] = set()
    for table in DOCUMENT_NOTES:
        has_document = select(DocumentRow.id).where(DocumentRow.id == table.document_id).exists()
        found.update(session.scalars(select(table.document_id).where(~has_document).distinct()))
    return sorted(found)


def chunks_of_another_item(session: Session) -> list[str]:
    """Chunks that say another item than their document does."""
    joined = select(ChunkRow.id).join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
    return list(session.scalars(joined.where(ChunkRow.item_id != DocumentRow.item_id)))


def delete_chunks(session: Session, chunk_ids: Sequence[str]) -> None:
    """Delete chunks, and have the indexes follow."""
    for ids in slices(chunk_ids):
        session.execute(delete(ChunkRow).where(ChunkRow.id.in_(ids)))
    note_chunks(session, chunk_ids)


def delete_documents(session: Session, document_ids: Sequence[int]) -> None:
    """Delete documents with their chunks, and have the indexes follow."""
    note_chunks(session, queries.delete_documents(session, document_ids))


def delete_tags(session: Session, item_ids: Sequence[int]) -> None:
    """Delete all tags of these items."""
    for ids in slices(item_ids):
        session.execute(delete(TagRow).where(TagRow.item_id.in_(ids)))


def delete_document_notes(session: Session, document_ids: Sequence[int]) -> None:
    """Delete the tags of these documents, and what generations have done of them."""
    for ids in slices(document_ids):
        for table in DOCUMENT_NOTES:
            session.execute(delete(table).where(table.document_id.in_(ids)))


def give_chunks_to_their_item(session: Session, chunk_ids: Sequence[str]) -> None:
    """Let chunks say the item that their document says, and have the indexes follow."""
    item_of_document = (
        select(DocumentRow.item_id).where(DocumentRow.id == ChunkRow.document_id).scalar_subquery()
    )
    for ids in slices(chunk_ids):
        session.execute(
            update(ChunkRow).where(ChunkRow.id.in_(ids)).values(item_id=item_of_document),
            execution_options={"synchronize_session": False},
        )
    note_chunks(session, chunk_ids)


def renumber_document(session: Session, document_id: int, number: int) -> None:
    """Give a document the number that the indexes know it by, and have them follow."""
    of_document = select(ChunkRow.id).where(ChunkRow.document_id == document_id)
    session.execute(update(DocumentRow).where(DocumentRow.id == document_id).values(number=number))
    note_chunks(session, list(session.scalars(of_document)))


def restore_tags(session: Session, document_ids: Sequence[int]) -> None:
    """Give documents the tags that filters know them by; only their order is lost."""
    for document_id in document_ids:
        known = select(DocumentTagRow.tag).where(DocumentTagRow.document_id == document_id)
        tags = list(session.scalars(known.order_by(DocumentTagRow.tag)))
        session.execute(update(DocumentRow).where(DocumentRow.id == document_id).values(tags=tags))


def have_read_again(session: Session, document_id: int) -> None:
    """Let the next indexing take a document for changed, whatever its source says."""
    forgotten = {"stamp": None, "content_hash": ""}
    session.execute(update(DocumentRow).where(DocumentRow.id == document_id).values(forgotten))


def make_pending(session: Session, item_ids: Sequence[int]) -> None:
    """Let items say that they have to be indexed."""
    for ids in slices(item_ids):
        session.execute(update(ItemRow).where(ItemRow.id.in_(ids)).values(status="pending"))


# Embeddings ------------------------------------------------------------------------------------


def _unreferenced() -> Any:
    """Of embeddings: no chunk of a generation of their model has the text."""
    needs = (
        select(ChunkRow.id)
        .join(GenerationRow, GenerationRow.id == ChunkRow.generation_id)
        .where(
            ChunkRow.text_hash == EmbeddingRow.text_hash,
            GenerationRow.fingerprint == EmbeddingRow.fingerprint,
        )
    )
    return ~needs.exists()


def count_unreferenced_embeddings(session: Session) -> int:
    """Vectors of texts that no chunk has (any more): kept, so that they need not be made again."""
    return (
        session.scalar(select(func.count()).select_from(EmbeddingRow).where(_unreferenced())) or 0
    )


def drop_unreferenced_embeddings(
    session: Session, after: tuple[str, str] = ("", "")
) -> list[tuple[str, str]]:
    """Drop some vectors of texts that no chunk has; gives them, nothing when none is left.

    By text hash and fingerprint, in this order: those after the last that was given before. To
    begin anew each time would be to read what stays again and again.
    """
    key = tuple_(EmbeddingRow.text_hash, EmbeddingRow.fingerprint)
    some = select(EmbeddingRow.text_hash, EmbeddingRow.fingerprint).where(_unreferenced())
    some = some.where(key > after).order_by(EmbeddingRow.text_hash, EmbeddingRow.fingerprint)
    dropped = [(row[0], row[1]) for row in session.execute(some.limit(EMBEDDINGS_AT_ONCE))]
    hashes: dict[str, list[str]] = {}
    for text_hash, fingerprint in dropped:
        hashes.setdefault(fingerprint, []).append(text_hash)
    for fingerprint, of_model in hashes.items():
        for few in slices(of_model):
            these = (EmbeddingRow.fingerprint == fingerprint, EmbeddingRow.text_hash.in_(few))
            session.execute(delete(EmbeddingRow).where(*these))
    return dropped
