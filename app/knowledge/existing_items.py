"""Checks that an item exists, and makes the errors for when it does not."""

from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from app.errors import InvalidRequestError, NotFoundError
from app.json_numbers import LARGEST_ID
from app.models import ItemRow


def require_item_id(item_id: int) -> None:
    """Raise InvalidRequestError for what cannot be the id of an item, existing or not.

    SQLite would also find item 1 as "1", 1.0 and True, while everything else goes by the number.
    """
    is_number = isinstance(item_id, int) and not isinstance(item_id, bool)
    if not is_number or not 0 < item_id <= LARGEST_ID:
        raise InvalidRequestError(
            f"An item's id is a number from 1 to {LARGEST_ID}.", pointer="#/knowledge_id"
        )


def item_exists(
    connection: Connection | Session, item_id: int, created_at: datetime | None = None
) -> bool:
    """Whether there is such an item, archived or not.

    With `created_at`, whether it is still the same one: a program that numbers items itself may
    have given its id to another since.
    """
    # Compared here and not in SQL: a damaged time is read here as it was read for `created_at`.
    found = connection.scalar(select(ItemRow.created_at).where(ItemRow.id == item_id))
    return found is not None and created_at in (None, found)


def require_item(
    connection: Connection | Session, item_id: int, created_at: datetime | None = None
) -> None:
    """Raise NotFoundError if there is no such item; see `item_exists`."""
    if not item_exists(connection, item_id, created_at):
        raise unknown_item(item_id)


def unknown_item(item_id: int) -> NotFoundError:
    """The error for an item that does not exist."""
    return NotFoundError(f"There is no knowledge item {item_id}.")
