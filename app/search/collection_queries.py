"""All SQL about what collections say of themselves: their rankings and languages."""

from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.models import CollectionLanguageRow, CollectionRankingRow, ItemRow


def rankings(session: Session) -> dict[str, dict[str, Any]]:
    """The stored settings by collection."""
    rows = session.execute(select(CollectionRankingRow.name, CollectionRankingRow.settings))
    return {row.name: row.settings for row in rows}


def languages(session: Session) -> dict[str, str]:
    """The stored languages by collection."""
    rows = session.execute(select(CollectionLanguageRow.name, CollectionLanguageRow.language))
    return {row.name: row.language for row in rows}


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


def store_language(session: Session, name: str, language: str | None) -> None:
    """Replace the language of a collection; None: nothing is stored."""
    session.execute(delete(CollectionLanguageRow).where(CollectionLanguageRow.name == name))
    if language is not None:
        session.add(CollectionLanguageRow(name=name, language=language))
