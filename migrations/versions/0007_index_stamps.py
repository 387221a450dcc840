"""SQL remembers which state of each index on disk belongs to it."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "index_stamps",
        sa.Column("index_name", sa.String(32), nullable=False),
        sa.Column("stamp", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("index_name", name="pk_index_stamps"),
    )


def downgrade() -> None:
    op.drop_table("index_stamps")
