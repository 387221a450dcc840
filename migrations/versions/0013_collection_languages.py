"""In which language the items of a collection are written, for the lexical index."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "collection_languages",
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("language", sa.String(length=32), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_collection_languages"),
    )


def downgrade() -> None:
    # What was before knows one language: without its stamp, it makes its lexical index anew.
    op.execute("DELETE FROM index_stamps WHERE index_name = 'lexical'")
    op.drop_table("collection_languages")
