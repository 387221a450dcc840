"""The vector index of the service: an exact scan in memory, and one on disk for large sizes."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.adapters.healing_pauses import HealingPauses
from app.adapters.vector_index.checks import checked_vector
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.adapters.vector_index.primary import PrimaryIndex, PrimaryStore
from app.adapters.vector_index.primary_keeper import PrimaryKeeper
from app.adapters.vector_index.status import VectorIndexStatus
from app.errors import VectorIndexError
from app.protocols import (
    EVERYWHERE,
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
2.5 ms of CPU for 100,000, and the time grows with their number."""


class FailoverVectorIndex:
    """Two indexes that hold the same: the exact one always answers, the primary helps out.

    The exact index answers every search within a scope, every search of up to
    `exact_up_to_records`, and all others while the primary writes, fails, or is not there. So a
    failing primary never fails a write or a search: it is healed in the background meanwhile.
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
        """`exact` must be new; the `records`, with their metadata, fill the primary.

        `on_healed` is called whenever the primary failed or differed, and serves again;
        `is_intact` says whether its files are those that were closed last.
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

        As many as there are, and with the same cosines, whichever index knows them.
        """
        query = checked_vector(vector, self._exact.dimension)
        exact = self._exact.full()
        if scope == EVERYWHERE and exact.count() > self._exact_up_to_records:
            self._keeper.awaken()
            primary = self._keeper.index
            if primary is not None and not primary.busy:
                hits = self._answer(primary, lambda index: index.search(query, limit))
                cosines = exact.similarities(query, [hit.chunk_id for hit in hits])
                # A graph may lead to fewer than there are: to not even all that it holds.
                if len(cosines) >= min(limit, exact.count()):
                    nearest = sorted(cosines.items(), key=lambda found: (-found[1], found[0]))
                    return [VectorHit(*found) for found in nearest]
        return exact.search(query, limit, scope)

    def similarities(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The cosine of each of these records, -1 to 1; unknown ids are left out."""
        return self._exact.similarities(vector, chunk_ids)

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
        """Why the index on disk does not do its part, or None; costs nothing."""
        return self._keeper.degraded_reason

    @property
    def status(self) -> VectorIndexStatus:
        """How the index is; never raises, never waits."""
        return VectorIndexStatus(
            name=self._store.name,
            loaded=self._exact.loaded,
            ready=self._keeper.is_sound,
            degraded_reason=self._keeper.degraded_reason,
            count=self._exact.status.count,
        )

    def parts(self) -> dict[str, VectorPart]:
        """What can be compared now by name: the exact index, the primary if it is open."""
        primary = self._keeper.index
        return {"exact": self._exact} | ({} if primary is None else {self._store.name: primary})

    @property
    def rests(self) -> bool:
        """Whether nobody has opened the index on disk since the start."""
        return self._keeper.rests

    def awaken(self) -> None:
        """Have the index on disk opened, and wait until it is, or was given up."""
        self._awakened()

    def distrust(self, reason: str) -> None:
        """Have the index on disk compared and mended, or made anew, in the background."""
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
        """Remove everything; from here on the index is what is written to it."""
        self._keeper.clear()

    # Its life ----------------------------------------------------------------------------------

    def start(self, *, trusted: bool) -> None:
        """Load the exact index and see to the one on disk, in the background.

        `trusted`: the last process stopped in order. Otherwise the index on disk is compared with
        SQL, and mended or made anew, before it answers anything. Writes may begin at once.
        """
        self._exact.start()
        self._keeper.start(trusted=trusted)

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until nothing is left to do in the background; whether that is so.

        Then `status.ready` says whether the index on disk is sound.
        """
        self._exact.settle(timeout_seconds)
        return self._keeper.settle(timeout_seconds)

    def rebuild(self) -> int:
        """Make the index on disk anew while the exact scan answers; gives its size.

        Takes about 2 ms a record. VectorIndexError: it cannot be written; the scan goes on.
        """
        return self._keeper.rebuild()

    def close(self) -> None:
        """Stop what is under way, then release everything."""
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
        """The primary's answer if it has one, else that of the exact index."""
        if primary is not None:
            try:
                return ask(primary)
            except VectorIndexError as error:
                self._keeper.lay_aside(primary, error.detail)
        return ask(self._exact)
