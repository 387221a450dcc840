"""The text around results: neighbouring chunks, without repeating the words that they share."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, and_, bindparam, select
from sqlalchemy.orm import aliased

from app.models import ChunkRow
from app.search.results import NeighbourText


@dataclass(frozen=True)
class Neighbours:
    """The text on both sides of a chunk: `before + chunk + after` is text of the document."""

    before: NeighbourText | None = None
    """None at the start of the document."""
    after: NeighbourText | None = None
    """None at its end."""


NO_NEIGHBOURS = Neighbours()

_Row = Row[str, int, int, int, int, int, int, str]
"""A neighbour: see the columns of _NEAR."""

HIT, NEAR = aliased(ChunkRow), aliased(ChunkRow)
IS_NEAR = and_(
    NEAR.document_id == HIT.document_id,
    NEAR.generation_id == HIT.generation_id,
    NEAR.chunk_index >= HIT.chunk_index - bindparam("distance"),
    NEAR.chunk_index <= HIT.chunk_index + bindparam("distance"),
)
"""A chunk of the same document, at most `distance` before or after the hit, or the hit itself."""

_NEAR = (
    select(
        HIT.id.label("hit_id"),
        HIT.chunk_index.label("hit_index"),
        NEAR.chunk_index,
        NEAR.start_index,
        NEAR.end_index,
        NEAR.start_line,
        NEAR.end_line,
        NEAR.content,
    )
    .join(NEAR, IS_NEAR)
    .where(HIT.id.in_(bindparam("chunk_ids", expanding=True)))
    .order_by(HIT.id, NEAR.chunk_index)
)


def neighbours_of_chunks(
    connection: Connection, chunk_ids: Collection[str], distance: int
) -> dict[str, Neighbours]:
    """The text of the `distance` chunks on each side of each of these chunks, by chunk id.

    Read it in the snapshot that the chunks come from. An id that SQL does not hold is left out.
    """
    if not chunk_ids or distance < 1:
        return {}
    rows: dict[str, list[_Row]] = {}
    for row in connection.execute(_NEAR, {"chunk_ids": list(chunk_ids), "distance": distance}):
        rows.setdefault(row.hit_id, []).append(row)
    return {chunk_id: _neighbours(near) for chunk_id, near in rows.items()}


def _neighbours(rows: Sequence[_Row]) -> Neighbours:
    """From the chunk and those around it, in the document's order."""
    at = next(n for n, row in enumerate(rows) if row.chunk_index == row.hit_index)
    hit = rows[at]
    return Neighbours(
        before=_text_before(rows[:at], hit) if at else None,
        after=_text_after(hit, rows[at + 1 :]) if rows[at + 1 :] else None,
    )


def _text_before(rows: Sequence[_Row], hit: _Row) -> NeighbourText:
    first = rows[0]
    content = _stitched(rows, first.start_index, hit.start_index)
    return NeighbourText(
        content=content,
        start_index=first.start_index,
        end_index=hit.start_index,
        start_line=first.start_line,
        end_line=hit.start_line - _line_ends_between(content, hit.content),
    )


def _text_after(hit: _Row, rows: Sequence[_Row]) -> NeighbourText:
    last = rows[-1]
    content = _stitched(rows, hit.end_index, last.end_index)
    return NeighbourText(
        content=content,
        start_index=hit.end_index,
        end_index=last.end_index,
        start_line=hit.end_line + _line_ends_between(hit.content, content),
        end_line=last.end_line,
    )


def _stitched(rows: Sequence[_Row], start: int, end: int) -> str:
    """The document's text from `start` to `end`, out of chunks that cover it and may overlap."""
    parts = []
    position = start
    for row in rows:
        upto = min(row.end_index, end)
        if upto > position:
            parts.append(row.content[position - row.start_index : upto - row.start_index])
            position = upto
    return "".join(parts)


def _line_ends_between(text: str, following: str) -> bool:
    r"""Whether the second text starts on a new line; a \r\n may have been cut in two."""
    return text.endswith("\n") or (text.endswith("\r") and not following.startswith("\n"))
