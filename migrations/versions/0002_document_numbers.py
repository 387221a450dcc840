"""Documents get a number that is known before their row is: the scope of a filtered search."""

import hashlib
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

BATCH = 1000
"""Rows that are read and written at a time."""


def upgrade() -> None:
    op.add_column(
        "documents", sa.Column("number", sa.BigInteger(), nullable=False, server_default="0")
    )
    documents = sa.table(
        "documents", sa.column("id"), sa.column("item_id"), sa.column("key"), sa.column("number")
    )
    page = sa.select(documents.c.id, documents.c.item_id, documents.c.key)
    page = page.order_by(documents.c.id).limit(BATCH)
    write = (
        sa.update(documents)
        .where(documents.c.id == sa.bindparam("row"))
        .values(number=sa.bindparam("value"))
    )
    connection, last_id = op.get_bind(), 0
    while rows := connection.execute(page.where(documents.c.id > last_id)).all():
        numbers = [{"row": row.id, "value": _number(row.item_id, row.key)} for row in rows]
        connection.execute(write, numbers)
        last_id = rows[-1].id


def _number(item_id: int, key: str) -> int:
    # As app.indexing.documents.document_number did when this was written; it must not follow it.
    digest = hashlib.sha256(f"{item_id}\0{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def downgrade() -> None:
    op.drop_column("documents", "number")
