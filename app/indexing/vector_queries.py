"""SQL about vectors: what is embedded, and what the vector index should hold."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.indexing.generation import Generation
from app.knowledge.tag_queries import tags_of
from app.models import ChunkRow, DocumentRow, EmbeddingRow, ItemRow
from app.protocols import Vector, VectorRecord
from app.slices import slices
from app.stored_vectors import VECTOR_TYPE, sound_vector

# Embeddings --------------------------------------------------------------------------------


def missing_embeddings(
    session: Session, text_hashes: Sequence[str], fingerprint: str, dimension: int
) -> list[str]:
    """Those of the hashes for which no sound vector is stored under the model, in order."""
    sound: set[str] = set()
    for text_hash, stored in _stored(session, text_hashes, fingerprint):
        if sound_vector(stored, dimension) is not None:
            sound.add(text_hash)
    return [text_hash for text_hash in text_hashes if text_hash not in sound]


def add_embeddings(
    session: Session, fingerprint: str, vectors: Iterable[tuple[str, Vector]]
) -> None:
    """Store vectors by the hash of their text; those already there stay, unless damaged."""
    vectors = list(vectors)
    dimensions = {text_hash: len(vector) for text_hash, vector in vectors}
    damaged = [
        text_hash
        for text_hash, stored in _stored(session, list(dimensions), fingerprint)
        if sound_vector(stored, dimensions[text_hash]) is None
    ]
    for some in slices(damaged):
        these = (EmbeddingRow.fingerprint == fingerprint, EmbeddingRow.text_hash.in_(some))
        session.execute(delete(EmbeddingRow).where(*these))
    rows = [
        {
            "text_hash": text_hash,
            "fingerprint": fingerprint,
            "vector": vector.astype(VECTOR_TYPE).tobytes(),
        }
        for text_hash, vector in vectors
    ]
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    session.execute(dialect.insert(EmbeddingRow).on_conflict_do_nothing(), rows)


def read_embeddings(
    session: Session, text_hashes: Sequence[str], fingerprint: str
) -> dict[str, Vector]:
    """The stored vectors by hash; unknown hashes are left out."""
    return {
        text_hash: np.frombuffer(stored, VECTOR_TYPE).astype(np.float32)
        for text_hash, stored in _stored(session, text_hashes, fingerprint)
    }


def _stored(
    session: Session, text_hashes: Sequence[str], fingerprint: str
) -> Iterator[tuple[str, bytes]]:
    for some in slices(text_hashes):
        found = select(EmbeddingRow.text_hash, EmbeddingRow.vector).where(
            EmbeddingRow.text_hash.in_(some), EmbeddingRow.fingerprint == fingerprint
        )
        for row in session.execute(found):
            yield row[0], row[1]


# Records of the vector index -----------------------------------------------------------------


RECORD_COLUMNS: tuple[Any, ...] = (
    ChunkRow.id,
    ChunkRow.item_id,
    EmbeddingRow.vector,
    DocumentRow.number,
    ItemRow.title,
    DocumentRow.uri,
    ItemRow.document_type,
    ItemRow.category,
    ChunkRow.chunk_index,
    ChunkRow.start_index,
    DocumentRow.indexed_at,
    DocumentRow.fetched_at,
)


def embedding_of_chunk(generation: Generation) -> ColumnElement[bool]:
    """What joins a chunk with its embedding under the model of a generation."""
    return (EmbeddingRow.text_hash == ChunkRow.text_hash) & (
        EmbeddingRow.fingerprint == generation.fingerprint
    )


def _records(generation: Generation) -> Select[Any]:
    return (
        select(*RECORD_COLUMNS)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .join(ItemRow, ItemRow.id == ChunkRow.item_id)
        .join(EmbeddingRow, embedding_of_chunk(generation))
        .where(ChunkRow.generation_id == generation.id)
    )


def records_of(
    session: Session, chunk_ids: Sequence[str], generation: Generation
) -> list[VectorRecord]:
    """What the vector index should hold for these chunks.

    Those are left out that SQL lacks, or has no sound vector of.
    """
    records: list[VectorRecord] = []
    for some in slices(chunk_ids):
        rows = session.execute(_records(generation).where(ChunkRow.id.in_(some))).all()
        records += _to_records(session, rows, generation)
    return records


def vector_rows(
    connection: Connection, generation: Generation, size: int
) -> Iterator[Sequence[Any]]:
    """Chunk id, item id, document number and vector of all its chunks, `size` rows at a time."""
    rows = (
        select(ChunkRow.id, ChunkRow.item_id, DocumentRow.number, EmbeddingRow.vector)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .join(EmbeddingRow, embedding_of_chunk(generation))
        .where(ChunkRow.generation_id == generation.id)
    )
    yield from connection.execute(rows.execution_options(yield_per=size)).partitions()


def records_after(
    session: Session, last_id: str, limit: int, generation: Generation
) -> list[VectorRecord]:
    """What the vector index should hold, by chunk id: some, at most `limit`, after the last.

    Nothing only once there is nothing more, however many vectors in between are damaged.
    """
    in_order = _records(generation).order_by(ChunkRow.id).limit(limit)
    while rows := session.execute(in_order.where(ChunkRow.id > last_id)).all():
        if records := _to_records(session, rows, generation):
            return records
        last_id = rows[-1].id
    return []


def _to_records(
    session: Session, rows: Sequence[Any], generation: Generation
) -> list[VectorRecord]:
    tags = tags_of(session, {row.item_id for row in rows})
    vectors = {row.id: sound_vector(row.vector, generation.dimension) for row in rows}
    return [
        VectorRecord(
            chunk_id=row.id,
            item_id=row.item_id,
            document_number=row.number,
            vector=vector,
            metadata=record_metadata(
                title=row.title,
                uri=row.uri,
                document_type=row.document_type,
                category=row.category,
                tags=list(tags.get(row.item_id, ())),
                chunk_index=row.chunk_index,
                start_index=row.start_index,
                indexed_at=row.indexed_at.isoformat(),
                fetched_at=row.fetched_at.isoformat(),
            ),
        )
        for row in rows
        if (vector := vectors[row.id]) is not None
    ]


def record_metadata(**fields: str | int | list[str] | None) -> dict[str, Any]:
    """A record's metadata, without what is not known."""
    return {name: value for name, value in fields.items() if value not in (None, [])}


def item_metadata(session: Session, item_id: int, moment: datetime) -> dict[str, Any]:
    """The metadata that all records of an item share that are made at this moment."""
    item = session.get_one(ItemRow, item_id)
    return {
        "title": item.title,
        "document_type": item.document_type,
        "category": item.category,
        "tags": list(tags_of(session, [item_id]).get(item_id, ())),
        "indexed_at": moment.isoformat(),
        "fetched_at": moment.isoformat(),
    }
