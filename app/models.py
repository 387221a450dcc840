"""The tables. SQL is the truth; every index is a cache of what stands here."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    MetaData,
    String,
    Text,
    select,
    text,
    true,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.clock import now
from app.column_types import RowId, StoredNames, StoredSettings, StoredVector, UTCDateTime
from app.labels import MOST_CATEGORY_CHARACTERS, MOST_LICENCE_CHARACTERS, MOST_TAG_CHARACTERS

ITEM_STATUSES = ("pending", "active", "error", "archived")
RUN_OUTCOMES = ("changed", "unchanged", "failed", "stopped", "removed")
JOB_STATES = ("queued", "running", "succeeded", "failed", "cancelled")
QUEUED_JOB = "state = 'queued'"
"""The condition for jobs of which no two may do the same."""


class Base(DeclarativeBase):
    """Declarative base; constraint names are fixed so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {datetime: UTCDateTime}


class CollectionRow(Base):
    """A named set of items whose vectors share one space."""

    __tablename__ = "collections"

    name: Mapped[str] = mapped_column(String(512), primary_key=True)
    embedding_model: Mapped[str] = mapped_column(String(512))
    embedding_fingerprint: Mapped[str] = mapped_column(String(16))
    dimension: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(default=now)


class CollectionRankingRow(Base):
    """How searches of a collection are ranked, where they do not say so themselves."""

    __tablename__ = "collection_rankings"

    name: Mapped[str] = mapped_column(String(512), primary_key=True)
    settings: Mapped[dict[str, Any]] = mapped_column(StoredSettings)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class CollectionLanguageRow(Base):
    """The language of a collection's items, for the lexical index; no row: that of the settings."""

    __tablename__ = "collection_languages"

    name: Mapped[str] = mapped_column(String(512), primary_key=True)
    language: Mapped[str] = mapped_column(String(32))
    """As Snowball names it."""
    updated_at: Mapped[datetime] = mapped_column(default=now)


