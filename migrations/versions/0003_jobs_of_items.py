"""Jobs know their item and how far they came: no two of an item at once, no poisonous ones."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("item_id", row_id, nullable=True))
    op.add_column("jobs", sa.Column("furthest", sa.Integer(), nullable=False, server_default="0"))
    jobs = sa.table(
        "jobs", sa.column("id"), sa.column("arguments", sa.JSON()), sa.column("item_id")
    )
    connection = op.get_bind()
    for job in connection.execute(sa.select(jobs.c.id, jobs.c.arguments)).all():
        item_id = job.arguments.get("knowledge_id")
        if item_id is not None:
            connection.execute(sa.update(jobs).where(jobs.c.id == job.id).values(item_id=item_id))


def downgrade() -> None:
    op.drop_column("jobs", "furthest")
    op.drop_column("jobs", "item_id")
