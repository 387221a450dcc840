"""Chunks remember the line of context embedded before their text; neighbours are found by index."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "chunks", sa.Column("context", sa.Text(), nullable=False, server_default=sa.text("''"))
    )

    op.drop_index("ix_chunks_document_id", table_name="chunks")
    op.create_index("ix_chunks_document_id_chunk_index", "chunks", ["document_id", "chunk_index"])


def downgrade() -> None:
    op.drop_index("ix_chunks_document_id_chunk_index", table_name="chunks")
    op.create_index("ix_chunks_document_id", "chunks", ["document_id"])
    op.drop_column("chunks", "context")
