"""On PostgreSQL, keys of documents may be longer than its ordered indexes can hold (2,704 bytes).

Equal keys are found by their hash there, and no two documents of an item share a number, which is
derived from the key.
"""

import hashlib
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        _tell_numbers_apart()
        op.drop_index("uq_documents_item_id_key", table_name="documents")
        op.create_index(
            "uq_documents_item_id_number", "documents", ["item_id", "number"], unique=True
        )
        op.create_index("ix_documents_key", "documents", ["key"], postgresql_using="hash")


def _tell_numbers_apart() -> None:
    """Two documents of an item with one number were written by no version: both get their own."""
    documents = sa.table(
        "documents",
        sa.column("id", sa.BigInteger()),
        sa.column("item_id", sa.BigInteger()),
        sa.column("key", sa.Text()),
        sa.column("number", sa.BigInteger()),
    )
    numbers = documents.c.item_id, documents.c.number
    shared = sa.select(*numbers).group_by(*numbers).having(sa.func.count() > 1)
    rows = sa.select(documents.c.id, documents.c.item_id, documents.c.key).where(
        sa.tuple_(*numbers).in_(shared)
    )
    connection = op.get_bind()
    for row in connection.execute(rows).all():
        # As app.indexing.documents.document_number did when this was written.
        digest = hashlib.sha256(f"{row.item_id}\0{row.key}".encode()).digest()
        number = int.from_bytes(digest[:8], "big") >> 11
        connection.execute(
            sa.update(documents).where(documents.c.id == row.id).values(number=number)
        )


def downgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.drop_index("ix_documents_key", table_name="documents")
        op.drop_index("uq_documents_item_id_number", table_name="documents")
        op.create_index("uq_documents_item_id_key", "documents", ["item_id", "key"], unique=True)
