"""Category and tags as they hold for a document: its own category, and the tags of both."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, bindparam, exists, func, or_, select

from app.knowledge.items import TagsMatch
from app.knowledge.queries import in_category, tagged
from app.models import DocumentRow, DocumentTagRow, ItemRow


def own_or_items_category() -> ColumnElement[str | None]:
    """A document's own category counts, else that of its item: as with licences."""
    return func.coalesce(DocumentRow.category, ItemRow.category)


def all_tags(of_item: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """The item's tags, then those that the document adds."""
    return tuple(dict.fromkeys((*of_item, *own)))


def documents_decide(connection: Connection, category: str | None, tags: Sequence[str]) -> bool:
    """Whether any document's own category or tags make a filter mean more than whole items."""
    if category is not None and connection.scalar(_OWN_CATEGORY) is not None:
        return True
    return bool(tags) and connection.scalar(_OWN_TAG, {"tags": list(set(tags))}) is not None


# Not IS NOT NULL: SQLite would read the whole table.
_OWN_CATEGORY = select(DocumentRow.id).where(DocumentRow.category > "").limit(1)
_OWN_TAG = (
    select(DocumentTagRow.document_id)
    .where(DocumentTagRow.tag.in_(bindparam("tags", expanding=True)))
    .limit(1)
)


def label_conditions(
    category: str | None, tags: Sequence[str], tags_match: TagsMatch, *, of_few: bool
) -> list[ColumnElement[bool]]:
    """The filter as conditions on documents joined with their items; `of_few`: see `tagged`."""
    conditions: list[ColumnElement[bool]] = []
    if category is not None:
        conditions.append(in_category(own_or_items_category(), category))
    if tags_match == "all":
        conditions += [_has_one([tag], of_few=of_few) for tag in dict.fromkeys(tags)]
    elif tags:
        conditions.append(_has_one(tags, of_few=of_few))
    return conditions


def _has_one(tags: Sequence[str], *, of_few: bool) -> ColumnElement[bool]:
    """Whether the document or its item has one of these."""
    own = exists().where(
        DocumentTagRow.document_id == DocumentRow.id, DocumentTagRow.tag.in_(set(tags))
    )
    return or_(tagged(tags, every=False, of_few=of_few), own)
