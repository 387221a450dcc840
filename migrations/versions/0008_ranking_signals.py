"""What ranking and filters look at: times, own tags, importance, kinds of chunks."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

BATCH = 1000
"""Rows that are read and written at a time."""
MOST_TAG_CHARACTERS = 200


def upgrade() -> None:
    op.add_column("knowledge_items", sa.Column("importance", sa.Double(), nullable=True))
    op.add_column("documents", sa.Column("modified_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_documents_category", "documents", ["category"])
    op.add_column(
        "chunks",
        sa.Column(
            "chunk_type", sa.String(length=16), nullable=False, server_default=sa.text("'text'")
        ),
    )
    op.add_column("chunks", sa.Column("completeness", sa.Double(), nullable=True))
    op.create_table(
        "document_tags",
        sa.Column("document_id", row_id, nullable=False),
        sa.Column("tag", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            name="fk_document_tags_document_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "tag", name="pk_document_tags"),
    )
    op.create_index("ix_document_tags_tag", "document_tags", ["tag"])
    op.create_table(
        "collection_rankings",
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_collection_rankings"),
    )
    _fill()


def _fill() -> None:
    """Own tags from the list that shows them, times of modification from the stamps of files.

    Chunks stay `text` of unknown completeness until their document is indexed again.
    """
    documents = sa.table(
        "documents",
        sa.column("id"),
        sa.column("stamp"),
        sa.column("category"),
        sa.column("tags", sa.JSON()),
        sa.column("modified_at", sa.DateTime(timezone=True)),
    )
    tags = sa.table("document_tags", sa.column("document_id"), sa.column("tag"))
    columns = (documents.c.id, documents.c.stamp, documents.c.category, documents.c.tags)
    page = sa.select(*columns).order_by(documents.c.id).limit(BATCH)
    write = (
        sa.update(documents)
        .where(documents.c.id == sa.bindparam("row"))
        .values(modified_at=sa.bindparam("moment"), category=sa.bindparam("tidied"))
    )
    connection, last_id = op.get_bind(), 0
    while rows := connection.execute(page.where(documents.c.id > last_id)).all():
        values = [
            {"row": row.id, "moment": _modified_at(row.stamp), "tidied": _tidy(row.category)}
            for row in rows
        ]
        connection.execute(write, values)
        own = [{"document_id": row.id, "tag": tag} for row in rows for tag in _tags(row.tags)]
        if own:
            connection.execute(sa.insert(tags), own)
        last_id = rows[-1].id


# As the loaders did when this was written; it must not follow them.


def _modified_at(stamp: str | None) -> datetime | None:
    parts = (stamp or "").split("-")
    if len(parts) != 4 or not parts[2].isdigit():
        return None
    try:
        return datetime.fromtimestamp(int(parts[2]) / 1e9, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _tidy(category: str | None) -> str | None:
    parts = [part.strip() for part in (category or "").split("/")]
    return "/".join(part for part in parts if part)[:500] or None


def _tags(tags: Any) -> list[str]:
    found = tags if isinstance(tags, list) else []
    parts = (part.strip()[:MOST_TAG_CHARACTERS].strip() for tag in found for part in tag.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def downgrade() -> None:
    op.drop_table("collection_rankings")
    op.drop_index("ix_document_tags_tag", table_name="document_tags")
    op.drop_table("document_tags")
    op.drop_column("chunks", "completeness")
    op.drop_column("chunks", "chunk_type")
    op.drop_index("ix_documents_category", table_name="documents")
    op.drop_column("documents", "modified_at")
    op.drop_column("knowledge_items", "importance")
