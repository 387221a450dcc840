"""What a search is asked, as JSON."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
)

from app.adapters.text_analysis.query import MAX_PHRASES
from app.json_numbers import LARGEST_ID, is_number
from app.knowledge.filters import CategoryFilter, NameFilter, TagFilters
from app.knowledge.items import DocumentType
from app.labels import normalise_category
from app.rag.ranking_schemas import RankingFields, RankingProfile, wishes_of
from app.search import requests
from app.search.path_globs import PATTERN_OF_GLOBS, require_a_glob
from app.search.requests import SearchRequest
from app.search.soundness import (
    HALF_CHARACTER,
    MOST_CONTEXT_CHUNKS,
    MOST_DEPTH,
    MOST_KNOWLEDGE_IDS,
    MOST_OF_LIST,
    MOST_QUERY_CHARACTERS,
    MOST_RESULTS,
)


class SearchMode(StrEnum):
    """Which sides of the search take part."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


class FusionMethod(StrEnum):
    """How the two sides of a hybrid search become one order."""

    COVERAGE = "coverage"
    CONVEX = "convex"
    RRF = "rrf"


class LicencePolicy(StrEnum):
    """Which licences a text may have."""

    ANY = "any"
    PERMISSIVE = "permissive"


class GroupBy(StrEnum):
    """What results are put together by."""

    DOCUMENT = "document"
    TEXT = "text"


class ChunkType(StrEnum):
    """What at least half of a chunk is."""

    TEXT = "text"
    CODE = "code"
    TABLE = "table"
    LIST = "list"
    HEADING = "heading"


class TagsMatch(StrEnum):
    """Whether one of the tags is enough, or all are needed."""

    ANY = "any"
    ALL = "all"


def _searchable(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    if HALF_CHARACTER.search(value):
        raise ValueError("must not contain halves of characters")
    return value


Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MOST_QUERY_CHARACTERS,
        examples=["How to configure the database connection?"],
        json_schema_extra={"pattern": r"\S"},
    ),
    AfterValidator(_searchable),
]


