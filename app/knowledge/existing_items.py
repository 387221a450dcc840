"""Whether there is an item, and what is said where there is none."""

from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from app.errors import InvalidRequestError, NotFoundError
from app.models import ItemRow
from app.web.numbers import LARGEST_ID


def require_item_id(item_id: int) -> None:
    """Raise InvalidRequestError for what is no number of an item, whether there is one or not.

    SQLite finds item 1 under "1", 1.0 and True, too; whoever works on it goes by the number.
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

    With `created_at`, that very one: whoever numbers items may have given its id to another since.
    """
    # Compared here: a damaged time is that of which `created_at` was read, too.
    found = connection.scalar(select(ItemRow.created_at).where(ItemRow.id == item_id))
    return found is not None and created_at in (None, found)


def require_item(
    connection: Connection | Session, item_id: int, created_at: datetime | None = None
) -> None:
    """Raise NotFoundError where there is no such item; see `item_exists`."""
    if not item_exists(connection, item_id, created_at):
        raise unknown_item(item_id)


def unknown_item(item_id: int) -> NotFoundError:
    """The error for an item that there is not."""
    return NotFoundError(f"There is no knowledge item {item_id}.")
