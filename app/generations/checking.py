"""Looks at what a kept generation holds before it answers again: nobody has looked meanwhile."""

import logging
from collections.abc import Callable

from app.database import Database
from app.generations import queries
from app.indexing.database_check import span_faults
from app.indexing.generation import Generation
from app.stored_vectors import sound_vector

logger = logging.getLogger(__name__)

DOCUMENTS_AT_ONCE = 50
"""Documents that one look at SQL reads, with their texts and vectors."""


def give_up_damaged_documents(
    database: Database, generation: Generation, check: Callable[[], None]
) -> int:
    """Have the documents made again whose chunks do not fit their text or lack a sound vector.

    Gives how many. Reads every text and every vector of the generation once; `check` raises when
    the work is to stop. Raises StorageError.
    """
    last_id = given_up = 0
    while True:
        check()
        with database.read() as session:
            done = queries.done_documents(session, generation, DOCUMENTS_AT_ONCE, after=last_id)
        if not done:
            break
        last_id = done[-1].id
        damaged = [document.id for document in done if _is_damaged(document, generation)]
        if damaged:
            with database.write() as session:
                queries.give_up_documents(session, generation.id, damaged)
            given_up += len(damaged)
    if given_up:
        logger.warning(
            "Generation %d had damaged chunks: those of %d documents are made anew.",
            generation.id, given_up,
        )  # fmt: skip
    return given_up


def _is_damaged(document: queries.DoneDocument, generation: Generation) -> bool:
    chunks, dimension = document.chunks, generation.dimension
    return (
        any(span_faults(document.content, [chunk.span for chunk in chunks]))
        or any(chunk.item_id != document.item_id for chunk in chunks)
        or any(sound_vector(chunk.vector, dimension) is None for chunk in chunks)
    )
