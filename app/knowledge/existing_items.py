"""Whether there is an item, and what is said where there is none."""

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.models import ItemRow


def item_exists(connection: Connection | Session, item_id: int) -> bool:
    """Whether there is such an item, archived or not."""
    return connection.scalar(select(ItemRow.id).where(ItemRow.id == item_id)) is not None


def require_item(connection: Connection | Session, item_id: int) -> None:
    """Raise NotFoundError where there is no such item."""
    if not item_exists(connection, item_id):
        raise unknown_item(item_id)


def unknown_item(item_id: int) -> NotFoundError:
    """The error for an item that there is not."""
    return NotFoundError(f"There is no knowledge item {item_id}.")
