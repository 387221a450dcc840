"""All SQL of generations: which there are, what they lack, and the switch."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.orm import Session

from app.generations.records import FIRST_GENERATION, StoredGeneration
from app.indexing import queries as indexing_queries
from app.indexing.documents import PreparedChunk
from app.indexing.generation import Generation
from app.indexing.vector_queries import embedding_of_chunk
from app.models import (
    ChunkRow,
    CollectionRow,
    CurrentGenerationRow,
    DocumentRow,
    EmbeddingRow,
    GenerationDocumentRow,
    GenerationRow,
    ItemRow,
)
from app.numbering import count_on_from
from app.protocols import Embedder
from app.slices import slices

CHUNKS_AT_ONCE = 2000
"""Chunks that one transaction drops: some 0.1 s, in which nobody else can write."""


def current(session: Session) -> StoredGeneration | None:
    """The generation that answers; None before anything was ever stored."""
    rows = select(GenerationRow).join(
        CurrentGenerationRow, CurrentGenerationRow.generation_id == GenerationRow.id
    )
    row = session.scalar(rows)
    return None if row is None else _stored(row, is_current=True)


def all_generations(session: Session) -> list[StoredGeneration]:
    """All there are, in the order in which they were made."""
    current_id = session.scalar(select(CurrentGenerationRow.generation_id))
    rows = session.scalars(select(GenerationRow).order_by(GenerationRow.id))
    return [_stored(row, is_current=row.id == current_id) for row in rows]


def add_generation(
    session: Session, embedder: Embedder, provider: str, rules: str
) -> StoredGeneration:
    """The generation of this model and these rules, made if there is none."""
    same = (GenerationRow.fingerprint == embedder.fingerprint, GenerationRow.splitter == rules)
    row = session.scalar(select(GenerationRow).where(*same))
    if row is None:
        row = GenerationRow(fingerprint=embedder.fingerprint, splitter=rules)
        if session.scalar(select(GenerationRow.id).limit(1)) is None:
            row.id = FIRST_GENERATION  # whose indexes lie where they always have
        session.add(row)
    # The same vectors may come from another provider, or under another name, than they once did.
    row.embedding_provider, row.embedding_model = provider, embedder.model_name
    row.dimension = embedder.dimension
    session.flush()
    count_on_from(session, GenerationRow.__tablename__, row.id)
    current_id = session.scalar(select(CurrentGenerationRow.generation_id))
    return _stored(row, is_current=row.id == current_id)


def make_current(session: Session, generation_id: int) -> None:
    """Switch: from its commit on, this generation answers."""
    session.merge(CurrentGenerationRow(id=1, generation_id=generation_id))
    row = session.get_one(GenerationRow, generation_id)
    session.execute(
        update(CollectionRow).values(
            embedding_model=row.embedding_model,
            embedding_fingerprint=row.fingerprint,
            dimension=row.dimension,
        )
    )


def forget(session: Session) -> None:
    """Forget all generations: nothing is stored, so the next one may be the first again."""
    for table in (CurrentGenerationRow, GenerationDocumentRow, GenerationRow):
        session.execute(delete(table))


def forget_empty(session: Session, *, but: int) -> None:
    """Forget generations that nothing was ever made for: a start noted them, and others wanted it.

    Those that answer or hold anything stay, and so does the one that is wanted now.
    """
    for stored in all_generations(session):
        number = stored.generation.id
        if stored.is_current or number == but:
            continue
        if not count_done(session, number) and not count_chunks(session, number):
            session.execute(delete(GenerationRow).where(GenerationRow.id == number))


def drop_some(session: Session, generation_id: int) -> bool:
    """Drop some chunks of a generation, and in the end itself; whether anything is left.

    First it covers nothing any more: one that is half dropped must not count as whole.
    """
    of_generation = GenerationDocumentRow.generation_id == generation_id
    session.execute(delete(GenerationDocumentRow).where(of_generation))
    chunk_ids = list(session.scalars(_chunks_by_item(generation_id).limit(CHUNKS_AT_ONCE)))
    for ids in slices(chunk_ids):
        session.execute(delete(ChunkRow).where(ChunkRow.id.in_(ids)))
    if chunk_ids:
        return True
    session.execute(delete(GenerationRow).where(GenerationRow.id == generation_id))
    return False


def count_documents(session: Session) -> int:
    """All documents there are."""
    return session.scalar(select(func.count()).select_from(DocumentRow)) or 0


def count_done(session: Session, generation_id: int) -> int:
    """Documents that the generation covers."""
    of_generation = GenerationDocumentRow.generation_id == generation_id
    return session.scalar(select(func.count()).where(of_generation)) or 0


def count_chunks(session: Session, generation_id: int) -> int:
    """Chunks of the generation."""
    of_generation = ChunkRow.generation_id == generation_id
    return session.scalar(select(func.count()).where(of_generation)) or 0


def missing_documents(
    session: Session, generation_id: int, limit: int, *, after: int = 0, up_to: int | None = None
) -> list[int]:
    """Some documents of which the generation has nothing: row ids within the bounds, in order."""
    done = (
        select(GenerationDocumentRow.document_id)
        .where(
            GenerationDocumentRow.document_id == DocumentRow.id,
            GenerationDocumentRow.generation_id == generation_id,
        )
        .exists()
    )
    missing = select(DocumentRow.id).where(DocumentRow.id > after, ~done)
    if up_to is not None:
        missing = missing.where(DocumentRow.id <= up_to)
    return list(session.scalars(missing.order_by(DocumentRow.id).limit(limit)))


class DoneChunk(NamedTuple):
    """A chunk as it stands in SQL."""

    span: tuple[str, int, int, str]
    """Its id, start and end in the document, and its text."""
    item_id: int
    vector: bytes | None
    """What is stored as its vector; None: nothing."""


class DoneDocument(NamedTuple):
    """A document that a generation covers, with what the generation has of it."""

    id: int
    item_id: int
    content: str
    chunks: Sequence[DoneChunk]
    """In order."""


def done_documents(
    session: Session, generation: Generation, limit: int, *, after: int
) -> list[DoneDocument]:
    """Documents that a generation covers, by row id: the next `limit` after one."""
    covered = GenerationDocumentRow.document_id
    done = (
        select(DocumentRow.id, DocumentRow.item_id, DocumentRow.content)
        .join(GenerationDocumentRow, covered == DocumentRow.id)
        .where(GenerationDocumentRow.generation_id == generation.id, covered > after)
        .order_by(covered)  # not by the documents' own: SQLite would read and sort all the rest
        .limit(limit)
    )
    return [
        DoneDocument(*row, _done_chunks(session, generation, row.id))
        for row in session.execute(done)
    ]


def _done_chunks(session: Session, generation: Generation, document_id: int) -> Sequence[DoneChunk]:
    span = (ChunkRow.id, ChunkRow.start_index, ChunkRow.end_index, ChunkRow.content)
    rows = (
        select(*span, ChunkRow.item_id, EmbeddingRow.vector)
        .outerjoin(EmbeddingRow, embedding_of_chunk(generation))
        .where(ChunkRow.document_id == document_id, ChunkRow.generation_id == generation.id)
        .order_by(ChunkRow.chunk_index)
    )
    found = session.execute(rows)
    return [DoneChunk((row[0], row[1], row[2], row[3]), row[4], row[5]) for row in found]


def give_up_documents(session: Session, generation_id: int, document_ids: Sequence[int]) -> None:
    """Let a generation lack these documents; its chunks of them stay until they are made anew."""
    for some in slices(document_ids):
        session.execute(
            delete(GenerationDocumentRow).where(
                GenerationDocumentRow.generation_id == generation_id,
                GenerationDocumentRow.document_id.in_(some),
            )
        )


def last_document(session: Session) -> int:
    """The highest row id of a document; 0 when there is none."""
    return session.scalar(select(func.max(DocumentRow.id))) or 0


def add_document(
    session: Session,
    generation: Generation,
    read: DocumentRow,
    chunks: Sequence[PreparedChunk],
) -> bool:
    """Give a generation the chunks of a document, unless it has changed since it was `read`."""
    same = (DocumentRow.id == read.id, DocumentRow.indexed_at == read.indexed_at)
    if session.scalar(select(DocumentRow.id).where(*same)) is None:
        return False
    own = (ChunkRow.document_id == read.id, ChunkRow.generation_id == generation.id)
    session.execute(delete(ChunkRow).where(*own))
    values = [
        indexing_queries.chunk_values(read.item_id, read.id, read.first_line, chunk, generation.id)
        for chunk in chunks
    ]
    if values:
        session.execute(insert(ChunkRow), values)
    indexing_queries.add_to_generation(session, generation.id, read.id, generation.rules)
    return True


def chunk_ids(session: Session, generation_id: int) -> set[str]:
    """The ids of all chunks of a generation."""
    of_generation = ChunkRow.generation_id == generation_id
    return set(session.scalars(select(ChunkRow.id).where(of_generation)))


def _chunks_by_item(generation_id: int) -> Select[str]:
    """The ids of its chunks, by way of their items: for that there is an index.

    Without, each look would read all that is stored. An index of generations alone would be worse:
    SQLite, which has no statistics here, then takes it for the chunks of one document, too.
    """
    of_items = ChunkRow.item_id.in_(select(ItemRow.id))
    return select(ChunkRow.id).where(ChunkRow.generation_id == generation_id, of_items)


def _stored(row: GenerationRow, *, is_current: bool) -> StoredGeneration:
    return StoredGeneration(
        generation=Generation(row.id, row.fingerprint, row.splitter, row.dimension),
        embedding_provider=row.embedding_provider,
        embedding_model=row.embedding_model,
        created_at=row.created_at,
        is_current=is_current,
    )
