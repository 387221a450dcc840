"""SQL that counts and checks what is stored."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, delete, func, select
from sqlalchemy.orm import Session

from app.indexing.generation import Generation
from app.indexing.vector_queries import embedding_of_chunk
from app.models import (
    IS_CURRENT,
    ChunkRow,
    CollectionLanguageRow,
    DocumentRow,
    EmbeddingRow,
    IndexStampRow,
    ItemRow,
)
from app.slices import slices


def count(session: Session, table: type[Any]) -> int:
    """Rows of a table."""
    return session.scalar(select(func.count()).select_from(table)) or 0


def chunks_exist(session: Session) -> bool:
    """Whether there is any chunk that answers."""
    return session.scalar(select(ChunkRow.id).where(IS_CURRENT).limit(1)) is not None


def count_chunks(session: Session) -> int:
    """Chunks that answer."""
    return session.scalar(select(func.count()).where(IS_CURRENT)) or 0


def count_indexed_items(session: Session) -> int:
    """Items that have chunks that answer."""
    of_current = select(func.count(func.distinct(ChunkRow.item_id))).where(IS_CURRENT)
    return session.scalar(of_current) or 0


class ChunkState(NamedTuple):
    """What the indexes must agree with SQL on."""

    id: str
    document_number: int
    vector: bytes | None
    """Little-endian float32; None: no vector under the model is stored."""
    language: str | None
    """Of the item's collection, if that has one of its own."""


def chunk_states_after(
    session: Session, last_id: str, limit: int, generation: Generation
) -> list[ChunkState]:
    """Chunks by id: the next `limit` after the last."""
    page = _states(generation).where(ChunkRow.id > last_id).order_by(ChunkRow.id).limit(limit)
    return [ChunkState(*row) for row in session.execute(page)]


def states_of(
    session: Session, chunk_ids: Sequence[str], generation: Generation
) -> list[ChunkState]:
    """These chunks; those SQL lacks are left out."""
    wanted = _states(generation).where(ChunkRow.id.in_(chunk_ids))
    return [ChunkState(*row) for row in session.execute(wanted)]


def _states(generation: Generation) -> Select[str, int, bytes, str]:
    return (
        select(
            ChunkRow.id,
            DocumentRow.number,
            EmbeddingRow.vector,
            CollectionLanguageRow.language,
        )
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .join(ItemRow, ItemRow.id == ChunkRow.item_id)
        .outerjoin(CollectionLanguageRow, CollectionLanguageRow.name == ItemRow.collection)
        .outerjoin(EmbeddingRow, embedding_of_chunk(generation))
        .where(ChunkRow.generation_id == generation.id)
    )


def vectors_of_all(session: Session, generation: Generation) -> Iterator[tuple[str, bytes | None]]:
    """All chunks of a generation with what is stored as their vector; some hundred at a time."""
    statement = (
        select(ChunkRow.id, EmbeddingRow.vector)
        .outerjoin(EmbeddingRow, embedding_of_chunk(generation))
        .where(ChunkRow.generation_id == generation.id)
    )
    for row in session.execute(statement.execution_options(yield_per=500)):
        yield row[0], row[1]


def texts_of(session: Session, chunk_ids: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Chunks (id, hash, context, content); those that SQL lacks are left out."""
    columns = (ChunkRow.id, ChunkRow.text_hash, ChunkRow.context, ChunkRow.content)
    return [
        (row[0], row[1], row[2], row[3])
        for some in slices(chunk_ids)
        for row in session.execute(select(*columns).where(ChunkRow.id.in_(some)))
    ]


def documents_with_text(session: Session) -> Iterator[Any]:
    """All documents: id, item_id, key, number, content_hash, content; a few at a time."""
    columns = (
        DocumentRow.id,
        DocumentRow.item_id,
        DocumentRow.key,
        DocumentRow.number,
        DocumentRow.content_hash,
        DocumentRow.content,
    )
    statement = select(*columns).order_by(DocumentRow.id)
    yield from session.execute(statement.execution_options(yield_per=50))


def chunk_spans(session: Session, document_id: int) -> list[tuple[str, int, int, str]]:
    """The chunks of a document that answer, in order: id, start, end, text."""
    columns = (ChunkRow.id, ChunkRow.start_index, ChunkRow.end_index, ChunkRow.content)
    of_document = select(*columns).where(ChunkRow.document_id == document_id, IS_CURRENT)
    rows = session.execute(of_document.order_by(ChunkRow.chunk_index))
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def current_document_of(session: Session, chunk_id: str) -> int | None:
    """The document of a chunk that answers."""
    return session.scalar(select(ChunkRow.document_id).where(ChunkRow.id == chunk_id, IS_CURRENT))


def active_items_without_chunks(session: Session) -> list[int]:
    """Items that say they are searchable, although nothing of them is."""
    has_chunks = select(ChunkRow.id).where(ChunkRow.item_id == ItemRow.id, IS_CURRENT).exists()
    said_so = (ItemRow.status == "active", ItemRow.indexed_at.is_not(None))
    wanted = (*said_so, ItemRow.error.is_(None), ~has_chunks)
    return list(session.scalars(select(ItemRow.id).where(*wanted)))


# Stamps of the indexes -------------------------------------------------------------------------


def take_index_stamps(session: Session, names: Collection[str]) -> dict[str, str]:
    """The stamps under which these indexes were last closed, by index; they are deleted."""
    of_these = IndexStampRow.index_name.in_(names)
    stamps = (IndexStampRow.index_name, IndexStampRow.stamp)
    taken = delete(IndexStampRow).where(of_these).returning(*stamps)
    return dict(session.execute(taken).all())


def put_index_stamp(session: Session, name: str, stamp: str) -> None:
    """Remember the stamp of an index."""
    session.merge(IndexStampRow(index_name=name, stamp=stamp))
