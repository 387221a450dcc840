"""What rankings ask of chunks, from SQL: one row for each candidate, in few statements."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, select

from app.knowledge.tag_queries import tags_of
from app.models import ChunkRow, DocumentRow, EmbeddingRow, GenerationRow, ItemRow
from app.protocols import Vector
from app.search.document_labels import all_tags, own_or_items_category
from app.search.signals import SignalFacts
from app.slices import slices
from app.stored_vectors import sound_vector

_FACTS = (
    select(
        ChunkRow.id,
        ChunkRow.item_id,
        ChunkRow.completeness,
        DocumentRow.key,
        func.coalesce(DocumentRow.modified_at, DocumentRow.fetched_at).label("modified_at"),
        ItemRow.importance,
    )
    .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
    .join(ItemRow, ItemRow.id == ChunkRow.item_id)
    .where(ChunkRow.id.in_(bindparam("chunk_ids", expanding=True)))
)
_FACTS_WITH_LABELS = _FACTS.add_columns(
    DocumentRow.tags, DocumentRow.language, own_or_items_category().label("category")
)
_VECTORS = (
    select(ChunkRow.id, EmbeddingRow.vector, GenerationRow.dimension)
    .join(EmbeddingRow, EmbeddingRow.text_hash == ChunkRow.text_hash)
    .join(GenerationRow, GenerationRow.id == ChunkRow.generation_id)
    .where(
        ChunkRow.id.in_(bindparam("chunk_ids", expanding=True)),
        EmbeddingRow.fingerprint == bindparam("fingerprint"),
    )
)


def vectors_of_chunks(
    connection: Connection, chunk_ids: Sequence[str], fingerprint: str
) -> dict[str, Vector]:
    """By chunk id; what SQL does not hold, or holds damaged, is left out. At most some hundred.

    From SQL, which has them at hand: the vector index on disk may be busy, or not awake.
    """
    asked = {"chunk_ids": list(chunk_ids), "fingerprint": fingerprint}
    return {
        chunk_id: vector
        for chunk_id, stored, dimension in connection.execute(_VECTORS, asked)
        if (vector := sound_vector(stored, dimension)) is not None
    }


def facts_of_chunks(
    connection: Connection, chunk_ids: Sequence[str], *, with_labels: bool
) -> dict[str, SignalFacts]:
    """By chunk id; those that SQL does not hold are left out.

    Category, language and tags, which take as long as all the rest, are read if asked for.
    """
    statement = _FACTS_WITH_LABELS if with_labels else _FACTS
    rows = [
        row
        for some in slices(chunk_ids)
        for row in connection.execute(statement, {"chunk_ids": some})
    ]
    if not with_labels:
        return {
            chunk_id: SignalFacts(key, modified_at, importance, completeness)
            for chunk_id, _item_id, completeness, key, modified_at, importance in rows
        }
    tags = tags_of(connection, {row.item_id for row in rows})
    return {
        row.id: SignalFacts(
            key=row.key,
            modified_at=row.modified_at,
            item_importance=row.importance,
            completeness=row.completeness,
            category=row.category,
            language=row.language,
            tags=all_tags(tags.get(row.item_id, ()), row.tags),
        )
        for row in rows
    }
