"""The indexes of a generation that does not answer yet: filled, and kept up with what changes."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from app.database import Database
from app.errors import UnavailableError
from app.generations import queries
from app.indexing import lexical_queries, vector_queries
from app.indexing.comparison import ComparableVectorIndex
from app.indexing.generation import Generation
from app.indexing.publisher import KeptIndexes, Publisher
from app.protocols import Embedder, LexicalIndex, TextSplitter
from app.slices import slices

logger = logging.getLogger(__name__)

SETTLING_SECONDS = 0.5
"""How often it is looked whether to stop while the indexes are filled."""

RECORDS_AT_ONCE = 1000


class NextGeneration(Protocol):
    """The parts of a generation that does not answer yet."""

    @property
    def embedder(self) -> Embedder: ...  # noqa: D102, the types say it
    @property
    def splitter(self) -> TextSplitter: ...  # noqa: D102
    @property
    def vector_index(self) -> ComparableVectorIndex: ...  # noqa: D102
    @property
    def lexical_index(self) -> LexicalIndex: ...  # noqa: D102
    def start_new_indexes(self) -> None:
        """Make its indexes, and have them filled from SQL in the background."""
        ...

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until both indexes hold what SQL held when they were started; if that is so."""
        ...

    def require_sound(self) -> None:
        """Raise VectorIndexError or LexicalIndexError when an index could not be made."""
        ...

    def discard(self) -> None:
        """Close the indexes, and delete their files."""
        ...


class NextIndexes:
    """The indexes of one such generation. The writer thread of the publisher writes to them."""

    def __init__(
        self,
        database: Database,
        publisher: Publisher,
        generation: Generation,
        parts: NextGeneration,
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._generation = generation
        self._parts = parts

    @property
    def kept(self) -> KeptIndexes:
        """As the publisher keeps them."""
        return KeptIndexes(self._parts.vector_index, self._parts.lexical_index, self._generation)

    def fill(self, check: Callable[[], None]) -> None:
        """Fill them from SQL; from here on they follow what is settled, too.

        `check` is called now and then, and may raise. Raises VectorIndexError and
        LexicalIndexError.
        """
        self._publisher.between_changes(self._begin).result()
        while not self._parts.settle(SETTLING_SECONDS):
            check()
        self._parts.require_sound()

    def add(self, chunk_ids: Sequence[str]) -> None:
        """Take in what was made since.

        Between two changes: what was read is not settled anew before it is written.
        """
        for some in slices(chunk_ids, RECORDS_AT_ONCE):
            self._publisher.between_changes(partial(self._add_some, some)).result()

    def remove_surplus(self) -> None:
        """Take out what has gone from SQL since they were filled. On the writer thread."""
        with self._database.read() as session:
            present = queries.chunk_ids(session, self._generation.id)
        held = set(self._parts.lexical_index.chunk_ids())
        for part in self._parts.vector_index.parts().values():
            held |= part.chunk_ids()
        surplus = sorted(held - present)
        for some in slices(surplus, RECORDS_AT_ONCE):
            self._parts.vector_index.remove(some)
            self._parts.lexical_index.remove(some)

    def follow_no_longer(self) -> None:
        """Leave them as they are from here on."""
        try:
            self._publisher.between_changes(lambda: self._publisher.keep_also(None)).result()
        except UnavailableError:
            logger.debug("The publisher has ended already.")

    def _begin(self) -> None:
        self._parts.start_new_indexes()
        self._publisher.keep_also(self.kept)

    def _add_some(self, chunk_ids: Sequence[str]) -> None:
        with self._database.read() as session:
            records = vector_queries.records_of(session, chunk_ids, self._generation)
            words = lexical_queries.lexical_records_of(session, chunk_ids, self._generation.id)
        self._parts.vector_index.upsert(records)
        if words:
            self._parts.lexical_index.upsert(words)
