"""SQL about words: what the lexical index should hold."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import ChunkRow, CollectionLanguageRow, DocumentRow, ItemRow
from app.protocols import LexicalRecord
from app.searched_titles import searched_titles
from app.slices import slices

_RECORDS = (
    select(
        ChunkRow.id,
        ChunkRow.item_id,
        ChunkRow.content,
        ChunkRow.heading_path,
        DocumentRow.number,
        DocumentRow.key,
        DocumentRow.title.label("document_title"),
        ItemRow.title,
        ItemRow.document_type,
        CollectionLanguageRow.language,
    )
    .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
    .join(ItemRow, ItemRow.id == ChunkRow.item_id)
    .outerjoin(CollectionLanguageRow, CollectionLanguageRow.name == ItemRow.collection)
)


def lexical_records_of(
    session: Session, chunk_ids: Sequence[str], generation_id: int
) -> list[LexicalRecord]:
    """What the lexical index should hold for these chunks; those SQL lacks are left out."""
    records: list[LexicalRecord] = []
    for some in slices(chunk_ids):
        wanted = (ChunkRow.id.in_(some), ChunkRow.generation_id == generation_id)
        rows = session.execute(_RECORDS.where(*wanted)).all()
        records += map(_to_record, rows)
    return records


def lexical_records_after(
    session: Session, last_id: str, limit: int, generation_id: int
) -> list[LexicalRecord]:
    """What the lexical index should hold, by chunk id: the next `limit` after the last."""
    wanted = (ChunkRow.id > last_id, ChunkRow.generation_id == generation_id)
    page = _RECORDS.where(*wanted).order_by(ChunkRow.id).limit(limit)
    return [_to_record(row) for row in session.execute(page)]


def language_of_item(session: Session, item_id: int) -> str | None:
    """The language of the item's collection, if it has one of its own."""
    of_collection = CollectionLanguageRow.name == ItemRow.collection
    statement = select(CollectionLanguageRow.language).join(ItemRow, of_collection)
    return session.scalar(statement.where(ItemRow.id == item_id))


def _to_record(row: Any) -> LexicalRecord:
    return LexicalRecord(
        chunk_id=row.id,
        item_id=row.item_id,
        document_number=row.number,
        content=row.content,
        titles=searched_titles(row.document_title, row.title, row.document_type),
        heading_path=tuple(row.heading_path),
        path=row.key,
        language=row.language,
    )
