"""What a search answers: results, what is shown with each, and how it came to its place."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class SignalExplanation:
    """How the final score came about where more than the fused score counts.

    `boosted_score` is the sum of the parts times `boost` (divided by it, if below 0); the final
    score is `(1 - diversity) * boosted_score - diversity * repetition`, less `document_penalty`.
    """

    fused_part: float
    """The weight times the fused score less `test_penalty`; `rrf`'s times 61 first, so that both
    lists' best has 1."""
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
    """The factor of the depths at which it became a result; those of a lower factor come first."""
    final_score: float
    """What decides the order among results of one factor: the fused score less the test penalty, or
    the one in `signals`, less the document penalty."""
    document_penalty: float
    """What it loses to the better candidates of the same document."""
    test_penalty: float
    """What the fused score loses because it is from a test of code."""
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
    """The BM25 of a text that says all of the query; used by `coverage`."""
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
    """The text right before or right after a chunk in its document."""

    content: str
    """`document[start_index:end_index] == content`."""
    start_index: int
    end_index: int
    start_line: int
    """1-based line of the source."""
    end_line: int
    """The last line, included."""


@dataclass(frozen=True)
class OtherHit:
    """A further hit of a group."""

    knowledge_id: int
    document: str
    chunk_id: str
    score: float
    start_line: int
    end_line: int
    citation: str


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
    """Sentences about what could not take part; empty when all is well."""
    duration_ms: float
    timings_ms: tuple[tuple[str, float], ...] = ()
    """Milliseconds of each stage."""
