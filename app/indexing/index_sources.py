"""What the indexes should hold, streamed from SQL: they are filled anew from here."""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import Any, TypeVar

import numpy as np
from sqlalchemy.orm import Session

from app.adapters.vector_index.vector_rows import VectorRows, VectorRowSource
from app.database import Database
from app.indexing.generation import Generation
from app.indexing.lexical_queries import lexical_records_after
from app.indexing.vector_queries import records_after, vector_rows
from app.protocols import LexicalRecord, LexicalSource, VectorRecord, VectorSource
from app.stored_vectors import VECTOR_TYPE, are_unit

logger = logging.getLogger(__name__)

RECORDS_AT_ONCE = 1000
ROWS_AT_ONCE = 4096

Record = TypeVar("Record", VectorRecord, LexicalRecord)


def vector_source(database: Database, generation: Generation) -> VectorSource:
    """What the vector index of a generation should hold, by chunk id."""

    def page(session: Session, last_id: str) -> Sequence[VectorRecord]:
        return records_after(session, last_id, RECORDS_AT_ONCE, generation)

    return lambda: _pages(database, page)


def vector_row_source(database: Database, generation: Generation) -> VectorRowSource:
    """The vectors alone, as fast as SQL gives them: 0.3 s for 25,000. Damaged ones are left out."""

    def sound_rows() -> Iterator[VectorRows]:
        stored = sound = 0
        with database.snapshot() as connection:
            for page in vector_rows(connection, generation, ROWS_AT_ONCE):
                stored += len(page)
                if (rows := _sound_rows(page, generation.dimension)) is not None:
                    sound += len(rows.chunk_ids)
                    yield rows
        if sound < stored:
            logger.warning(
                "%d chunks have a damaged vector in the database: no search by meaning finds them "
                "until the care in the background, or `groundwork verify --repair`, embeds them "
                "again.",
                stored - sound,
            )

    return sound_rows


def _sound_rows(page: Sequence[Any], dimension: int) -> VectorRows | None:
    """The rows that hold a vector; None when there is none among them."""
    size = dimension * VECTOR_TYPE.itemsize
    whole = [row for row in page if len(row.vector) == size]
    if not whole:
        return None
    chunk_ids, item_ids, numbers, stored = zip(*whole, strict=True)
    vectors = np.frombuffer(b"".join(stored), VECTOR_TYPE).astype(np.float32)
    vectors = vectors.reshape(len(whole), dimension)
    unit = are_unit(vectors)
    if not unit.all():
        return _sound_rows(list(compress(whole, unit)), dimension)
    return VectorRows(chunk_ids, np.array(item_ids, np.int64), np.array(numbers, np.int64), vectors)


def lexical_source(database: Database, generation: Generation) -> LexicalSource:
    """What the lexical index of a generation should hold, by chunk id."""

    def page(session: Session, last_id: str) -> Sequence[LexicalRecord]:
        return lexical_records_after(session, last_id, RECORDS_AT_ONCE, generation.id)

    return lambda: _pages(database, page)


def _pages(
    database: Database, read_page: Callable[[Session, str], Sequence[Record]]
) -> Iterator[Sequence[Record]]:
    """Page after page, not in one snapshot.

    That would stay open, and keep SQLite's log from shrinking, for as long as an index takes to
    fill. Whoever fills an index notes what is written meanwhile.
    """
    last_id = ""
    while True:
        with database.read() as session:
            page = read_page(session, last_id)
        if not page:
            return
        yield page
        last_id = page[-1].chunk_id
