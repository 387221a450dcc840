"""Categories and tags have their accents in one form (NFC), as filters look for them.

Earlier versions kept what a client sent: later ones find no category in NFD, as macOS writes names
of files.
"""

import unicodedata
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

BATCH = 1000
"""Rows that are read and written at a time."""

MOST_CATEGORY_CHARACTERS = 500
MOST_TAG_CHARACTERS = 200

items = sa.table("knowledge_items", *map(sa.column, ("id", "category")))
item_tags = sa.table("item_tags", *map(sa.column, ("item_id", "tag", "position")))
documents = sa.table(
    "documents", sa.column("id"), sa.column("category"), sa.column("tags", sa.JSON())
)
document_tags = sa.table("document_tags", *map(sa.column, ("document_id", "tag")))


def upgrade() -> None:
    _compose_categories(items)
    _compose_categories(documents)
    _compose_tags_of_items()
    _compose_tags_of_documents()


def _compose_categories(table: sa.TableClause) -> None:
    connection, last_id = op.get_bind(), 0
    page = sa.select(table.c.id, table.c.category).order_by(table.c.id).limit(BATCH)
    while rows := connection.execute(page.where(table.c.id > last_id)).all():
        last_id = rows[-1].id
        for row in rows:
            if row.category is not None and not _is_composed(row.category):
                category = _composed(row.category)[:MOST_CATEGORY_CHARACTERS]
                changed = sa.update(table).where(table.c.id == row.id)
                connection.execute(changed.values(category=category))


def _compose_tags_of_items() -> None:
    connection = op.get_bind()
    for item_id in _owners_of_others(item_tags.c.item_id, item_tags.c.tag):
        of_item = item_tags.c.item_id == item_id
        found = sa.select(item_tags.c.tag).where(of_item).order_by(item_tags.c.position)
        tags = _composed_tags(connection.scalars(found))
        connection.execute(sa.delete(item_tags).where(of_item))
        rows = [{"item_id": item_id, "tag": tag, "position": n} for n, tag in enumerate(tags)]
        connection.execute(sa.insert(item_tags), rows)


def _compose_tags_of_documents() -> None:
    connection = op.get_bind()
    for document_id in _owners_of_others(document_tags.c.document_id, document_tags.c.tag):
        of_document = document_tags.c.document_id == document_id
        tags = _composed_tags(connection.scalars(sa.select(document_tags.c.tag).where(of_document)))
        connection.execute(sa.delete(document_tags).where(of_document))
        rows = [{"document_id": document_id, "tag": tag} for tag in tags]
        connection.execute(sa.insert(document_tags), rows)
        shown = connection.scalar(sa.select(documents.c.tags).where(documents.c.id == document_id))
        if isinstance(shown, list) and all(isinstance(tag, str) for tag in shown):
            changed = sa.update(documents).where(documents.c.id == document_id)
            connection.execute(changed.values(tags=_composed_tags(shown)))


def _owners_of_others(owner: sa.ColumnClause[int], tag: sa.ColumnClause[str]) -> list[int]:
    """Those with a tag in another form; all tags are read once."""
    rows = op.get_bind().execute(sa.select(owner, tag).order_by(owner)).yield_per(BATCH)
    return list(dict.fromkeys(row[0] for row in rows if not _is_composed(row[1])))


# As app.accents did when this was written; it must not follow it.


def _is_composed(label: str) -> bool:
    return unicodedata.is_normalized("NFC", label)


def _composed(label: str) -> str:
    return unicodedata.normalize("NFC", label)


def _composed_tags(tags: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(_composed(tag)[:MOST_TAG_CHARACTERS] for tag in tags))


def downgrade() -> None:
    """Labels stay as they are: older versions find them, too."""
