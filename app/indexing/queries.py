"""SQL of indexing: documents with their chunks, and collections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.orm import Session

from app.clock import now
from app.indexing.documents import (
    DocumentDetails,
    KnownDocument,
    PreparedChunk,
    PreparedDocument,
    SourceTimes,
    document_number,
)
from app.indexing.results import Changes
from app.models import (
    IS_CURRENT,
    ChunkRow,
    CollectionRow,
    DocumentRow,
    DocumentTagRow,
    GenerationDocumentRow,
)
from app.slices import slices

# Documents -------------------------------------------------------------------------------------


def known_documents(session: Session, item_id: int, generation_id: int) -> dict[str, KnownDocument]:
    """The documents of an item by key, without their text."""
    row, done = DocumentRow, GenerationDocumentRow
    is_done = (done.document_id == row.id) & (done.generation_id == generation_id)
    columns = [getattr(row, name) for name in DocumentDetails._fields]
    statement = (
        select(row.id, row.key, row.stamp, func.coalesce(done.splitter, ""), *columns)
        .outerjoin(done, is_done)
        .where(row.item_id == item_id)
    )
    known = {}
    for id_, key, stamp, splitter, *stored in session.execute(statement):
        details = DocumentDetails(*stored)
        details = details._replace(tags=tuple(details.tags))
        known[key] = KnownDocument(id_, key, stamp, splitter, details)
    return known


def document(session: Session, document_id: int) -> DocumentRow | None:
    """A document with its text."""
    return session.get(DocumentRow, document_id)


def restamp_documents(session: Session, stamps: Mapping[int, SourceTimes]) -> None:
    """Store new times of documents whose content proved to be the same.

    In one statement: that takes 50 µs each instead of 500, during which nothing else can write.
    """
    if not stamps:
        return
    noted = update(DocumentRow).where(DocumentRow.id == bindparam("document"))
    noted = noted.values(stamp=bindparam("new"), modified_at=bindparam("changed"), fetched_at=now())
    new = [
        {"document": document_id, "new": times.stamp, "changed": times.modified_at}
        for document_id, times in stamps.items()
    ]
    session.connection().execute(noted, new)


def store_document(
    session: Session,
    item_id: int,
    document: PreparedDocument,
    generation_id: int,
    *,
    anew: bool,
) -> tuple[Changes, list[str]]:
    """Replace a document's version; returns the counts, and the chunks that went or moved.

    If the document's title or address has changed, all chunks that stay count as moved, since their
    records hold it. With `anew` they do, too: they are written again, whatever is stored, from the
    text that is stored, so that the source was fetched no later than it was.
    Chunks of other generations are deleted as well: they were made from the old text.
    """
    stored = _upsert_document(session, item_id, document, anew=anew)
    row_id = stored.row_id
    if not stored.is_new:
        _forget_in_generations(session, row_id, but=generation_id)
    add_to_generation(session, generation_id, row_id, document.splitter, is_new=stored.is_new)
    wanted = {
        chunk.id: chunk_values(item_id, row_id, document.loaded.first_line, chunk, generation_id)
        for chunk in document.chunks
    }
    present = {} if stored.is_new else _chunk_positions(session, row_id, generation_id)
    gone = [chunk_id for chunk_id in present if chunk_id not in wanted]
    fresh = [values for chunk_id, values in wanted.items() if chunk_id not in present]
    moved = [
        values
        for chunk_id, values in wanted.items()
        if chunk_id in present and (anew or present[chunk_id] != _position(values))
    ]
    for ids in slices(gone):
        session.execute(delete(ChunkRow).where(ChunkRow.id.in_(ids)))
    if fresh:
        session.execute(insert(ChunkRow), fresh)
    if moved:
        session.execute(update(ChunkRow), moved)
    counts = Changes(added=len(fresh), removed=len(gone))
    if stored.is_renamed:
        return counts, gone + [chunk_id for chunk_id in wanted if chunk_id in present]
    return counts, gone + [values["id"] for values in moved]


POSITION_FIELDS = (
    "chunk_index", "start_index", "end_index", "start_line", "end_line", "heading_path",
    "chunk_type", "completeness",
)  # fmt: skip


def _chunk_positions(
    session: Session, document_row_id: int, generation_id: int
) -> dict[str, tuple[Any, ...]]:
    columns = [getattr(ChunkRow, name) for name in POSITION_FIELDS]
    of_document = ChunkRow.document_id == document_row_id
    of_both = of_document, ChunkRow.generation_id == generation_id
    rows = session.execute(select(ChunkRow.id, *columns).where(*of_both))
    return {chunk_id: tuple(position) for chunk_id, *position in rows}


def _forget_in_generations(session: Session, document_row_id: int, *, but: int) -> None:
    for table in (ChunkRow, GenerationDocumentRow):
        others = (table.document_id == document_row_id) & (table.generation_id != but)
        session.execute(delete(table).where(others))


def add_to_generation(
    session: Session,
    generation_id: int,
    document_row_id: int,
    splitter: str,
    *,
    is_new: bool = False,
) -> None:
    """Note that the generation now has the chunks of this document, made by these rules.

    A document that `is_new` is in no generation yet: that is not looked up.
    """
    row = GenerationDocumentRow(
        generation_id=generation_id, document_id=document_row_id, splitter=splitter
    )
    if is_new:
        session.add(row)
    else:
        session.merge(row)


def _position(values: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(values[name] for name in POSITION_FIELDS)


@dataclass(frozen=True)
class _Stored:
    """A document's row, once its new version stands in it."""

    row_id: int
    is_new: bool
    """Nothing refers to it yet; looking for what might took half of the time of storing it."""
    is_renamed: bool
    """It had another title or address, or was not there."""


