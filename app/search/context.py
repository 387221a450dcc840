"""Assembles the passages that answer a question for a prompt, within a token budget."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection

from app.adapters.text_analysis.languages import Languages
from app.database import Database
from app.protocols import TokenMeter
from app.search.context_budget import ContextBudget, Omission
from app.search.context_formats import FORMATS
from app.search.passage_queries import (
    Extent,
    PlacedChunk,
    extents_with_neighbours,
    places_of_chunks,
    text_of_document,
)
from app.search.passages import (
    Passage,
    PassageHit,
    PassageLines,
    PassagePlan,
    lines_of_plan,
    merge_plans,
)
from app.search.requests import ContextFormatName, ContextRequest, SearchRequest
from app.search.results import SearchAnswer, SearchResult
from app.search.words_by_collection import WordsByCollection

SEARCHES = 3
"""How many searches are made at most, because a document got a new version since each of them. Of
the last, only passages that no new version touched are used; for a source that changes all the
time, that is all there is."""


@dataclass(frozen=True)
class ContextAnswer:
    """A context, and what it is made of."""

    query: str
    format: ContextFormatName
    context: str
    passages: tuple[Passage, ...]
    """In the order of the context."""
    total_tokens: int
    max_tokens: int
    omitted: tuple[Omission, ...]
    """What had no room: whole passages, and lines that were left out or cut."""
    degraded: tuple[str, ...]
    """Sentences about what could not take part in the search."""

    @property
    def truncated(self) -> bool:
        """Whether anything had no room."""
        return bool(self.omitted)


class AnswersSearches(Protocol):
    """The Searcher."""

    def search(self, request: SearchRequest) -> SearchAnswer:
        """The chunks that answer the query best, best first."""
        ...


class ContextAssembler:
    """Makes contexts. Safe to call from many threads."""

    def __init__(
        self,
        *,
        database: Database,
        searcher: AnswersSearches,
        token_meter: TokenMeter | None,
        languages: Languages,
        collection_languages: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """Without a token meter, tokens are estimated from the characters of the text.

        `collection_languages` gives the languages of collections that have one of their own.
        """
        self._database = database
        self._searcher = searcher
        self._token_meter = token_meter
        self._languages = languages
        self._collection_languages = collection_languages

    def assemble(self, request: ContextRequest) -> ContextAnswer:
        """The passages that answer best, best first, up to `max_tokens`.

        Raises what a search raises: see `Searcher.search`.
        """
        # Neighbours are read here, in the snapshot of everything else; the rest would not be shown.
        # Highlights say around which words a line is cut that is too long.
        search = dataclasses.replace(
            request.search, context_chunks=0, highlight=True, explain=False
        )
        searches_left = SEARCHES
        while True:
            searches_left -= 1
            answer = self._without_copies(search)
            with self._database.snapshot() as connection:
                places = _unchanged(connection, request.search, answer.results)
                if len(places) == len(answer.results) or not searches_left:
                    return self._from_snapshot(connection, request, answer, places)

    def _without_copies(self, search: SearchRequest) -> SearchAnswer:
        """The answer of a search, in which exactly the same text takes up room only once."""
        answer = self._searcher.search(search)
        texts = {result.content for result in answer.results}
        if search.group_by is None and len(texts) < len(answer.results):
            # Only if there are copies: looking for them always would take as long as a search.
            return self._searcher.search(dataclasses.replace(search, group_by="text"))
        return answer

    def _from_snapshot(
        self,
        connection: Connection,
        request: ContextRequest,
        answer: SearchAnswer,
        places: Mapping[str, PlacedChunk],
    ) -> ContextAnswer:
        """Everything is read here from one state of the database, so no versions are mixed."""
        plans = _plans(connection, answer.results, places, request.search.context_chunks)
        words = WordsByCollection(
            request.search.query, self._languages, self._collection_languages()
        )

        def allows(passage: Passage) -> bool:
            document = passage.document
            return not words.of(document.collection).leave_out(passage.content, document.key)

        budget = ContextBudget(
            request.max_tokens, self._token_meter, FORMATS[request.format], allows
        )
        reader = _LineReader(connection, plans)
        budget.fill(plans, reader.lines)
        made = budget.finished()
        return ContextAnswer(
            query=answer.query,
            format=request.format,
            context=made.text,
            passages=made.passages,
            total_tokens=made.total_tokens,
            max_tokens=request.max_tokens,
            omitted=made.omitted,
            degraded=answer.degraded,
        )


class _LineReader:
    """Reads each document once, and keeps just the lines that passages need."""

    def __init__(self, connection: Connection, plans: Sequence[PassagePlan]) -> None:
        self._connection = connection
        self._plans = plans
        self._lines_by_rank: dict[int, PassageLines] = {}

    def lines(self, plan: PassagePlan) -> PassageLines:
        """The lines of one of the plans."""
        if plan.rank not in self._lines_by_rank:
            document = plan.document
            text = text_of_document(self._connection, document.row_id)
            for other in self._plans:
                if other.document == document:
                    self._lines_by_rank[other.rank] = lines_of_plan(other, text)
        return self._lines_by_rank[plan.rank]


def _unchanged(
    connection: Connection, request: SearchRequest, results: Sequence[SearchResult]
) -> dict[str, PlacedChunk]:
    """The results that SQL holds now as the search saw them, and the filter allows, by chunk id.

    A chunk keeps its id when a new version of its document moves it, or has other labels, or says
    more around it: so its place must agree, and the whole filter is applied again.
    """
    places = places_of_chunks(connection, [result.chunk_id for result in results], request)
    return {
        result.chunk_id: places[result.chunk_id]
        for result in results
        if result.chunk_id in places and _agrees(result, places[result.chunk_id])
    }


def _agrees(result: SearchResult, place: PlacedChunk) -> bool:
    extent = place.extent
    return (
        (result.start_index, result.end_index) == (extent.start_index, extent.end_index)
        and (result.start_line, result.end_line) == (extent.start_line, extent.end_line)
        and result.licence == place.document.licence
        and result.chunk_type == place.chunk_type
    )


def _hit(rank: int, result: SearchResult, extent: Extent) -> PassageHit:
    return PassageHit(rank, result.chunk_id, result.score, extent, result.highlights)


def _plans(
    connection: Connection,
    results: Sequence[SearchResult],
    places: Mapping[str, PlacedChunk],
    context_chunks: int,
) -> list[PassagePlan]:
    """One passage for hits that touch, with their neighbours; best rank first."""
    wider = (
        extents_with_neighbours(connection, list(places), context_chunks) if context_chunks else {}
    )
    plans = []
    for rank, result in enumerate(results, 1):
        place = places.get(result.chunk_id)
        if place is not None:
            plans.append(
                PassagePlan(
                    rank=rank,
                    document=place.document,
                    heading_path=place.heading_path,
                    hits=(_hit(rank, result, place.extent),),
                    extent=wider.get(result.chunk_id, place.extent),
                )
            )
    return merge_plans(plans)
