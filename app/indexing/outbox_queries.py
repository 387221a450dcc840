"""SQL of the outbox: rows that name chunks for which an index and SQL may differ."""

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.models import IndexChangeRow
from app.storage_errors import is_about_no_text


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


def oldest_index_change(session: Session) -> tuple[int, list[str] | None] | None:
    """The first open row of the outbox: its id and chunk ids, None for damaged ones."""
    change_id = session.scalar(select(IndexChangeRow.id).order_by(IndexChangeRow.id).limit(1))
    return None if change_id is None else (change_id, _chunks_of_change(session, change_id))


def count_open_changes(session: Session) -> int:
    """Rows of the outbox."""
    return session.scalar(select(func.count()).select_from(IndexChangeRow)) or 0


def open_changes(session: Session) -> set[int]:
    """The ids of the rows of the outbox."""
    return set(session.scalars(select(IndexChangeRow.id)))


def chunks_of_changes(session: Session, change_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """The chunks that each of these rows names; rows that are gone or damaged are left out."""
    named = ((change_id, _chunks_of_change(session, change_id)) for change_id in change_ids)
    return {change_id: frozenset(chunks) for change_id, chunks in named if chunks is not None}


def _chunks_of_change(session: Session, change_id: int) -> list[str] | None:
    """None for a row that is gone, or holds no list of ids, such as JSON cut short."""
    try:
        held = session.scalar(
            select(IndexChangeRow.chunk_ids).where(IndexChangeRow.id == change_id)
        )
    except (ValueError, TypeError):  # of what turns a stored value into one of Python
        return None
    except OperationalError as error:
        if not is_about_no_text(error):
            raise
        return None
    is_sound = isinstance(held, list) and all(isinstance(each, str) for each in held)
    return held if is_sound else None
