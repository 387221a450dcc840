"""Generations: chunks say which model and splitter they were made for.

What is stored becomes the first one. A document says no more by which rules it was cut: that is
a matter of the generation.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "generations",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("embedding_provider", sa.String(32)),
        sa.Column("embedding_model", sa.String(512), nullable=False),
        sa.Column("fingerprint", sa.String(16), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("splitter", sa.String(100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_generations")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_generations_fingerprint_splitter",
        "generations",
        ["fingerprint", "splitter"],
        unique=True,
    )
    op.create_table(
        "current_generation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("generation_id", ROW_ID, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_current_generation_one_row")),
        sa.ForeignKeyConstraint(
            ["generation_id"],
            ["generations.id"],
            name=op.f("fk_current_generation_generation_id_generations"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_current_generation")),
    )
    op.create_table(
        "generation_documents",
        sa.Column("generation_id", ROW_ID, nullable=False),
        sa.Column("document_id", ROW_ID, nullable=False),
        sa.Column("splitter", sa.String(100), nullable=False),
        sa.ForeignKeyConstraint(
            ["generation_id"],
            ["generations.id"],
            name=op.f("fk_generation_documents_generation_id_generations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            name=op.f("fk_generation_documents_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "generation_id", "document_id", name=op.f("pk_generation_documents")
        ),
    )
    op.create_index(
        op.f("ix_generation_documents_document_id"), "generation_documents", ["document_id"]
    )
    op.add_column(
        "chunks", sa.Column("generation_id", ROW_ID, nullable=False, server_default=sa.text("1"))
    )
    op.drop_index(op.f("ix_chunks_item_id"), table_name="chunks")
    op.create_index("ix_chunks_item_id_generation_id", "chunks", ["item_id", "generation_id"])
    _make_first_generation()
    op.drop_column("documents", "splitter")


def _make_first_generation() -> None:
    """Of what is stored, with the rules that most documents were cut by."""
    op.execute(
        "INSERT INTO generations (embedding_model, fingerprint, dimension, splitter, created_at) "
        "SELECT embedding_model, embedding_fingerprint, dimension, COALESCE("
        "(SELECT splitter FROM documents GROUP BY splitter ORDER BY COUNT(*) DESC LIMIT 1), ''), "
        "created_at FROM collections ORDER BY created_at LIMIT 1"
    )
    op.execute("INSERT INTO current_generation (id, generation_id) SELECT 1, id FROM generations")
    op.execute(
        "INSERT INTO generation_documents (generation_id, document_id, splitter) "
        "SELECT generations.id, documents.id, documents.splitter FROM generations, documents"
    )


def downgrade() -> None:
    """Keep what answers; other generations go."""
    op.add_column(
        "documents",
        sa.Column("splitter", sa.String(100), nullable=False, server_default=sa.text("''")),
    )
    op.execute(
        "UPDATE documents SET splitter = COALESCE((SELECT splitter FROM generation_documents "
        "JOIN current_generation USING (generation_id) WHERE document_id = documents.id), '')"
    )
    op.execute(
        "DELETE FROM chunks WHERE generation_id NOT IN "
        "(SELECT generation_id FROM current_generation)"
    )
    op.drop_index("ix_chunks_item_id_generation_id", table_name="chunks")
    op.create_index(op.f("ix_chunks_item_id"), "chunks", ["item_id"])
    op.drop_column("chunks", "generation_id")
    op.drop_table("generation_documents")
    op.drop_table("current_generation")
    op.drop_table("generations")
