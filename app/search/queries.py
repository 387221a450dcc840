"""All SQL of search."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from app.knowledge.items import ItemFilter
from app.knowledge.queries import filter_conditions
from app.models import ChunkRow, DocumentRow, ItemRow, TagRow
from app.search.requests import SearchResult

RESULT_COLUMNS: tuple[Any, ...] = (
    ChunkRow.id,
    ChunkRow.content,
    ChunkRow.item_id,
    ChunkRow.chunk_index,
    ChunkRow.start_index,
    ChunkRow.end_index,
    ChunkRow.start_line,
    ChunkRow.end_line,
    ChunkRow.heading_path,
    ItemRow.title,
    ItemRow.uri,
    ItemRow.document_type,
    ItemRow.category,
    ItemRow.licence,
    DocumentRow.key,
    DocumentRow.title.label("document_title"),
    DocumentRow.uri.label("document_uri"),
    DocumentRow.licence.label("document_licence"),
    DocumentRow.language,
)


# Built once: putting a statement together costs more than SQLite takes to answer it.
RESULTS = (
    select(*RESULT_COLUMNS)
    .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
    .join(ItemRow, ItemRow.id == ChunkRow.item_id)
)
ARCHIVED_ITEM_WITH_CHUNKS = (
    select(ItemRow.id)
    .where(ItemRow.status == "archived", exists().where(ChunkRow.item_id == ItemRow.id))
    .limit(1)
)


def searchable_item_ids(session: Session, wanted: ItemFilter) -> list[int]:
    """The items that the filter allows and that have chunks."""
    has_chunks = exists().where(ChunkRow.item_id == ItemRow.id)
    return list(session.scalars(select(ItemRow.id).where(*filter_conditions(wanted), has_chunks)))


def archived_chunks_exist(session: Session) -> bool:
    """Whether the vector index holds chunks that must never be shown."""
    return session.scalar(ARCHIVED_ITEM_WITH_CHUNKS) is not None


def results_by_chunk(
    session: Session, scores: dict[str, float], wanted: ItemFilter
) -> dict[str, SearchResult]:
    """The chunks that SQL holds and the filter allows, from one snapshot."""
    rows = session.execute(RESULTS.where(ChunkRow.id.in_(scores), *filter_conditions(wanted))).all()
    tags = _tags(session, {row.item_id for row in rows})
    return {row.id: _result(row, tags.get(row.item_id, ()), scores[row.id]) for row in rows}


def _tags(session: Session, item_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    tags: dict[int, tuple[str, ...]] = {}
    rows = select(TagRow.item_id, TagRow.tag).where(TagRow.item_id.in_(item_ids))
    for item_id, tag in session.execute(rows.order_by(TagRow.position)):
        tags[item_id] = (*tags.get(item_id, ()), tag)
    return tags


def _result(row: Any, tags: Sequence[str], score: float) -> SearchResult:
    return SearchResult(
        content=row.content,
        knowledge_id=row.item_id,
        title=row.title,
        uri=row.uri,
        score=min(1.0, max(0.0, score)),
        chunk_index=row.chunk_index,
        chunk_id=row.id,
        document_title=row.document_title,
        document_uri=row.document_uri,
        start_index=row.start_index,
        end_index=row.end_index,
        start_line=row.start_line,
        end_line=row.end_line,
        heading_path=tuple(row.heading_path),
        category=row.category,
        tags=tuple(tags),
        licence=row.document_licence or row.licence,
        language=row.language,
        citation=citation(row.key, row.start_line, row.end_line),
    )


def citation(document_key: str, start_line: int, end_line: int) -> str:
    """Where it is said, in the form that code hosts use: `guide/auth.md#L120-L135`."""
    lines = f"L{start_line}" if start_line == end_line else f"L{start_line}-L{end_line}"
    return f"{document_key}#{lines}"
