"""Indexing and searching as JSON."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from app.knowledge.schemas import Category, FilterText, Tags
from app.search.requests import SearchRequest
from app.web.pagination import LARGEST_ID

KnowledgeId = Annotated[int, Field(ge=1, le=LARGEST_ID)]
MOST_KNOWLEDGE_IDS = 10_000


HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")


def _searchable(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    if HALF_CHARACTER.search(value):
        raise ValueError("must not contain halves of characters")
    return value


Query = Annotated[
    str,
    AfterValidator(_searchable),
    Field(
        min_length=1,
        max_length=8000,
        examples=["How to configure the database connection?"],
        json_schema_extra={"pattern": r"\S"},
    ),
]


def _is_number(value: object) -> object:
    """Refuse what Pydantic would take for a number, against what the schema says."""
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004, Pydantic reports ValueError
    return value


JsonKnowledgeId = Annotated[KnowledgeId, BeforeValidator(_is_number)]
ResultCount = Annotated[int, Field(ge=1, le=100), BeforeValidator(_is_number)]
Score = Annotated[float, Field(ge=0, le=1), BeforeValidator(_is_number)]


class SourceNote(BaseModel):
    """A place in the source, and what is to be said of it."""

    model_config = ConfigDict(from_attributes=True)

    uri: str
    reason: str = Field(examples=["not a text document (.png)"])


class IndexingResult(BaseModel):
    """How indexing one item ended."""

    model_config = ConfigDict(from_attributes=True)

    success: bool
    knowledge_id: int
    chunks_indexed: int = Field(description="Chunks of the item that are searchable now.")
    content_hash: str = Field(description="SHA-256 of what was indexed; empty after a failure.")
    error: str | None = Field(
        None, description="What went wrong.", examples=["File not found: /docs/guide.md"]
    )
    documents: int = Field(description="Documents of the item.")
    chunks_added: int
    chunks_removed: int
    chunks_unchanged: int
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


class SearchBody(BaseModel):
    """A question, and what may answer it."""

    model_config = ConfigDict(extra="forbid")

    query: Query
    n_results: ResultCount = 5
    category: Category = None
    tags: Tags | None = None
    tags_match: Literal["any", "all"] = "any"
    knowledge_ids: list[JsonKnowledgeId] | None = Field(None, max_length=MOST_KNOWLEDGE_IDS)
    collection: FilterText | None = None
    min_score: Score | None = Field(None, description="Results under this cosine are left out.")

    def request(self) -> SearchRequest:
        """As the service takes it."""
        ids = self.knowledge_ids
        return SearchRequest(
            query=self.query,
            n_results=self.n_results,
            category=self.category,
            tags=tuple(self.tags or ()),
            tags_match=self.tags_match,
            knowledge_ids=None if ids is None else tuple(ids),
            collection=self.collection,
            min_score=self.min_score,
        )


class SearchResult(BaseModel):
    """A chunk that answers, and where it stands."""

    model_config = ConfigDict(from_attributes=True)

    content: str = Field(description="The source's own words.")
    knowledge_id: int
    title: str
    uri: str
    score: float = Field(description="Cosine similarity of query and chunk, 0 to 1.")
    chunk_index: int
    chunk_id: str
    document_title: str | None
    document_uri: str
    start_index: int
    end_index: int
    start_line: int
    end_line: int
    heading_path: list[str]
    category: str | None
    tags: list[str]
    licence: str | None
    language: str | None
    citation: str = Field(examples=["guide/auth.md#L120-L135"])


class SearchAnswer(BaseModel):
    """The results, best first."""

    model_config = ConfigDict(from_attributes=True)

    query: str
    results: list[SearchResult]
    total_results: int = Field(description="Results in this answer.")
    degraded: list[str] = Field(
        description="What could not take part, in words; empty when all is well."
    )
    duration_ms: float


class CollectionStats(BaseModel):
    """Counts of what is stored and searchable."""

    model_config = ConfigDict(from_attributes=True)

    total_chunks: int
    unique_knowledge_items: int = Field(description="Items that have chunks.")
    collection_name: str
    embedding_model: str
    dimension: int
    total_items: int
    total_documents: int
    total_embeddings: int = Field(description="Different texts that were embedded, ever.")
    vector_index: str
    vector_index_records: int
    pending_index_changes: int = Field(description="Outbox rows; 0 when at rest.")
