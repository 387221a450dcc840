"""The rows of results, from SQL."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from app.adapters.text_analysis.shown import shown_paragraphs
from app.adapters.text_analysis.symbols import first_symbol
from app.models import ChunkRow, DocumentRow, ItemRow
from app.search.document_labels import all_tags, own_or_items_category
from app.search.grouping import RowHit
from app.search.neighbours import Neighbours
from app.search.results import Explanation, Highlight, ResultGroup, SearchResult
from app.search.scope import ResolvedFilter
from app.searched_titles import searched_titles

_NOT_ON_ONE_LINE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]+"
)
"""Ends of lines and other control characters, and what turns the direction of a line round."""

# Built once: putting a statement together costs more than SQLite takes to answer it.
_RESULTS = (
    select(
        ChunkRow.id,
        ChunkRow.content,
        ChunkRow.item_id,
        ChunkRow.chunk_index,
        ChunkRow.start_index,
        ChunkRow.end_index,
        ChunkRow.start_line,
        ChunkRow.end_line,
        ChunkRow.heading_path,
        ChunkRow.chunk_type,
        ItemRow.title,
        ItemRow.uri,
        ItemRow.document_type,
        own_or_items_category().label("category"),
        ItemRow.licence,
        ItemRow.collection,
        DocumentRow.key,
        DocumentRow.title.label("document_title"),
        DocumentRow.uri.label("document_uri"),
        DocumentRow.licence.label("document_licence"),
        DocumentRow.tags.label("document_tags"),
        DocumentRow.language,
    )
    .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
    .join(ItemRow, ItemRow.id == ChunkRow.item_id)
    .where(ChunkRow.id.in_(bindparam("chunk_ids", expanding=True)), ItemRow.status != "archived")
)


def rows_by_chunk(
    connection: Connection, chunk_ids: Sequence[str], allowed: ResolvedFilter
) -> dict[str, Any]:
    """The rows of those chunks that SQL holds now and the filter allows, by id."""
    statement = _RESULTS.where(*allowed.conditions) if allowed.conditions else _RESULTS
    rows = connection.execute(statement, {"chunk_ids": chunk_ids}).all()  # sooner than row by row
    return {row.id: row for row in rows if allowed.allows_path(row.key)}


def texts_of(row: Any) -> tuple[str, ...]:
    """What a row says, in the places where a phrase in quotes counts."""
    titles = searched_titles(row.document_title, row.title, row.document_type)
    shown = shown_paragraphs(row.content, row.key)
    return (row.content, *shown, *titles, *row.heading_path)


@dataclass(frozen=True)
class Shown:
    """What a request wants to see of a result beside its row."""

    highlights: tuple[Highlight, ...]
    near: Neighbours
    group: ResultGroup | None
    explanation: Explanation | None


def result_of(row: Any, score: float, tags: tuple[str, ...], shown: Shown) -> SearchResult:
    """A row as a result; `score` is its cosine."""
    return SearchResult(
        content=row.content,
        knowledge_id=row.item_id,
        title=row.title,
        uri=row.uri,
        score=score_of(score),
        chunk_index=row.chunk_index,
        chunk_id=row.id,
        document=row.key,
        document_title=row.document_title,
        document_uri=row.document_uri,
        start_index=row.start_index,
        end_index=row.end_index,
        start_line=row.start_line,
        end_line=row.end_line,
        heading_path=tuple(row.heading_path),
        category=row.category,
        tags=all_tags(tags, row.document_tags) if row.document_tags else tags,
        licence=row.document_licence or row.licence,
        language=row.language,
        citation=citation(row.key, row.start_line, row.end_line),
        chunk_type=row.chunk_type,
        symbol=first_symbol(row.key, row.content, is_code=row.chunk_type == "code"),
        highlights=shown.highlights,
        before=shown.near.before,
        after=shown.near.after,
        group=shown.group,
        explain=shown.explanation,
    )


def hit_of(row: Any, score: float) -> RowHit:
    """What grouping has to know of a row; `score` is its cosine."""
    return RowHit(
        knowledge_id=row.item_id,
        chunk_id=row.id,
        score=score_of(score),
        start_line=row.start_line,
        end_line=row.end_line,
        document=row.key,
        citation=citation(row.key, row.start_line, row.end_line),
        content=row.content,
    )


def score_of(cosine: float) -> float:
    """As it is answered: 0 to 1."""
    return min(1.0, max(0.0, cosine))


def citation(document_key: str, start_line: int, end_line: int) -> str:
    """Where it is said, in the form that code hosts use: `guide/auth.md#L120-L135`.

    Of one line, both ends are the same, so that every citation is read in one way.
    """
    return f"{one_line(document_key)}#L{start_line}-L{end_line}"


def one_line(key: str) -> str:
    """The key of a document where a line says it: a file's name may hold line breaks."""
    return _NOT_ON_ONE_LINE.sub(" ", key)
