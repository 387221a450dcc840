"""Where chunks stand in their documents, and the text around them, from SQL."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select

from app.models import ChunkRow, DocumentRow, ItemRow
from app.search.neighbours import HIT, IS_NEAR, NEAR
from app.search.requests import SearchRequest
from app.search.scope import conditions_now


@dataclass(frozen=True)
class DocumentFacts:
    """A document that passages are taken from, without its text."""

    row_id: int
    knowledge_id: int
    key: str
    """Unique within the item: a relative path or an address."""
    title: str
    """The document's own title, else that of its item."""
    uri: str
    licence: str | None
    language: str | None
    collection: str


@dataclass(frozen=True)
class Extent:
    """A stretch of a document: characters of its text, and lines of its source."""

    start_index: int
    end_index: int
    start_line: int
    end_line: int
    """The last line, included."""

    def touches(self, other: "Extent") -> bool:
        """Whether no line stands between the two."""
        return self.start_line <= other.end_line + 1 and other.start_line <= self.end_line + 1

    def adjoins(self, other: "Extent") -> bool:
        """Whether no character stands between the two."""
        return self.start_index <= other.end_index and other.start_index <= self.end_index

    def united(self, other: "Extent") -> "Extent":
        """From where the first begins to where the last ends."""
        return Extent(
            min(self.start_index, other.start_index),
            max(self.end_index, other.end_index),
            min(self.start_line, other.start_line),
            max(self.end_line, other.end_line),
        )


@dataclass(frozen=True)
class PlacedChunk:
    """A chunk as it stands in its document now."""

    document: DocumentFacts
    extent: Extent
    heading_path: tuple[str, ...]
    chunk_type: str


_PLACES = (
    select(
        ChunkRow.id,
        ChunkRow.item_id,
        ChunkRow.document_id,
        ChunkRow.start_index,
        ChunkRow.end_index,
        ChunkRow.start_line,
        ChunkRow.end_line,
        ChunkRow.heading_path,
        ChunkRow.chunk_type,
        DocumentRow.key,
        DocumentRow.title,
        DocumentRow.uri,
        DocumentRow.licence,
        DocumentRow.language,
        ItemRow.title.label("item_title"),
        ItemRow.licence.label("item_licence"),
        ItemRow.collection,
    )
    .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
    .join(ItemRow, ItemRow.id == ChunkRow.item_id)
    .where(ChunkRow.id.in_(bindparam("chunk_ids", expanding=True)), ItemRow.status != "archived")
)

_NEAR = (
    select(
        HIT.id,
        func.min(NEAR.start_index),
        func.max(NEAR.end_index),
        func.min(NEAR.start_line),
        func.max(NEAR.end_line),
    )
    .join(NEAR, IS_NEAR)
    .where(HIT.id.in_(bindparam("chunk_ids", expanding=True)))
    .group_by(HIT.id)
)
_TEXT = select(DocumentRow.content).where(DocumentRow.id == bindparam("row_id"))


def places_of_chunks(
    connection: Connection, chunk_ids: Collection[str], request: SearchRequest
) -> dict[str, PlacedChunk]:
    """Where these chunks stand now, by id; those that the request's filter rules out now, those of
    archived items and unknown ones are left out.

    At most some hundred ids, as one search answers them.
    """
    if not chunk_ids:
        return {}
    conditions, paths = conditions_now(connection, request)
    statement = _PLACES.where(*conditions) if conditions else _PLACES
    rows = connection.execute(statement, {"chunk_ids": list(chunk_ids)})
    return {
        row.id: PlacedChunk(
            DocumentFacts(
                row_id=row.document_id,
                knowledge_id=row.item_id,
                key=row.key,
                title=row.title or row.item_title,
                uri=row.uri,
                licence=row.licence or row.item_licence,
                language=row.language,
                collection=row.collection,
            ),
            Extent(row.start_index, row.end_index, row.start_line, row.end_line),
            tuple(row.heading_path),
            row.chunk_type,
        )
        for row in rows
        if paths.allows(row.key)
    }


def extents_with_neighbours(
    connection: Connection, chunk_ids: Sequence[str], distance: int
) -> dict[str, Extent]:
    """From the chunk `distance` before each of these to the one as far after it, by id."""
    if not chunk_ids:
        return {}
    rows = connection.execute(_NEAR, {"chunk_ids": list(chunk_ids), "distance": distance})
    return {chunk_id: Extent(*ends) for chunk_id, *ends in rows}


def text_of_document(connection: Connection, row_id: int) -> str:
    """The document's text; its row must exist in this snapshot."""
    return str(connection.execute(_TEXT, {"row_id": row_id}).scalar_one())
