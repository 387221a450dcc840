"""On PostgreSQL, keys of documents may be longer than its ordered indexes can hold (2,704 bytes).

Equal keys are found by their hash there, and no two documents of an item share a number, which is
derived from the key.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.drop_index("uq_documents_item_id_key", table_name="documents")
        op.create_index(
            "uq_documents_item_id_number", "documents", ["item_id", "number"], unique=True
        )
        op.create_index("ix_documents_key", "documents", ["key"], postgresql_using="hash")


def downgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.drop_index("ix_documents_key", table_name="documents")
        op.drop_index("uq_documents_item_id_number", table_name="documents")
        op.create_index("uq_documents_item_id_key", "documents", ["item_id", "key"], unique=True)