def _is_moment(value: object) -> object:
    """Refuse numbers, and texts that Pydantic would take for a count of seconds."""
    if not (isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d[Tt ]", value, re.ASCII)):
        raise ValueError("must be a time as in 2026-11-22T12:00:00Z")
    return value


def _has_zone(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("must say its time zone, as in 2026-11-22T12:00:00Z or …+01:00")
    return value


Moment = Annotated[datetime, BeforeValidator(_is_moment), AfterValidator(_has_zone)]
KnowledgeId = Annotated[int, Field(ge=1, le=LARGEST_ID), BeforeValidator(is_number)]
ResultCount = Annotated[int, Field(ge=1, le=MOST_RESULTS), BeforeValidator(is_number)]
TokenCount = Annotated[int, Field(ge=1, le=requests.MOST_TOKENS), BeforeValidator(is_number)]
Score = Annotated[float, Field(ge=0, le=1), BeforeValidator(is_number)]
SearchDepth = Annotated[int, Field(ge=1, le=MOST_DEPTH), BeforeValidator(is_number)]
ContextChunks = Annotated[int, Field(ge=0, le=MOST_CONTEXT_CHUNKS), BeforeValidator(is_number)]
PathOrGlob = Annotated[
    NameFilter,
    AfterValidator(require_a_glob),
    Field(min_length=1, examples=["docs/**/*.md"], json_schema_extra={"pattern": PATTERN_OF_GLOBS}),
]
LanguageFilter = Annotated[NameFilter, Field(min_length=1)]

# What a field and the parameter of the same meaning say.
QUERY_SAYS = (
    'Plain text. Words in "double quotes" must stand side by side, in the text or in its '
    f"document's title and headings; behind the first {MAX_PHRASES} of them, quoted words are "
    "plain ones. A text that says a word after a minus sign (`-draft`) is left out, if there is "
    "anything beside it to look for."
)
MODE_SAYS = "By meaning (`dense`), by words (`lexical`), or both (`hybrid`)."
CATEGORY_SAYS = (
    "With everything below it: `Engineering` also means `Engineering/Security`. Case matters."
)
TAGS_MATCH_SAYS = "`any`: one of `tags` is enough; `all`: none may be missing."
COLLECTION_SAYS = (
    "The exact name of the collection to search, as `/rag/collections` lists it: one that no item "
    "is in has no results. Left out: all of them."
)
LANGUAGE_SAYS = "As the documents name their language; `en` stands for `en-US`, too."
LICENCE_POLICY_SAYS = (
    "`permissive`: only texts whose licence is known to be permissive (by SPDX expression; the "
    "document's own, else that of its item)."
)
MIN_SCORE_SAYS = "Results whose `score`, a cosine from 0 to 1, is less are left out."


class SearchBody(BaseModel):
    """A question, and what may answer it."""

    model_config = ConfigDict(extra="forbid")

    query: Query = Field(description=QUERY_SAYS)
    n_results: ResultCount = Field(
        5, description=f"Most results, 1 to {MOST_RESULTS}; fewer if no more pass."
    )
    mode: SearchMode = Field(SearchMode.HYBRID, description=MODE_SAYS)
    fusion: FusionMethod = Field(
        FusionMethod.COVERAGE, description="How a hybrid search puts both sides in one order."
    )
    dense_depth: SearchDepth = Field(
        requests.DENSE_DEPTH, description="Candidates by meaning that are looked at."
    )
    lexical_depth: SearchDepth = Field(
        requests.LEXICAL_DEPTH, description="Candidates by words that are looked at."
    )
    category: CategoryFilter | None = Field(
        None,
        description=CATEGORY_SAYS,
        examples=["Engineering/Security"],
    )
    tags: TagFilters | None = Field(
        None,
        description="A list, or one string with commas; an empty list is no filter. Case matters.",
        examples=[["docker", "production"]],
    )
    tags_match: TagsMatch = Field(TagsMatch.ANY, description=TAGS_MATCH_SAYS)
    knowledge_ids: list[KnowledgeId] | None = Field(
        None, max_length=MOST_KNOWLEDGE_IDS, description="An empty list allows nothing."
    )
    collection: NameFilter | None = Field(None, description=COLLECTION_SAYS)
    document_types: list[DocumentType] | None = Field(
        None,
        min_length=1,
        max_length=MOST_OF_LIST["document_types"],
        description="What the item must be: one of these.",
    )
    chunk_types: list[ChunkType] | None = Field(
        None,
        min_length=1,
        max_length=MOST_OF_LIST["chunk_types"],
        description="What at least half of a chunk must be.",
    )
    paths: list[PathOrGlob] | None = Field(
        None,
        min_length=1,
        max_length=MOST_OF_LIST["paths"],
        description="Keys of documents, as results have them in `document`, or globs on a "
        "document's path within its item, one of which must match: `*` stays within a folder, "
        "`**` crosses folders; without `/`, any folder is meant. In a glob `[ab]` is one of these "
        "characters, and `[[]` a bracket. Case matters. Refused are globs with alternatives, as "
        "`*.{md,txt}`, and `./` at the beginning: nothing would match.",
    )
    languages: list[LanguageFilter] | None = Field(
        None,
        min_length=1,
        max_length=MOST_OF_LIST["languages"],
        description=LANGUAGE_SAYS,
    )
    licence_policy: LicencePolicy = Field(LicencePolicy.ANY, description=LICENCE_POLICY_SAYS)
    indexed_after: Moment | None = Field(
        None, description="Documents whose present version was indexed later than this."
    )
    indexed_before: Moment | None = Field(
        None, description="Documents whose present version was indexed earlier than this."
    )
    min_score: Score | None = Field(None, description=MIN_SCORE_SAYS)
    profile: RankingProfile | None = Field(
        None,
        description="A named ranking. Left out: what the collection says, else `default`.",
    )
    ranking: RankingFields | None = Field(
        None, description="What is to differ from the profile, or from what the collection says."
    )
    context_chunks: ContextChunks = Field(
        0, description="Neighbouring chunks that come with each result, on each side."
    )
    group_by: GroupBy | None = Field(
        None,
        description="`document`: one result for each document, its best, with the others' places. "
        "`text`: one result for each text, however many documents say the very same; it stands "
        "where the best of them does, and shows that of a document which is shown already.",
    )
    highlight: StrictBool = Field(
        True, description="Say which words matched, and which sentence says most."
    )
    explain: StrictBool = Field(False, description="Say how each result came to its place.")
    max_tokens: TokenCount | None = Field(
        None,
        description="Most tokens of all results together, as the embedding model counts them: the "
        "list ends before the first result that has no room.",
    )

    def request(self) -> SearchRequest:
        """As the service takes it."""
        ids = self.knowledge_ids
        return SearchRequest(
            query=self.query,
            n_results=self.n_results,
            mode=self.mode.value,
            fusion=self.fusion.value,
            dense_depth=self.dense_depth,
            lexical_depth=self.lexical_depth,
            category=normalise_category(self.category),
            tags=tuple(self.tags or ()),
            tags_match=self.tags_match.value,
            knowledge_ids=None if ids is None else tuple(ids),
            collection=self.collection,
            document_types=tuple(kind.value for kind in self.document_types or ()),
            chunk_types=tuple(kind.value for kind in self.chunk_types or ()),
            paths=tuple(self.paths or ()),
            ranking=wishes_of(self.profile, self.ranking),
            languages=tuple(self.languages or ()),
            licence_policy=self.licence_policy.value,
            indexed_after=self.indexed_after,
            indexed_before=self.indexed_before,
            min_score=self.min_score,
            max_tokens=self.max_tokens,
            context_chunks=self.context_chunks,
            group_by=self.group_by.value if self.group_by else None,
            highlight=self.highlight,
            explain=self.explain,
        )
