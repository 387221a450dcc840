"""Indexing and counting as JSON."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.web.complete_answer import CompleteAnswer


class SourceNote(BaseModel):
    """A place in the source, and what is to be said of it."""

    model_config = ConfigDict(from_attributes=True)

    uri: str = Field(description="Path or address of the place.")
    reason: str = Field(description="In words.", examples=["not a text document (.png)"])


class IndexingResult(BaseModel):
    """How indexing one item ended; a failure counts what it changed all the same."""

    model_config = ConfigDict(from_attributes=True)

    success: bool = Field(description="False: `error` says why.")
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
    chunks_added: int = Field(description="Chunks that were stored anew.")
    chunks_removed: int = Field(description="Chunks that are stored no more.")
    chunks_unchanged: int = Field(description="0 after a failure.")
    chunks_embedded: int = Field(
        description="Chunks that went through the model; equal text never does so twice."
    )
    skipped: list[SourceNote] = Field(
        description="What the source holds and was not taken in, and why."
    )
    warnings: list[SourceNote] = Field(
        description="What is odd about documents that were taken in all the same."
    )
    duration_ms: float = Field(description="Milliseconds that it took.")


class BulkIndexingResult(BaseModel):
    """How indexing several items ended."""

    model_config = ConfigDict(from_attributes=True)

    success: bool = Field(description="Whether every item succeeded.")
    total: int = Field(description="Items that were to be indexed.")
    succeeded: int = Field(description="Items whose indexing succeeded.")
    failed: int = Field(description="The others: `results` says why.")
    chunks_indexed: int = Field(description="Chunks of those that succeeded.")
    duration_ms: float = Field(description="Milliseconds that all of it took.")
    results: list[IndexingResult] = Field(description="One for each item.")


class RemovalResult(CompleteAnswer):
    """An item's chunks are out of the index."""

    success: Literal[True] = True
    knowledge_id: int
    removed: bool = Field(description="Whether there was anything to remove.")


class CollectionStats(BaseModel):
    """Counts of what is stored, of all collections and statuses: archived items, too."""

    model_config = ConfigDict(from_attributes=True)

    total_chunks: int = Field(description="Chunks that SQL holds.")
    unique_knowledge_items: int = Field(description="Items that have chunks.")
    collection_name: str = Field(description="The default one.")
    embedding_model: str = Field(description="The model that answers.")
    dimension: int = Field(description="Numbers of each vector.")
    total_items: int = Field(description="Items, indexed or not.")
    total_documents: int = Field(description="Documents of all items.")
    total_embeddings: int = Field(
        description="Different texts whose vectors are kept, also of deleted ones until `compact`."
    )
    vector_index: str = Field(description="What searches by meaning.", examples=["chroma"])
    vector_index_records: int = Field(description="Chunks that it holds.")
    lexical_index_records: int = Field(description="Chunks that the lexical index holds.")
    pending_index_changes: int = Field(description="Outbox rows; 0 when at rest.")
