"""Rows whose number was given: the numbers that the database gives itself go on after them."""

from sqlalchemy import text
from sqlalchemy.orm import Session


def count_on_from(session: Session, table: str, row_id: int) -> None:
    """Never give this id again, nor one before it; SQLite counts on from the largest by itself.

    The row is there already. `table` is one of ours, whose ids are in its column `id`.
    """
    if session.get_bind().dialect.name == "postgresql":
        sequence = f"{table}_id_seq"
        count_on = f"SELECT setval('{sequence}', GREATEST(last_value, :id)) FROM {sequence}"  # noqa: S608, a name of ours
        session.execute(text(count_on), {"id": row_id})
