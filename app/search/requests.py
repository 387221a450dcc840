"""What is asked of a search or of a context, and what a search answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.knowledge.items import ItemFilter
from app.search.grouping import OtherHit
from app.search.profiles import NO_WISHES, RankingWishes

Mode = Literal["hybrid", "dense", "lexical"]
Fusion = Literal["coverage", "convex", "rrf"]
GroupBy = Literal["document", "text"]
LicencePolicy = Literal["any", "permissive"]
ContextFormatName = Literal["markdown", "json", "tool"]

DENSE_DEPTH = 128
LEXICAL_DEPTH = 256
"""Candidates of each side, as the service's design sets them."""

MAX_TOKENS = 2000
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
    fusion: Fusion = "coverage"
    dense_depth: int = DENSE_DEPTH
    lexical_depth: int = LEXICAL_DEPTH
    category: str | None = None
    """With everything below it."""
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
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
    max_tokens: int = MAX_TOKENS
    """LEAST_TOKENS to MOST_TOKENS, in tokens of the embedding model, headers included."""
    format: ContextFormatName = "markdown"
    context_chunks: int = 0
    """Neighbours on each side of a hit, up to MOST_CONTEXT_CHUNKS."""


@dataclass(frozen=True)
class SignalExplanation:
    """How the final score came about where more than the fused score counts.

    `boosted_score` is the sum of the parts times the boost (divided by it, if below 0), and the
    final score is `(1 - diversity) * boosted_score - diversity * repetition`, less the penalty.
    """

    fused_part: float
    """The weight times the fused score; `rrf`'s times 61 first, so that both lists' best has 1."""
    cosine_part: float
    recency: float | None
    """None, here and below: does not count."""
    recency_part: float
    importance: float | None
    importance_part: float
    completeness: float | None
    completeness_part: float
    boost: float
    boosted_score: float
    repetition: float | None
    """The highest cosine to a result above it."""
    diversity: float


@dataclass(frozen=True)
class Explanation:
    """How a result came to its place: enough to compute the order again."""

    rank: int
    """Among the candidates, 1 is the best; those that SQL no longer holds leave gaps, unless a
    document penalty or signals had them taken out."""
    deeper: int
    """The factor of the depths at which it became a result; what did so at a lower one is first."""
    final_score: float
    """What decides the order among those of a factor: the fused score, unless `signals` says more,
    less the penalty."""
    document_penalty: float
    """What is taken off for the better candidates of the same document."""
    fused_score: float
    """`dense_part + lexical_part`."""
    dense_part: float
    lexical_part: float
    cosine: float
    ranking_cosine: float
    """The cosine that was fused: `cosine`, unless other wordings or feedback took part."""
    document_cosine: float
    """The highest cosine among the candidates of the same document."""
    dense_rank: int | None
    """None: not among the candidates of that side."""
    bm25: float
    """0: not among the candidates of the lexical side."""
    lexical_rank: int | None
    bm25_ceiling: float | None
    """What BM25 would give a text that says all of the query; used by `coverage`."""
    bm25_highest: float
    """Among the candidates."""
    bm25_contrast: float
    """How far the best by words is ahead of the other documents, 0 to 1; used by `coverage`."""
    signals: SignalExplanation | None = None
    """None: nothing but the fused score counts."""


@dataclass(frozen=True)
class Highlight:
    """A stretch of a result's content that says what was asked for."""

    start: int
    end: int
    text: str
    """`content[start:end]`."""
    kind: Literal["word", "sentence"]


@dataclass(frozen=True)
class NeighbourText:
    """What stands right before or right after a chunk in its document."""

    content: str
    """`document[start_index:end_index] == content`."""
    start_index: int
    end_index: int
    start_line: int
    """1-based line of the source."""
    end_line: int
    """The last line, included."""


@dataclass(frozen=True)
class ResultGroup:
    """The hits of one document, or of one text, of which the result is the best."""

    count: int
    others: tuple[OtherHit, ...]


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
    document: str
    """Key of the document within its item: a relative path or an address."""
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
    chunk_type: str = "text"
    symbol: str | None = None
    """The first name that code in the chunk defines."""
    highlights: tuple[Highlight, ...] = ()
    before: NeighbourText | None = None
    after: NeighbourText | None = None
    group: ResultGroup | None = None
    explain: Explanation | None = None


@dataclass(frozen=True)
class SearchAnswer:
    """The results, best first, and how they came about."""

    query: str
    results: tuple[SearchResult, ...]
    degraded: tuple[str, ...]
    """What could not take part, in words; empty when all is well."""
    duration_ms: float
    timings_ms: tuple[tuple[str, float], ...] = ()
    """Milliseconds of each stage."""