def _upsert_document(
    session: Session, item_id: int, document: PreparedDocument, *, anew: bool
) -> _Stored:
    loaded, moment = document.loaded, now()
    same_key = (DocumentRow.item_id == item_id, DocumentRow.key == document.entry.key)
    row = session.scalar(select(DocumentRow).where(*same_key))
    is_new = row is None
    if row is None:
        key = document.entry.key
        row = DocumentRow(item_id=item_id, key=key, number=document_number(item_id, key))
        session.add(row)
    is_renamed = (row.title, row.uri) != (loaded.title, loaded.source_uri)
    row.document_id = loaded.document_id
    row.uri = loaded.source_uri
    row.title = loaded.title
    row.category = loaded.category
    row.tags = list(loaded.tags)
    row.licence = loaded.licence
    row.language = loaded.language
    row.content_hash = loaded.content_hash
    times = SourceTimes.of(document.entry, loaded)
    row.stamp, row.modified_at = times.stamp, times.modified_at
    row.first_line = loaded.first_line
    row.indexed_at = moment
    if is_new or not anew:
        row.fetched_at = moment
    row.content = loaded.content
    session.flush()
    if not is_new:
        session.execute(delete(DocumentTagRow).where(DocumentTagRow.document_id == row.id))
    if loaded.tags:
        tags = [{"document_id": row.id, "tag": tag} for tag in dict.fromkeys(loaded.tags)]
        session.execute(insert(DocumentTagRow), tags)
    return _Stored(row.id, is_new, is_renamed)


def chunk_values(
    item_id: int,
    document_row_id: int,
    first_line: int,
    prepared: PreparedChunk,
    generation_id: int,
) -> dict[str, Any]:
    """The row of a chunk; `first_line` is that of the document's text in its source."""
    chunk, lines_above = prepared.chunk, first_line - 1
    return {
        "id": prepared.id,
        "generation_id": generation_id,
        "item_id": item_id,
        "document_id": document_row_id,
        "chunk_index": chunk.chunk_index,
        "start_index": chunk.start_index,
        "end_index": chunk.end_index,
        "start_line": chunk.start_line + lines_above,
        "end_line": chunk.end_line + lines_above,
        "heading_path": list(chunk.heading_path),
        "chunk_type": chunk.chunk_type,
        "completeness": chunk.completeness,
        "text_hash": prepared.text_hash,
        "context": prepared.context,
        "content": chunk.content,
    }


def count_searchable_chunks(session: Session, document_row_ids: Sequence[int]) -> int:
    """How many chunks of these documents belong to the generation that answers."""
    return sum(
        session.scalar(select(func.count()).where(ChunkRow.document_id.in_(ids), IS_CURRENT)) or 0
        for ids in slices(document_row_ids)
    )


def present_chunks(session: Session, chunk_ids: Sequence[str]) -> set[str]:
    """The ids of these that SQL holds."""
    present: set[str] = set()
    for some in slices(chunk_ids):
        present.update(session.scalars(select(ChunkRow.id).where(ChunkRow.id.in_(some))))
    return present


def delete_documents(session: Session, document_row_ids: Sequence[int]) -> list[str]:
    """Delete documents with their chunks; returns the ids of the chunks of all generations."""
    chunk_ids: list[str] = []
    for ids in slices(document_row_ids):
        of_these = ChunkRow.document_id.in_(ids)
        chunk_ids += session.scalars(select(ChunkRow.id).where(of_these))
        session.execute(delete(ChunkRow).where(of_these))
        session.execute(delete(DocumentRow).where(DocumentRow.id.in_(ids)))
    return chunk_ids


# Collections -----------------------------------------------------------------------------------


def recorded_collection(
    session: Session, name: str, model: str, fingerprint: str, dimension: int
) -> CollectionRow:
    """A collection with the model recorded for it; a new one is recorded with this model."""
    row = session.get(CollectionRow, name)
    if row is None:
        row = CollectionRow(
            name=name, embedding_model=model, embedding_fingerprint=fingerprint, dimension=dimension
        )
        session.add(row)
    return row
