"""What a search answers, as JSON."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.rag.ranking_schemas import SignalExplanation
from app.rag.search_schemas import ChunkType
from app.search import results as search_results
from app.search.requests import SearchRequest
from app.web.complete_answer import CompleteAnswer

BESIDE = (
    "With context_chunks. Null at that end of the document, and where `content` would say with it "
    "what the query excludes."
)


class HighlightKind(StrEnum):
    """What is highlighted."""

    WORD = "word"
    SENTENCE = "sentence"


class Highlight(BaseModel):
    """A stretch of `content` that says what was asked for: `content[start:end] == text`.

    A character is a code point of Unicode, as in Python. JavaScript, Java and C# count an emoji as
    two: there it is `Array.from(content).slice(start, end).join("")`, or what is alike.
    """

    model_config = ConfigDict(from_attributes=True)

    kind: HighlightKind = Field(description="A matched word, or the sentence that says most.")
    start: int = Field(description="Its first character in `content`, counted from 0.")
    end: int = Field(description="The character after its last.")
    text: str


class Explanation(BaseModel):
    """How a result came to its place; enough to compute the order again."""

    model_config = ConfigDict(from_attributes=True)

    rank: int = Field(description="Among the candidates; 1 is the best.")
    deeper: int = Field(
        description="1, or by what factor `dense_depth` and `lexical_depth` had to be raised to "
        "find so many results. What was a result at a lower one comes first, as it was: so an "
        "answer of fewer results is the beginning of one of more."
    )
    final_score: float = Field(
        description="What decides the order among results of the same `deeper`: the fused score "
        "less `test_penalty`, unless `signals` says more, less `document_penalty`."
    )
    document_penalty: float = Field(
        description="What is taken off for the better candidates of the same document."
    )
    test_penalty: float = Field(
        description="What is taken off the fused score because it is from a test of code."
    )
    fused_score: float = Field(description="dense_part + lexical_part.")
    dense_part: float = Field(description="What the cosine adds to the fused score.")
    lexical_part: float = Field(description="What the words add to it.")
    cosine: float = Field(description="Of query and chunk, -1 to 1; `score` shows 0 for less.")
    ranking_cosine: float = Field(
        description="The cosine that was fused; another than `cosine` with `expand` or feedback."
    )
    document_cosine: float = Field(
        description="The highest cosine among the candidates of the same document."
    )
    dense_rank: int | None = Field(
        description="Among the candidates by meaning; null: none of them."
    )
    bm25: float = Field(
        description="Of the words, more where they stand as they were typed, or under a heading "
        "or at a path that is the query; 0: no candidate of the lexical side."
    )
    lexical_rank: int | None = Field(
        description="Among the candidates by words; null: none of them."
    )
    bm25_ceiling: float | None = Field(
        description="What BM25 would give a text that says all words of the query. `bm25` divided "
        "by it, at most 1, is the share of the query that a text counts as covering. Null: not "
        "known; `coverage` is `convex` then."
    )
    bm25_highest: float = Field(
        description="Among the candidates. All methods but `rrf` divide BM25 by it."
    )
    bm25_contrast: float = Field(
        description="How far the best by words is ahead of the other documents, 0 to 1: what the "
        "tenth best but the result's own lacks of `bm25_highest`, as a share of that. It is less "
        "where words were looked for that are only spelt like those of the query, and the result "
        "is not near by meaning. The fusion method `coverage` gives words the more weight the "
        "higher it is."
    )
    signals: SignalExplanation | None = Field(
        description="Null: nothing but the fused score counts."
    )


class NeighbourText(BaseModel):
    """The text right before or after a result in its document."""

    model_config = ConfigDict(from_attributes=True)

    content: str
    start_index: int = Field(description="Its first character in the document's text, from 0.")
    end_index: int = Field(description="The character after its last.")
    start_line: int = Field(description="First line in the source, counted from 1.")
    end_line: int = Field(description="Last line, included.")


class OtherHit(BaseModel):
    """A further hit in the document of a result, or with its very text."""

    model_config = ConfigDict(from_attributes=True)

    knowledge_id: int
    document: str = Field(description="Key of the document within its item.")
    chunk_id: str
    score: float = Field(description="Cosine similarity of query and chunk, 0 to 1.")
    start_line: int = Field(description="First line in the source, counted from 1.")
    end_line: int = Field(description="Last line, included.")
    citation: str


class ResultGroup(BaseModel):
    """The hits of one document, or of one text."""

    model_config = ConfigDict(from_attributes=True)

    count: int = Field(
        description="Hits of the group among those looked at, the shown one included."
    )
    others: list[OtherHit] = Field(description="The next ones, best first; at most 20.")


class SearchResult(CompleteAnswer):
    """A chunk that answers, and where it stands."""

    content: str = Field(
        description="The source's own words; control characters are blanks in them."
    )
    knowledge_id: int = Field(description="Id of the item; filters take it in `knowledge_ids`.")
    title: str = Field(description="Of the item.")
    uri: str = Field(description="Of the item; `document_uri` is the document's own.")
    score: float = Field(
        description="Cosine similarity of query and chunk, 0 to 1, in every mode: how near they "
        "are in meaning, not how likely the chunk answers. `min_score` cuts by it; the order of "
        "the results is another, see `explain`."
    )
    chunk_index: int = Field(description="Its place among the chunks of its document, from 0.")
    chunk_id: str = Field(
        description="Stays as long as its text, the model, and the size and rules of chunks do."
    )
    document: str = Field(
        description="Key of the document within its item, as `/knowledge/{id}/content` takes it."
    )
    document_title: str | None = Field(description="Null: it has none of its own.")
    document_uri: str = Field(description="Path or address of the document.")
    start_index: int = Field(description="Its first character in the document's text, from 0.")
    end_index: int = Field(
        description="`text[start_index:end_index] == content`: characters of the document's text, "
        "that is code points of Unicode, as `/knowledge/{id}/content` answers it, without "
        "frontmatter."
    )
    start_line: int = Field(description="First line in the source, counted from 1.")
    end_line: int = Field(
        description="Last line, included: for `/knowledge/{id}/content?lines=…`. \\n, \\r\\n and "
        "\\r end a line."
    )
    heading_path: list[str] = Field(
        description="The headings above its first line, outermost first."
    )
    category: str | None = Field(description="The document's own, else that of its item.")
    tags: list[str] = Field(description="Those of the item, then those that the document adds.")
    licence: str | None = Field(
        description="SPDX expression: the document's own, else that of its item."
    )
    language: str | None = Field(description="As the document names it.")
    chunk_type: ChunkType = Field(description="What at least half of it is.")
    symbol: str | None = Field(description="The first name that code in the chunk defines.")
    highlights: list[Highlight] = Field(
        description="Empty with `highlight` false, or where none of the query's words stands."
    )
    citation: str = Field(
        description="`document` and lines, to be quoted.", examples=["guide/auth.md#L120-L135"]
    )
    before: NeighbourText | None = Field(None, description=BESIDE)
    after: NeighbourText | None = Field(None, description=BESIDE)
    group: ResultGroup | None = Field(None, description="With group_by.")
    explain: Explanation | None = Field(None, description="With explain.")


class SearchAnswer(CompleteAnswer):
    """The results, best first."""

    query: str
    results: list[SearchResult] = Field(
        description="Best first. Empty where no text passes the filters, `min_score`, and the "
        "words in quotes or after a minus sign, or where `max_tokens` has no room for the first "
        "one: leave some of these out. Otherwise `hybrid` and "
        "`dense` always have nearest texts, also to a question that none answers."
    )
    total_results: int = Field(description="Results in this answer.")
    degraded: list[str] = Field(
        description="What could not take part, in words; empty when all is well."
    )
    duration_ms: float = Field(description="Milliseconds that the search took.")
    timings_ms: dict[str, float] | None = Field(
        None,
        description="With explain: milliseconds of each stage that took part, in all rounds "
        "together. Both sides may be asked at the same time.",
    )

    @classmethod
    def of(cls, answer: search_results.SearchAnswer, request: SearchRequest) -> "SearchAnswer":
        """As the service gives it."""
        return cls(
            query=answer.query,
            results=[SearchResult.model_validate(result) for result in answer.results],
            total_results=len(answer.results),
            degraded=list(answer.degraded),
            duration_ms=answer.duration_ms,
            timings_ms=dict(answer.timings_ms) if request.explain else None,
        )
