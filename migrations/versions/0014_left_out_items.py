"""Which items a job of all items leaves out: those that were taken out after it was promised."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "left_out_items",
        sa.Column("job_id", ROW_ID, nullable=False),
        sa.Column("item_id", ROW_ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
            name=op.f("fk_left_out_items_job_id_jobs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["knowledge_items.id"],
            name=op.f("fk_left_out_items_item_id_knowledge_items"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "item_id", name=op.f("pk_left_out_items")),
    )
    op.create_index(op.f("ix_left_out_items_item_id"), "left_out_items", ["item_id"])


def downgrade() -> None:
    op.drop_table("left_out_items")
