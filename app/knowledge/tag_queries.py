"""The SQL that reads the tags of items."""

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.orm import Session

from app.models import TagRow
from app.slices import slices

_TAGS = (
    select(TagRow.item_id, TagRow.tag)
    .where(TagRow.item_id.in_(bindparam("item_ids", expanding=True)))
    .order_by(TagRow.position)
)
"""Put together once: that costs more than SQLite takes to answer it."""


def tags_of(
    connection: Connection | Session, item_ids: Collection[int]
) -> dict[int, tuple[str, ...]]:
    """The tags of items, in their order; items without any are left out."""
    tags: dict[int, tuple[str, ...]] = {}
    for some in slices(list(item_ids)):
        for item_id, tag in connection.execute(_TAGS, {"item_ids": some}).all():
            tags[item_id] = (*tags.get(item_id, ()), tag)
    return tags
