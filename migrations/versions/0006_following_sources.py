"""Items are followed: how often, when next, and what each indexing run changed."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("knowledge_items", sa.Column("refresh_interval", sa.Integer(), nullable=True))
    op.add_column(
        "knowledge_items",
        sa.Column("refresh_failures", sa.Integer(), nullable=False, server_default="0"),
    )
    op.add_column("knowledge_items", sa.Column("next_refresh_at", moment, nullable=True))
    op.add_column("knowledge_items", sa.Column("mounts", sa.JSON(), nullable=True))
    op.create_index(
        op.f("ix_knowledge_items_next_refresh_at"), "knowledge_items", ["next_refresh_at"]
    )
    # What is indexed already is due; the start of the service spreads what is.
    op.execute(
        "UPDATE knowledge_items SET next_refresh_at = indexed_at WHERE indexed_at IS NOT NULL"
    )
    op.create_table(
        "indexing_runs",
        sa.Column("id", row_id, nullable=False),
        sa.Column("item_id", row_id, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("finished_at", moment, nullable=False),
        sa.Column("documents_added", sa.Integer(), nullable=False),
        sa.Column("documents_changed", sa.Integer(), nullable=False),
        sa.Column("documents_removed", sa.Integer(), nullable=False),
        sa.Column("documents_unchanged", sa.Integer(), nullable=False),
        sa.Column("documents_skipped", sa.Integer(), nullable=False),
        sa.Column("chunks_added", sa.Integer(), nullable=False),
        sa.Column("chunks_removed", sa.Integer(), nullable=False),
        sa.Column("added", sa.JSON(), nullable=False),
        sa.Column("changed", sa.JSON(), nullable=False),
        sa.Column("removed", sa.JSON(), nullable=False),
        sa.CheckConstraint(
            "outcome IN ('changed', 'unchanged', 'failed', 'stopped', 'removed')",
            name=op.f("ck_indexing_runs_outcome"),
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["knowledge_items.id"],
            name=op.f("fk_indexing_runs_item_id_knowledge_items"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_indexing_runs")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_indexing_runs_item_id_id", "indexing_runs", ["item_id", "id"])


def downgrade() -> None:
    op.drop_table("indexing_runs")
    op.drop_index(op.f("ix_knowledge_items_next_refresh_at"), table_name="knowledge_items")
    op.drop_column("knowledge_items", "mounts")
    op.drop_column("knowledge_items", "next_refresh_at")
    op.drop_column("knowledge_items", "refresh_failures")
    op.drop_column("knowledge_items", "refresh_interval")
