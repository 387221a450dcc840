"""SQL that has the indexes brought up to date for chunks: it names them in the outbox."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.models import ChunkRow, IndexChangeRow, ItemRow
from app.slices import slices

CHANGE_BATCH = 1000
"""Chunk ids in one row of the outbox: other work waits only as long as one row takes to settle."""


def note_chunks(session: Session, chunk_ids: Sequence[str]) -> None:
    """Put these chunks into the outbox."""
    for some in slices(chunk_ids, CHANGE_BATCH):
        session.add(IndexChangeRow(chunk_ids=some))
    session.flush()


def note_index_changes(session: Session, item_id: int) -> None:
    """Put all chunks of an item into the outbox: the indexes must be brought up to date."""
    of_item = select(ChunkRow.id).where(ChunkRow.item_id == item_id)
    note_chunks(session, list(session.scalars(of_item)))


def note_collection_changes(session: Session, collection: str) -> None:
    """Put all chunks of the items of a collection into the outbox, in place of what is there.

    Open rows that name no other chunks are deleted. Keeping them, and not naming their chunks
    again, would not do: if one is being settled right now, that may have read the old state of SQL.
    """
    of_collection = select(ItemRow.id).where(ItemRow.collection == collection)
    noted = set(session.scalars(select(ChunkRow.id).where(ChunkRow.item_id.in_(of_collection))))
    open_rows = session.execute(
        select(IndexChangeRow.id, IndexChangeRow.chunk_ids).execution_options(yield_per=20)
    )
    # An empty row belongs to a publishing under way, which will name in it what it has touched.
    replaced = [row.id for row in open_rows if row.chunk_ids and noted.issuperset(row.chunk_ids)]
    for these in slices(replaced):
        session.execute(delete(IndexChangeRow).where(IndexChangeRow.id.in_(these)))
    note_chunks(session, sorted(noted))
