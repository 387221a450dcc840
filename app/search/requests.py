"""What is asked of a search, or of a context for a prompt."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.knowledge.items import ItemFilter, TagsMatch
from app.search.profiles import NO_WISHES, RankingWishes

Mode = Literal["hybrid", "dense", "lexical"]
FusionMethod = Literal["coverage", "convex", "rrf"]
GroupBy = Literal["document", "text"]
LicencePolicy = Literal["any", "permissive"]
ContextFormatName = Literal["markdown", "json", "tool"]

DENSE_DEPTH = 128
LEXICAL_DEPTH = 256
"""Candidates of each side, as the service's design sets them."""

DEFAULT_MAX_TOKENS = 2000
"""Of a context, unless the request says otherwise; the specification's default."""
LEAST_TOKENS, MOST_TOKENS = 50, 32_000


FILTERS = (
    "category",
    "tags",
    "tags_match",
    "knowledge_ids",
    "collection",
    "document_types",
    "chunk_types",
    "paths",
    "languages",
    "licence_policy",
    "indexed_after",
    "indexed_before",
)
"""The fields of a request that say what may answer it."""


@dataclass(frozen=True)
class SearchRequest:
    """A question and what may answer it."""

    query: str
    n_results: int = 5
    mode: Mode = "hybrid"
    fusion: FusionMethod = "coverage"
    dense_depth: int = DENSE_DEPTH
    lexical_depth: int = LEXICAL_DEPTH
    category: str | None = None
    """With everything below it."""
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = "any"
    knowledge_ids: tuple[int, ...] | None = None
    collection: str | None = None
    document_types: tuple[str, ...] = ()
    chunk_types: tuple[str, ...] = ()
    """What most of a chunk must be: text, code, table, list or heading; empty: anything."""
    paths: tuple[str, ...] = ()
    """Globs on a document's key: `*` within a folder, `**` across folders; one must match."""
    languages: tuple[str, ...] = ()
    licence_policy: LicencePolicy = "any"
    indexed_after: datetime | None = None
    indexed_before: datetime | None = None
    """Bounds on when a document's present version was indexed."""
    min_score: float | None = None
    max_tokens: int | None = None
    """Of all results together, with their neighbours: those that have no room are left out."""
    context_chunks: int = 0
    """Neighbouring chunks that come with each result, on each side."""
    group_by: GroupBy | None = None
    """`n_results` counts documents, or different texts: each is shown once, by its best hit."""
    ranking: RankingWishes = NO_WISHES
    highlight: bool = True
    explain: bool = False

    @property
    def restricts_items(self) -> bool:
        """Whether some items are ruled out."""
        return (
            self.category is not None
            or bool(self.tags)
            or self.knowledge_ids is not None
            or self.collection is not None
            or bool(self.document_types)
        )

    @property
    def restricts_documents(self) -> bool:
        """Whether some documents of an item may be ruled out while others are not."""
        return (
            bool(self.paths)
            or bool(self.languages)
            or self.licence_policy != "any"
            or self.indexed_after is not None
            or self.indexed_before is not None
        )

    @property
    def leaves_order_to_us(self) -> bool:
        """Whether penalties may change the order: hybrid, by `coverage`.

        Other fusions and modes are asked for by those who want just that order.
        """
        return self.mode == "hybrid" and self.fusion == "coverage"

    def filter_key(self) -> tuple[object, ...]:
        """Equal for requests that filter alike."""
        return tuple(getattr(self, name) for name in FILTERS)

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
class ContextRequest:
    """A question, and how much of the answer a prompt can take."""

    search: SearchRequest
    """Its `context_chunks` widen the passages."""
    max_tokens: int = DEFAULT_MAX_TOKENS
    """LEAST_TOKENS to MOST_TOKENS, in tokens of the embedding model, headers included."""
    format: ContextFormatName = "markdown"
