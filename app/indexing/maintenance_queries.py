"""SQL that counts and checks what is stored."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.models import ChunkRow, DocumentRow, EmbeddingRow, IndexChangeRow, ItemRow


def count(session: Session, table: type[Any]) -> int:
    """Rows of a table."""
    return session.scalar(select(func.count()).select_from(table)) or 0


def chunks_exist(session: Session) -> bool:
    """Whether there is any chunk."""
    return session.scalar(select(ChunkRow.id).limit(1)) is not None


def count_indexed_items(session: Session) -> int:
    """Items that have chunks."""
    return session.scalar(select(func.count(func.distinct(ChunkRow.item_id)))) or 0


def count_open_changes(session: Session) -> int:
    """Rows of the outbox."""
    return count(session, IndexChangeRow)


def chunk_ids(session: Session) -> set[str]:
    """The ids of all chunks."""
    return set(session.scalars(select(ChunkRow.id)))


def chunks_without_embedding(session: Session, fingerprint: str) -> list[tuple[str, str, str, str]]:
    """Chunks (id, hash, context, content) whose text has no vector under the model."""
    on_embedding = (EmbeddingRow.text_hash == ChunkRow.text_hash) & (
        EmbeddingRow.fingerprint == fingerprint
    )
    statement = (
        select(ChunkRow.id, ChunkRow.text_hash, ChunkRow.context, ChunkRow.content)
        .outerjoin(EmbeddingRow, on_embedding)
        .where(EmbeddingRow.text_hash.is_(None))
    )
    return [(row[0], row[1], row[2], row[3]) for row in session.execute(statement)]


def documents_with_text(session: Session) -> Iterator[Any]:
    """All documents: id, item_id, key, content_hash, content; a few at a time."""
    columns = (
        DocumentRow.id,
        DocumentRow.item_id,
        DocumentRow.key,
        DocumentRow.content_hash,
        DocumentRow.content,
    )
    statement = select(*columns).order_by(DocumentRow.id)
    yield from session.execute(statement.execution_options(yield_per=50))


def chunk_spans(session: Session, document_id: int) -> list[tuple[str, int, int, str]]:
    """The chunks of a document in order: id, start, end, text."""
    columns = (ChunkRow.id, ChunkRow.start_index, ChunkRow.end_index, ChunkRow.content)
    of_document = select(*columns).where(ChunkRow.document_id == document_id)
    rows = session.execute(of_document.order_by(ChunkRow.chunk_index))
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def active_items_without_chunks(session: Session) -> list[int]:
    """Items that say they are searchable, although nothing of them is."""
    has_chunks = select(ChunkRow.id).where(ChunkRow.item_id == ItemRow.id).exists()
    said_so = (ItemRow.status == "active", ItemRow.indexed_at.is_not(None))
    wanted = (*said_so, ItemRow.error.is_(None), ~has_chunks)
    return list(session.scalars(select(ItemRow.id).where(*wanted)))
