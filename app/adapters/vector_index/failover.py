"""The vector index of the service: an exact scan in memory, beside an index on disk."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.adapters.healing_pauses import HealingPauses
from app.adapters.vector_index.checks import checked_vector
from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.adapters.vector_index.primary import PrimaryIndex, PrimaryStore
from app.adapters.vector_index.primary_keeper import PrimaryKeeper
from app.adapters.vector_index.status import VectorIndexStatus
from app.errors import VectorIndexError
from app.protocols import (
    EVERYWHERE,
    UNKNOWN_DOCUMENT,
    Compared,
    SearchScope,
    Vector,
    VectorHit,
    VectorIndex,
    VectorPart,
    VectorRecord,
    VectorSource,
)

Answer = TypeVar("Answer")

EXACT_UP_TO_RECORDS = 250_000
"""Up to this size the exact scan answers every search: it misses nothing and waits for no write.
It takes 2.5 ms of CPU for 100,000 records, and grows linearly."""


class FailoverVectorIndex:
    """Two indexes that hold the same: the exact one can always answer, the primary helps out.

    The exact index answers every search within a scope, every search among up to
    `exact_up_to_records`, and all others while the primary writes, fails, or does not exist. So a
    failing primary never fails a write or a search; it is healed in the background.
    """

    def __init__(
        self,
        store: PrimaryStore,
        exact: LoadedExactIndex,
        records: VectorSource,
        *,
        exact_up_to_records: int = EXACT_UP_TO_RECORDS,
        healing_pauses: HealingPauses | None = None,
        on_healed: Callable[[], None] = lambda: None,
        is_intact: Callable[[], bool] = lambda: True,
    ) -> None:
        """`exact` must be new; `records`, with their metadata, are what the primary is filled from.

        `on_healed` is called when a primary that had failed or differed serves again; `is_intact`
        tells whether its files are as they were last closed.
        """
        self._store = store
        self._exact = exact
        self._exact_up_to_records = exact_up_to_records
        self._write_lock = threading.Lock()
        self._keeper = PrimaryKeeper(
            store,
            exact,
            records,
            self._write_lock,
            healing_pauses or HealingPauses(),
            on_healed,
            is_intact,
        )

    # Reading -----------------------------------------------------------------------------------

    def search(
        self, vector: Vector, limit: int, scope: SearchScope = EVERYWHERE
    ) -> list[VectorHit]:
        """The nearest records within the scope, best first; equal ones in the order of their ids.

        As many as exist, and with the same cosines, whichever index answers.
        """
        query = checked_vector(vector, self._exact.dimension)
        exact = self._exact.full()
        if scope == EVERYWHERE and exact.count() > self._exact_up_to_records:
            self._keeper.awaken()
            primary = self._keeper.index
            if primary is not None and not primary.busy:
                hits = self._answer(primary, lambda index: index.search(query, limit))
                nearest = _with_exact_cosines(exact, query, [hit.chunk_id for hit in hits])
                # A search of the graph may find fewer records than it holds.
                if len(nearest) >= min(limit, exact.count()):
                    return nearest
        return exact.search(query, limit, scope)

    def compared(self, vector: Vector, chunk_ids: Sequence[str]) -> Compared:
        """The cosine of each of these records to the vector, and the number of its document."""
        return self._exact.compared(vector, chunk_ids)

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; unknown ids are left out."""
        return self._exact.documents_of(chunk_ids)

    def chunk_ids(self) -> set[str]:
        """The ids of all records in the index on disk; without it, in the exact one."""
        return self._answer(self._awakened(), lambda index: index.chunk_ids())

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors in the index on disk, else in the exact one; unknown ids are left out."""
        return self._answer(self._awakened(), lambda index: index.vectors(chunk_ids))

    def count(self) -> int:
        """How many records there are in the index on disk if it is open, else in the exact one."""
        return self._answer(self._keeper.index, lambda index: index.count())

    @property
    def loaded(self) -> bool:
        """Whether the exact index holds everything; until then the first search waits for it."""
        return self._exact.loaded

    @property
    def degraded_reason(self) -> str | None:
        """Why the index on disk is not in use, or None if it is; costs nothing."""
        return self._keeper.degraded_reason

    @property
    def status(self) -> VectorIndexStatus:
        """The state of the index; never raises, never waits."""
        return VectorIndexStatus(
            name=self._store.name,
            loaded=self._exact.loaded,
            ready=self._keeper.is_sound,
            degraded_reason=self._keeper.degraded_reason,
            count=self._exact.status.count,
        )

    def parts(self) -> dict[str, VectorPart]:
        """By name, what can be compared with SQL now: the exact index, and the primary if open."""
        primary = self._keeper.index
        return {"exact": self._exact} | ({} if primary is None else {self._store.name: primary})

    @property
    def rests(self) -> bool:
        """Whether the index on disk has not been opened since the start."""
        return self._keeper.rests

    def awaken(self) -> None:
        """Have the index on disk opened, and wait until it is open or given up."""
        self._awakened()

    def distrust(self, reason: str) -> None:
        """Have the index on disk compared and mended, or rebuilt, in the background."""
        self._keeper.distrust(reason)

    # Writing -----------------------------------------------------------------------------------

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records; fails only for records that no index could hold."""
        with self._write_lock:
            self._exact.upsert(records)
            self._keeper.upsert(records)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records that SQL no longer holds; unknown ids are no error."""
        with self._write_lock:
            self._exact.remove(chunk_ids)
            self._keeper.remove(chunk_ids)

    def clear(self) -> None:
        """Remove everything; from now on, the index holds only what is written to it."""
        self._keeper.clear()

    # Its life ----------------------------------------------------------------------------------

    def start(self, *, trusted: bool) -> None:
        """Load the exact index and open the one on disk, in the background.

        `trusted`: the last process stopped cleanly. Otherwise the index on disk is compared with
        SQL, and mended or rebuilt, before it answers anything. Writes may begin at once.
        """
        self._exact.start()
        self._keeper.start(trusted=trusted)

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until nothing is left to do in the background; returns whether that is so.

        After that, `status.ready` says whether the index on disk is sound.
        """
        self._exact.settle(timeout_seconds)
        return self._keeper.settle(timeout_seconds)

    def rebuild(self) -> int:
        """Rebuild the index on disk while the exact scan answers; returns its size.

        Takes about 2 ms a record. Raises VectorIndexError if it cannot be written; the scan goes
        on answering.
        """
        return self._keeper.rebuild()

    def close(self) -> None:
        """Stop the work under way, then release everything."""
        self._keeper.close()
        self._exact.close()

    def _awakened(self) -> PrimaryIndex | None:
        self._keeper.awaken()
        self._keeper.settle()
        return self._keeper.index

    def _answer(
        self,
        primary: PrimaryIndex | None,
        ask: Callable[[PrimaryIndex | VectorIndex], Answer],
    ) -> Answer:
        """The answer of the primary if it gives one, else that of the exact index."""
        if primary is not None:
            try:
                return ask(primary)
            except VectorIndexError as error:
                self._keeper.lay_aside(primary, error.detail)
        return ask(self._exact)


def _with_exact_cosines(
    exact: ExactVectorIndex, query: Vector, chunk_ids: Sequence[str]
) -> list[VectorHit]:
    """Those of the chunks that the exact index holds, best first; equal ones by their ids."""
    cosines, numbers = exact.compared(query, chunk_ids)
    compared = zip(chunk_ids, cosines.tolist(), numbers.tolist(), strict=True)
    hits = [VectorHit(*hit) for hit in compared if hit[2] != UNKNOWN_DOCUMENT]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
