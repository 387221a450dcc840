"""Indexing and counting as JSON."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SourceNote(BaseModel):
    """A place in the source, and what is to be said of it."""

    model_config = ConfigDict(from_attributes=True)

    uri: str
    reason: str = Field(examples=["not a text document (.png)"])


class IndexingResult(BaseModel):
    """How indexing one item ended; a failure counts what it changed all the same."""

    model_config = ConfigDict(from_attributes=True)

    success: bool
    knowledge_id: int
    chunks_indexed: int = Field(
        description="Chunks of the item that are searchable now; 0 after a failure, whatever still "
        "is: the item's `chunk_count` tells."
    )
    content_hash: str = Field(description="SHA-256 of what was indexed; empty after a failure.")
    error: str | None = Field(
        None, description="What went wrong.", examples=["File not found: /docs/guide.md"]
    )
    documents: int = Field(description="Documents of the item; 0 after a failure.")
    chunks_added: int
    chunks_removed: int
    chunks_unchanged: int = Field(description="0 after a failure.")
    chunks_embedded: int = Field(
        description="Chunks that went through the model; equal text never does so twice."
    )
    skipped: list[SourceNote]
    warnings: list[SourceNote] = Field(
        description="What is odd about documents that were taken in all the same."
    )
    duration_ms: float


class BulkIndexingResult(BaseModel):
    """How indexing several items ended."""

    model_config = ConfigDict(from_attributes=True)

    success: bool = Field(description="Whether every item succeeded.")
    total: int
    succeeded: int
    failed: int
    chunks_indexed: int
    duration_ms: float
    results: list[IndexingResult]


class RemovalResult(BaseModel):
    """An item's chunks are out of the index."""

    success: Literal[True] = True
    knowledge_id: int
    removed: bool = Field(description="Whether there was anything to remove.")


class CollectionStats(BaseModel):
    """Counts of what is stored, of all collections and statuses: archived items, too."""

    model_config = ConfigDict(from_attributes=True)

    total_chunks: int
    unique_knowledge_items: int = Field(description="Items that have chunks.")
    collection_name: str = Field(description="The default one.")
    embedding_model: str
    dimension: int
    total_items: int
    total_documents: int
    total_embeddings: int = Field(
        description="Different texts whose vectors are kept, also of deleted ones until `compact`."
    )
    vector_index: str
    vector_index_records: int
    lexical_index_records: int
    pending_index_changes: int = Field(description="Outbox rows; 0 when at rest.")
