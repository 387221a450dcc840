"""A context for a prompt as JSON: what is asked and what is answered."""

import dataclasses
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, StrictBool

from app.json_numbers import is_number
from app.rag.search_schemas import SearchBody
from app.search import context as contexts
from app.search import context_budget, passages, requests


class ContextFormat(StrEnum):
    """How the passages are written down."""

    MARKDOWN = "markdown"
    JSON = "json"
    TOOL = "tool"


MaxTokens = Annotated[
    int,
    Field(ge=requests.LEAST_TOKENS, le=requests.MOST_TOKENS, examples=[2000]),
    BeforeValidator(is_number),
]


class ContextBody(SearchBody):
    """A question, what may answer it, and how much of the answer a prompt can take."""

    max_tokens: MaxTokens = Field(
        requests.DEFAULT_MAX_TOKENS,
        description="Most tokens of the context, headers included, as the embedding model counts "
        "them; a word of more than 100 characters is at least one for every 4.",
    )
    format: ContextFormat = Field(
        ContextFormat.MARKDOWN,
        description="`markdown`: `# File: core/agents.py (lines 5-8)` before each passage. `json`: "
        "a list of objects. `tool`: `--- Result 1 (score: 0.823, source: guide.md) ---` before "
        "each passage. Where a line was cut, the first says `(within lines 5-5)`, and both have "
        "`…`; the JSON has `cut`. In both, a passage with a line that looks like a header is "
        "quoted, with `> ` before each of its lines.",
    )

    highlight: StrictBool = Field(
        True, description="Changes nothing here: a context marks no words."
    )
    explain: StrictBool = Field(
        False, description="Changes nothing here: `POST /rag/search` explains its results."
    )

    def context_request(self) -> requests.ContextRequest:
        """As the service takes it."""
        return requests.ContextRequest(
            search=dataclasses.replace(self.request(), max_tokens=None),
            max_tokens=self.max_tokens,
            format=self.format.value,
        )


class Passage(BaseModel):
    """Whole lines of a document; hits that overlap or adjoin are one passage.

    Of a line that has no room whole, it is what was found in it: `cut_before` and `cut_after` say
    so.
    """

    rank: int = Field(description="Of its best hit in the search; 1 is the best.")
    score: float = Field(description="Best cosine similarity among its hits, 0 to 1.")
    citation: str = Field(description="Document and lines.", examples=["guide/auth.md#L120-L135"])
    knowledge_id: int = Field(description="Id of the item that it comes from.")
    document: str = Field(description="Key of the document within its item.")
    title: str = Field(description="Of the document, else of its item.")
    uri: str = Field(description="Address of the document.")
    start_line: int = Field(description="First line in the source, counted from 1.")
    end_line: int = Field(description="Last line, included.")
    start_index: int = Field(description="First character in the document's text, from 0.")
    end_index: int = Field(
        description="`text[start_index:end_index] == content`: characters of the document's text, "
        "that is code points of Unicode."
    )
    cut_before: bool = Field(description="Whether its first line begins before it.")
    cut_after: bool = Field(description="Whether its last line goes on after it.")
    heading_path: list[str] = Field(description="The headings above it, outermost first.")
    licence: str | None = Field(
        description="SPDX expression: the document's own, else that of its item."
    )
    language: str | None = Field(description="As the document names it.")
    chunk_ids: list[str] = Field(description="Its hits, best first.")
    content: str = Field(description="The source's own words.")

    @classmethod
    def of(cls, passage: passages.Passage) -> "Passage":
        """As the service gives it."""
        document = passage.document
        return cls(
            rank=passage.rank,
            score=passage.score,
            citation=passage.citation,
            knowledge_id=document.knowledge_id,
            document=document.key,
            title=document.title,
            uri=document.uri,
            start_line=passage.start_line,
            end_line=passage.end_line,
            start_index=passage.start_index,
            end_index=passage.end_index,
            cut_before=passage.cut_before,
            cut_after=passage.cut_after,
            heading_path=list(passage.heading_path),
            licence=document.licence,
            language=document.language,
            chunk_ids=list(passage.chunk_ids),
            content=passage.content,
        )


class Omission(BaseModel):
    """Lines that had no room, or not whole: `GET /knowledge/{knowledge_id}/content` has them."""

    rank: int = Field(description="Of its best hit in the search; 1 is the best.")
    score: float = Field(description="Best cosine similarity among its hits, 0 to 1.")
    citation: str = Field(description="Document and lines.", examples=["guide/auth.md#L120-L135"])
    knowledge_id: int = Field(description="Id of the item that it comes from.")
    document: str = Field(description="Key of the document within its item.")
    start_line: int = Field(description="First line in the source, counted from 1.")
    end_line: int = Field(description="Last line, included.")

    @classmethod
    def of(cls, omission: context_budget.Omission) -> "Omission":
        """As the service gives it."""
        return cls(
            rank=omission.rank,
            score=omission.score,
            citation=omission.citation,
            knowledge_id=omission.document.knowledge_id,
            document=omission.document.key,
            start_line=omission.start_line,
            end_line=omission.end_line,
        )


class ContextAnswer(BaseModel):
    """A block of text for a prompt, and what it is made of."""

    query: str
    format: ContextFormat
    context: str = Field(
        description="Goes into the prompt as it is. With no passages it is empty, `[]` in `json`, "
        "and in `tool` a sentence that says whether nothing was found or nothing had room."
    )
    passages: list[Passage] = Field(
        description="In the order of the context. Where there are none and `omitted` names some, "
        "raise `max_tokens`; where neither does, no text passes the filters."
    )
    total_tokens: int = Field(description="Of the context; never more than max_tokens.")
    max_tokens: int = Field(description="As it was asked for.")
    truncated: bool = Field(description="Whether anything had no room: see omitted.")
    omitted: list[Omission] = Field(
        description="Passages, and parts of passages, that had no room."
    )
    degraded: list[str] = Field(
        description="What could not take part in the search, in words; empty when all is well."
    )

    @classmethod
    def of(cls, answer: contexts.ContextAnswer) -> "ContextAnswer":
        """As the service gives it."""
        return cls(
            query=answer.query,
            format=ContextFormat(answer.format),
            context=answer.context,
            passages=[Passage.of(passage) for passage in answer.passages],
            total_tokens=answer.total_tokens,
            max_tokens=answer.max_tokens,
            truncated=answer.truncated,
            omitted=[Omission.of(omission) for omission in answer.omitted],
            degraded=list(answer.degraded),
        )
