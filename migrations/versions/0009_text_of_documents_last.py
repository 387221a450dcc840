"""The text of documents stands in the last column again, behind those that were added since.

SQLite reads a row from its beginning: what stands behind a text of 20 kB costs reading its pages.
PostgreSQL keeps long texts elsewhere.
"""

import sqlite3
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DROPS_COLUMNS_SINCE = (3, 35)
"""The version of SQLite; with an older one the order stays, and filters are a little slower."""


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column("documents", "content", server_default=sa.text("''"))
    elif sqlite3.sqlite_version_info >= DROPS_COLUMNS_SINCE:
        op.add_column(
            "documents", sa.Column("text", sa.Text(), nullable=False, server_default=sa.text("''"))
        )
        op.execute("UPDATE documents SET text = content")
        op.execute("ALTER TABLE documents DROP COLUMN content")
        op.execute("ALTER TABLE documents RENAME COLUMN text TO content")


def downgrade() -> None:
    """Neither the order of columns nor the default means anything to older versions."""
