"""SQL of the outbox: rows that name chunks for which an index and SQL may differ."""

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.indexing.queries import slices
from app.models import IndexChangeRow


def add_index_change(session: Session, chunk_ids: Sequence[str]) -> int:
    """Note chunks for which an index may differ from SQL; returns the row's id."""
    row = IndexChangeRow(chunk_ids=list(chunk_ids))
    session.add(row)
    session.flush()
    return row.id


def update_index_change(session: Session, change_id: int, chunk_ids: Sequence[str]) -> None:
    """Note other chunks instead; when there are none, the row is closed."""
    if chunk_ids:
        session.get_one(IndexChangeRow, change_id).chunk_ids = list(chunk_ids)
    else:
        close_index_change(session, change_id)


def close_index_change(session: Session, change_id: int) -> None:
    """Both indexes agree with SQL on these chunks again."""
    session.execute(delete(IndexChangeRow).where(IndexChangeRow.id == change_id))


def oldest_index_change(session: Session) -> tuple[int, list[str]] | None:
    """The first open row of the outbox: its id and chunk ids."""
    row = session.scalar(select(IndexChangeRow).order_by(IndexChangeRow.id).limit(1))
    return (row.id, list(row.chunk_ids)) if row else None


def count_open_changes(session: Session) -> int:
    """Rows of the outbox."""
    return session.scalar(select(func.count()).select_from(IndexChangeRow)) or 0


def open_changes(session: Session) -> set[int]:
    """The ids of the rows of the outbox."""
    return set(session.scalars(select(IndexChangeRow.id)))


def chunks_of_changes(session: Session, change_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """The chunks that each of these rows names; rows that are gone are left out."""
    columns = (IndexChangeRow.id, IndexChangeRow.chunk_ids)
    return {
        row[0]: frozenset(row[1])
        for some in slices(change_ids)
        for row in session.execute(select(*columns).where(IndexChangeRow.id.in_(some)))
    }
