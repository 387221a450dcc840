"""What is asked of a search, and what it answers."""

from dataclasses import dataclass

from app.knowledge.items import ItemFilter


@dataclass(frozen=True)
class SearchRequest:
    """A question and what may answer it."""

    query: str
    n_results: int = 5
    category: str | None = None
    """With everything below it."""
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    knowledge_ids: tuple[int, ...] | None = None
    collection: str | None = None
    min_score: float | None = None

    @property
    def is_filtered(self) -> bool:
        """Whether some items are ruled out."""
        return (
            self.category is not None
            or bool(self.tags)
            or self.knowledge_ids is not None
            or self.collection is not None
        )

    def item_filter(self) -> ItemFilter:
        """The items that may answer; archived ones never do."""
        return ItemFilter(
            statuses_not=("archived",),
            category=self.category,
            tags=self.tags,
            tags_match=self.tags_match,
            collection=self.collection,
            ids=self.knowledge_ids,
        )


@dataclass(frozen=True)
class SearchResult:
    """A chunk that answers, and where it stands."""

    content: str
    knowledge_id: int
    title: str
    """Title of the item."""
    uri: str
    """Address of the item."""
    score: float
    """Cosine similarity of query and chunk, clamped to 0..1."""
    chunk_index: int
    chunk_id: str
    document_title: str | None
    document_uri: str
    start_index: int
    end_index: int
    """`document[start_index:end_index] == content`, in characters of the document's text."""
    start_line: int
    end_line: int
    """1-based lines of the source, the last one included."""
    heading_path: tuple[str, ...]
    category: str | None
    tags: tuple[str, ...]
    licence: str | None
    language: str | None
    citation: str
    """`guide/auth.md#L120-L135`."""


@dataclass(frozen=True)
class SearchAnswer:
    """The results, best first, and how they came about."""

    query: str
    results: tuple[SearchResult, ...]
    degraded: tuple[str, ...]
    """What could not take part, in words; empty when all is well."""
    duration_ms: float