class GenerationRow(Base):
    """One way to split and embed everything: a model, and the rules of a splitter.

    Each generation has its own chunks. The current one answers; the next one is made beside it,
    from the text of the documents; the previous one is kept until it is dropped.
    """

    __tablename__ = "generations"
    __table_args__ = (
        Index("uq_generations_fingerprint_splitter", "fingerprint", "splitter", unique=True),
        {"sqlite_autoincrement": True},  # an id names the files of its indexes: it never comes back
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    embedding_provider: Mapped[str | None] = mapped_column(String(32))
    """None in rows from before providers were stored: then it is the one that the settings name."""
    embedding_model: Mapped[str] = mapped_column(String(512))
    fingerprint: Mapped[str] = mapped_column(String(16))
    dimension: Mapped[int]
    splitter: Mapped[str] = mapped_column(String(100))
    """The fingerprint of the splitter, and that of the rule for contexts."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class CurrentGenerationRow(Base):
    """The single row that says which generation answers: changing it is the switch."""

    __tablename__ = "current_generation"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1)
    generation_id: Mapped[int] = mapped_column(ForeignKey("generations.id"))


class GenerationDocumentRow(Base):
    """A document whose present text a generation has split and embedded."""

    __tablename__ = "generation_documents"

    generation_id: Mapped[int] = mapped_column(
        ForeignKey("generations.id", ondelete="CASCADE"), primary_key=True
    )
    document_id: Mapped[int] = mapped_column(
        ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    splitter: Mapped[str] = mapped_column(String(100))
    """The rules that made the chunks: newer than the generation's, if the document changed between
    an upgrade and the switch that follows it."""


class ItemRow(Base):
    """A knowledge item: a source that somebody wants to be searchable."""

    __tablename__ = "knowledge_items"
    __table_args__ = (
        CheckConstraint(f"status IN {ITEM_STATUSES}", name="status"),
        Index("ix_knowledge_items_created_at_id", "created_at", "id"),
        {"sqlite_autoincrement": True},  # the id of a deleted item never comes back
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    title: Mapped[str] = mapped_column(String(500))
    uri: Mapped[str] = mapped_column(Text)
    document_type: Mapped[str] = mapped_column(String(32))
    category: Mapped[str | None] = mapped_column(String(MOST_CATEGORY_CHARACTERS), index=True)
    collection: Mapped[str] = mapped_column(String(512), index=True)
    licence: Mapped[str | None] = mapped_column(String(MOST_LICENCE_CHARACTERS))
    importance: Mapped[float | None]
    """0 to 1, as its owner rates it; for rankings that count it."""
    status: Mapped[str] = mapped_column(String(16), default="pending", index=True)
    content_hash: Mapped[str | None] = mapped_column(String(64))
    error: Mapped[str | None] = mapped_column(Text)
    refresh_interval: Mapped[int | None]
    """Seconds between two looks at the source; 0: never; None: the default of its type."""
    refresh_failures: Mapped[int] = mapped_column(default=0, server_default="0")
    """How many indexing runs have failed since the last that succeeded."""
    next_refresh_at: Mapped[datetime | None] = mapped_column(index=True)
    """When the schedule looks at the source again."""
    mounts: Mapped[list[str] | None] = mapped_column(StoredNames)
    """Where other file systems were mounted in its folder when it was last indexed."""
    last_fetched_at: Mapped[datetime | None]
    indexed_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class HostPauseRow(Base):
    """A host that asked to be left alone until a time."""

    __tablename__ = "host_pauses"

    host: Mapped[str] = mapped_column(Text, primary_key=True)
    """As `app.adapters.web_hosts.host_of` writes it."""
    until: Mapped[datetime]


class TagRow(Base):
    """A tag of an item; `position` keeps the order in which the tags were given."""

    __tablename__ = "item_tags"

    item_id: Mapped[int] = mapped_column(
        ForeignKey("knowledge_items.id", ondelete="CASCADE"), primary_key=True
    )
    tag: Mapped[str] = mapped_column(String(MOST_TAG_CHARACTERS), primary_key=True, index=True)
    position: Mapped[int]


class DocumentRow(Base):
    """One file or page of an item, as it was last read."""

    __tablename__ = "documents"
    __table_args__ = (
        # On PostgreSQL this index differs, and there is another by hash: see revision 0011.
        Index("uq_documents_item_id_key", "item_id", "key", unique=True),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("knowledge_items.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(Text)
    """Unique within the item and stable: relative path or address."""
    number: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """Derived from item and key: the document's number in the indexes. Never 0 once stored."""
    document_id: Mapped[str] = mapped_column(Text)
    """What the document calls itself: from frontmatter, else the key."""
    uri: Mapped[str] = mapped_column(Text)
    title: Mapped[str | None] = mapped_column(Text)
    category: Mapped[str | None] = mapped_column(String(MOST_CATEGORY_CHARACTERS), index=True)
    """The document's own, which takes precedence over its item's."""
    tags: Mapped[list[str]] = mapped_column(StoredNames)
    licence: Mapped[str | None] = mapped_column(String(MOST_LICENCE_CHARACTERS))
    language: Mapped[str | None] = mapped_column(String(64))
    content_hash: Mapped[str] = mapped_column(String(64))
    stamp: Mapped[str | None] = mapped_column(String(200))
    first_line: Mapped[int]
    """1-based line of the source at which the content starts."""
    modified_at: Mapped[datetime | None]
    """When its source says that it was last changed."""
    fetched_at: Mapped[datetime]
    indexed_at: Mapped[datetime]
    content: Mapped[str] = mapped_column(Text, server_default=text("''"))
    """The last column, so that SQLite reads the others without touching the text."""


class DocumentTagRow(Base):
    """A tag that a document gives itself, for filters; `documents.tags` keeps the order."""

    __tablename__ = "document_tags"

    document_id: Mapped[int] = mapped_column(
        ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True
    )
    tag: Mapped[str] = mapped_column(String(MOST_TAG_CHARACTERS), primary_key=True, index=True)


class ChunkRow(Base):
    """A stretch of a document: `document.content[start_index:end_index] == content`."""

    __tablename__ = "chunks"
    __table_args__ = (
        Index("ix_chunks_document_id_chunk_index", "document_id", "chunk_index"),
        Index("ix_chunks_item_id_generation_id", "item_id", "generation_id"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("knowledge_items.id", ondelete="CASCADE"))
    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    chunk_index: Mapped[int]
    start_index: Mapped[int]
    end_index: Mapped[int]
    start_line: Mapped[int]
    end_line: Mapped[int]
    heading_path: Mapped[list[str]] = mapped_column(StoredNames)
    text_hash: Mapped[str] = mapped_column(String(64), index=True)
    """SHA-256 of the text that was embedded: the key into `embeddings`."""
    chunk_type: Mapped[str] = mapped_column(String(16), server_default=text("'text'"))
    """text, code, table, list or heading."""
    completeness: Mapped[float | None]
    """0 to 1; None until its document is indexed by a splitter that knows it."""
    context: Mapped[str] = mapped_column(Text, server_default=text("''"))
    """What was embedded before the content: see app.indexing.embedded_text."""
    content: Mapped[str] = mapped_column(Text)
    generation_id: Mapped[int] = mapped_column(RowId, server_default=text("1"))
    """No foreign key: SQLite adds none to a table that has rows."""


CURRENT_GENERATION = select(CurrentGenerationRow.generation_id).scalar_subquery()
IS_CURRENT = ChunkRow.generation_id == CURRENT_GENERATION
"""Of chunks: they belong to the generation that answers."""


class EmbeddingRow(Base):
    """A vector, kept by what was embedded and under which model: equal text is embedded once."""

    __tablename__ = "embeddings"

    text_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(16), primary_key=True)
    vector: Mapped[bytes] = mapped_column(StoredVector)
    """Little-endian float32."""


class IndexingRunRow(Base):
    """What indexing an item changed; consecutive runs that changed nothing share a row."""

    __tablename__ = "indexing_runs"
    __table_args__ = (
        CheckConstraint(f"outcome IN {RUN_OUTCOMES}", name="outcome"),
        Index("ix_indexing_runs_item_id_id", "item_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("knowledge_items.id", ondelete="CASCADE"))
    outcome: Mapped[str] = mapped_column(String(16))
    error: Mapped[str | None] = mapped_column(Text)
    runs: Mapped[int] = mapped_column(default=1)
    """How many runs the row stands for."""
    started_at: Mapped[datetime]
    """When the first of them began."""
    finished_at: Mapped[datetime]
    """When the last of them ended."""
    documents_added: Mapped[int]
    documents_changed: Mapped[int]
    documents_removed: Mapped[int]
    documents_unchanged: Mapped[int]
    documents_skipped: Mapped[int]
    chunks_added: Mapped[int]
    chunks_removed: Mapped[int]
    added: Mapped[list[str]] = mapped_column(StoredNames)
    """Keys of documents, up to a bound; so are `changed` and `removed`."""
    changed: Mapped[list[str]] = mapped_column(StoredNames)
    removed: Mapped[list[str]] = mapped_column(StoredNames)


class IndexChangeRow(Base):
    """Outbox: as long as this row is there, an index may differ from SQL in these chunks."""

    __tablename__ = "index_changes"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    chunk_ids: Mapped[list[str]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class IndexStampRow(Base):
    """The stamp with which an index was last closed cleanly, together with this database."""

    __tablename__ = "index_stamps"

    index_name: Mapped[str] = mapped_column(String(32), primary_key=True)
    stamp: Mapped[str] = mapped_column(String(32))


class JobRow(Base):
    """Work that was promised and outlives the request and the process.

    queued ◄─► running ──► succeeded
      │          ├───────► failed ─────► (retried by hand) ──► queued
      └──────────┴───────► cancelled ──► (retried by hand) ──► queued

    A running job is queued again when the service stopped or died (if that happened too often, it
    fails), or when it failed for a reason that may pass: then it waits until `not_before`. A worker
    may write to a job only as long as `attempt_token` is that of its own claim.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(f"state IN {JOB_STATES}", name="state"),
        Index("ix_jobs_state_id", "state", "id"),
        Index(
            "uq_jobs_queued_kind_arguments_key",
            "kind",
            "arguments_key",
            unique=True,
            sqlite_where=text(QUEUED_JOB),
            postgresql_where=text(QUEUED_JOB),
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    arguments: Mapped[dict[str, Any]] = mapped_column(JSON)
    item_id: Mapped[int | None] = mapped_column(RowId)
    """The item that the job is about, if any; no foreign key, since jobs outlive items."""
    state: Mapped[str] = mapped_column(String(16), default="queued")
    attempts: Mapped[int] = mapped_column(default=0)
    """Starts since the job was queued or retried, or since an attempt made progress."""
    furthest: Mapped[int] = mapped_column(default=0, server_default="0")
    """The most documents that any attempt had reached when its process died."""
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    priority: Mapped[int] = mapped_column(default=0, server_default="0")
    """Higher goes first: work that a client waits for goes before background work."""
    arguments_key: Mapped[str | None] = mapped_column(String(64))
    """SHA-256 of the arguments; None for a job that was queued again beside another like it."""
    retryable: Mapped[bool] = mapped_column(default=True, server_default=true())
    """Whether the job is retried by itself after a failure that may pass."""
    retries: Mapped[int] = mapped_column(default=0, server_default="0")
    """How often it has been retried by itself since it was added or retried by hand."""
    not_before: Mapped[datetime | None]
    attempt_token: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """Raised at every claim."""
    lease_expires_at: Mapped[datetime | None]
    """When a running job may be taken over, unless its worker renews the lease before then."""
    progress: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    error: Mapped[str | None] = mapped_column(Text)
    problem: Mapped[str | None] = mapped_column(String(64))
    """The slug of the error, see app.errors."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class LeftOutItemRow(Base):
    """An item that was taken out of the index after a job of all items was promised.

    That job leaves it out, however often it starts over, and tells nothing of it any more.
    """

    __tablename__ = "left_out_items"

    job_id: Mapped[int] = mapped_column(
        RowId, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    item_id: Mapped[int] = mapped_column(
        RowId, ForeignKey("knowledge_items.id", ondelete="CASCADE"), primary_key=True, index=True
    )
