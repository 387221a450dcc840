"""All SQL about the rankings of collections."""

from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.models import CollectionRankingRow, ItemRow


def rankings(session: Session) -> dict[str, dict[str, Any]]:
    """The stored settings by collection."""
    rows = session.execute(select(CollectionRankingRow.name, CollectionRankingRow.settings))
    return {row.name: row.settings for row in rows}


def item_counts(session: Session) -> dict[str, int]:
    """How many items name each collection."""
    counted = select(ItemRow.collection, func.count().label("items"))
    rows = session.execute(counted.group_by(ItemRow.collection))
    return {row.collection: row.items for row in rows}


def store_ranking(session: Session, name: str, settings: dict[str, Any]) -> None:
    """Replace what is stored for a collection; nothing said is nothing stored."""
    session.execute(delete(CollectionRankingRow).where(CollectionRankingRow.name == name))
    if settings:
        session.add(CollectionRankingRow(name=name, settings=settings))
