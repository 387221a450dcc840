"""Hosts that asked to be left alone, and until when; it holds for items that come later, too."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "host_pauses",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("host", name="pk_host_pauses"),
    )


def downgrade() -> None:
    op.drop_table("host_pauses")
