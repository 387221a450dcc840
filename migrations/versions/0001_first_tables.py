"""The first tables: items, documents, chunks, vectors, outbox, jobs."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "collections",
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("embedding_model", sa.String(length=512), nullable=False),
        sa.Column("embedding_fingerprint", sa.String(length=16), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_collections"),
    )
    op.create_table(
        "embeddings",
        sa.Column("text_hash", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("text_hash", "fingerprint", name="pk_embeddings"),
    )
    op.create_table(
        "index_changes",
        sa.Column("id", row_id, nullable=False),
        sa.Column("chunk_ids", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_index_changes"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "jobs",
        sa.Column("id", row_id, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')",
            name="ck_jobs_state",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_state_id", "jobs", ["state", "id"], unique=False)
    op.create_table(
        "knowledge_items",
        sa.Column("id", row_id, nullable=False),
        sa.Column("title", sa.String(length=500), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("document_type", sa.String(length=32), nullable=False),
        sa.Column("category", sa.String(length=500), nullable=True),
        sa.Column("collection", sa.String(length=512), nullable=False),
        sa.Column("licence", sa.String(length=200), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("last_fetched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("indexed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'error', 'archived')", name="ck_knowledge_items_status"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_knowledge_items"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_knowledge_items_category", "knowledge_items", ["category"], unique=False)
    op.create_index(
        "ix_knowledge_items_collection", "knowledge_items", ["collection"], unique=False
    )
    op.create_index(
        "ix_knowledge_items_created_at_id", "knowledge_items", ["created_at", "id"], unique=False
    )
    op.create_index("ix_knowledge_items_status", "knowledge_items", ["status"], unique=False)
    op.create_table(
        "documents",
        sa.Column("id", row_id, nullable=False),
        sa.Column("item_id", row_id, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("category", sa.String(length=500), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("licence", sa.String(length=200), nullable=True),
        sa.Column("language", sa.String(length=64), nullable=True),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("stamp", sa.String(length=200), nullable=True),
        sa.Column("splitter", sa.String(length=100), nullable=False),
        sa.Column("first_line", sa.Integer(), nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("indexed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["knowledge_items.id"],
            name="fk_documents_item_id_knowledge_items",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_documents_item_id_key", "documents", ["item_id", "key"], unique=True)
    op.create_table(
        "item_tags",
        sa.Column("item_id", row_id, nullable=False),
        sa.Column("tag", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["knowledge_items.id"],
            name="fk_item_tags_item_id_knowledge_items",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("item_id", "tag", name="pk_item_tags"),
    )
    op.create_index("ix_item_tags_tag", "item_tags", ["tag"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("item_id", row_id, nullable=False),
        sa.Column("document_id", row_id, nullable=False),
        sa.Column("chunk_index", sa.Integer(), nullable=False),
        sa.Column("start_index", sa.Integer(), nullable=False),
        sa.Column("end_index", sa.Integer(), nullable=False),
        sa.Column("start_line", sa.Integer(), nullable=False),
        sa.Column("end_line", sa.Integer(), nullable=False),
        sa.Column("heading_path", sa.JSON(), nullable=False),
        sa.Column("text_hash", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            name="fk_chunks_document_id_documents",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["knowledge_items.id"],
            name="fk_chunks_item_id_knowledge_items",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_chunks"),
    )
    op.create_index("ix_chunks_document_id", "chunks", ["document_id"], unique=False)
    op.create_index("ix_chunks_item_id", "chunks", ["item_id"], unique=False)
    op.create_index("ix_chunks_text_hash", "chunks", ["text_hash"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_chunks_text_hash", table_name="chunks")
    op.drop_index("ix_chunks_item_id", table_name="chunks")
    op.drop_index("ix_chunks_document_id", table_name="chunks")
    op.drop_table("chunks")
    op.drop_index("ix_item_tags_tag", table_name="item_tags")
    op.drop_table("item_tags")
    op.drop_index("uq_documents_item_id_key", table_name="documents")
    op.drop_table("documents")
    op.drop_index("ix_knowledge_items_status", table_name="knowledge_items")
    op.drop_index("ix_knowledge_items_created_at_id", table_name="knowledge_items")
    op.drop_index("ix_knowledge_items_collection", table_name="knowledge_items")
    op.drop_index("ix_knowledge_items_category", table_name="knowledge_items")
    op.drop_table("knowledge_items")
    op.drop_index("ix_jobs_state_id", table_name="jobs")
    op.drop_table("jobs")
    op.drop_table("index_changes")
    op.drop_table("embeddings")
    op.drop_table("collections")
