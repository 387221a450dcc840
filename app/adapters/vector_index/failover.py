"""The vector index that always answers: a primary on disk, and the exact scan behind it."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from app.adapters.vector_index.checks import checked_vector
from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.status import VectorIndexStatus
from app.errors import VectorIndexError
from app.protocols import Vector, VectorHit, VectorIndex, VectorRecord, VectorSource

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

FILL_BATCH = 64
"""Records that a rebuild writes before it lets a waiting writer go first."""
COMPARE_BATCH = 500
"""Vectors that are read at a time to compare them."""
SAME_VECTOR = 0.9999
"""Cosine from which on a vector counts as the one that was stored: Chroma normalises again."""


class PrimaryStore(Protocol):
    """Where the primary index comes from. Failures raise VectorIndexError."""

    @property
    def name(self) -> str:
        """What people know the primary by."""
        ...

    def open(self) -> VectorIndex:
        """Open a complete index; raises when it is missing, incomplete or damaged."""
        ...

    def recreate(self) -> VectorIndex:
        """Throw away what is there, and make an empty index that counts as incomplete."""
        ...

    def mark_complete(self) -> None:
        """Note durably that the index holds what it should."""
        ...

    def mark_incomplete(self) -> None:
        """Note durably that the index lacks something."""
        ...


@dataclass
class _Filling:
    """A primary that is being brought up to date while writers go on writing to it."""

    index: VectorIndex
    held: set[str]
    repaired: int = 0
    failure: str | None = None


class FailoverVectorIndex:
    """Answers from the primary when it is ready, and from an exact scan otherwise.

    Searches with `item_ids` always go to the exact scan. It is filled from `source` when first
    needed, and `exact` must be empty before. SQL commits some time after the index is written, so
    a snapshot of SQL lacks what was upserted shortly before; therefore every write also goes to
    the exact index from the very start, and the snapshot only adds to it. This rests on an order
    that callers keep: SQL forgets a chunk before `remove` is called for it.

    A failing primary never fails a write or a search: it is set aside until `rebuild`, and noted
    as incomplete on disk. Locks are taken in the order maintenance, write, state.
    """

    def __init__(self, store: PrimaryStore, exact: ExactVectorIndex, source: VectorSource) -> None:
        self._store = store
        self._exact = exact
        self._source = source
        self._maintenance_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._state_lock = threading.Lock()
        self._exact_is_full = False
        self._primary: VectorIndex | None = None
        self._set_aside: VectorIndex | None = None
        self._filling: _Filling | None = None
        self._primary_missed_writes = False
        self._degraded_reason: str | None = "The vector index has not been opened yet."
        self._closed = False

    # Reading -----------------------------------------------------------------------------------

    def search(
        self, vector: Vector, limit: int, item_ids: Sequence[int] | None = None
    ) -> list[VectorHit]:
        """The nearest records, best first; exact under a filter and while there is no primary."""
        query = checked_vector(vector, self._exact.dimension)
        if item_ids is not None:
            return self._full_exact().search(query, limit, item_ids)
        return self._answer(lambda index: index.search(query, limit))

    def chunk_ids(self) -> set[str]:
        """The ids of all records in the index that answers searches."""
        return self._answer(lambda index: index.chunk_ids())

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        return self._answer(lambda index: index.vectors(chunk_ids))

    def count(self) -> int:
        """How many records there are in the index that answers searches."""
        return self._answer(lambda index: index.count())

    @property
    def degraded_reason(self) -> str | None:
        """Why the exact scan answers, or None; costs nothing, unlike `status`, which counts."""
        return self._degraded_reason

    @property
    def status(self) -> VectorIndexStatus:
        """Who answers now, and why it is not the primary. Never raises, never waits for a load."""
        count = self._exact.count()
        primary = self._primary
        if primary is not None and not self._exact_is_full:
            try:
                count = primary.count()
            except VectorIndexError as error:
                self._lay_aside(primary, error.detail)
        return VectorIndexStatus(
            self._store.name, self._primary is not None, self._degraded_reason, count
        )

    # Writing -----------------------------------------------------------------------------------

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records; fails only for records that no index could hold."""
        with self._write_lock:
            self._check_open()
            self._exact.upsert(records)
            if self._write_to_primary(lambda index: index.upsert(records)) and self._filling:
                self._filling.held.update(record.chunk_id for record in records)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records that SQL no longer holds; unknown ids are no error."""
        with self._write_lock:
            self._check_open()
            self._exact.remove(chunk_ids)
            if self._write_to_primary(lambda index: index.remove(chunk_ids)) and self._filling:
                self._filling.held.difference_update(chunk_ids)

    def clear(self) -> None:
        """Remove everything; from here on the index is what is written to it."""
        with self._maintenance_lock, self._write_lock:
            self._check_open()
            self._exact.clear()
            self._exact_is_full = True
            if self._write_to_primary(lambda index: index.clear()):
                self._store.mark_complete()

    def close(self) -> None:
        """Stop a rebuild that is under way, then release everything."""
        self._closed = True
        with self._maintenance_lock, self._write_lock:
            self._retire("The vector index is closed.")
            self._exact.close()

    # Maintenance -------------------------------------------------------------------------------

    def open(self, *, trusted: bool = True) -> None:
        """Open the primary; when that fails, `status` says why and the exact scan answers.

        One that is not trusted (after an unclean stop) is compared with the source, and mended,
        before it answers anything.
        """
        with self._maintenance_lock:
            self._check_open()
            try:
                index = self._store.open()
            except VectorIndexError as error:
                logger.warning("The %s index is not usable: %s", self._store.name, error.detail)
                self._degraded_reason = error.detail
                return
            with self._write_lock:
                if trusted and not self._primary_missed_writes:
                    self._serve_from(index)
                    return
            self._set_aside = index
            try:
                self._bring_up_to_date(index)
            except VectorIndexError:
                return  # `status` says why

    def rebuild(self) -> int:
        """Make the primary anew from the source while the exact scan answers; gives its size.

        Takes about 2.5 ms a record. Writers wait for FILL_BATCH records at most. Raises
        VectorIndexError when the primary cannot be written; the exact scan then goes on.
        """
        with self._maintenance_lock:
            self._check_open()
            self._full_exact()
            self._retire("The vector index is being rebuilt.")
            try:
                index = self._store.recreate()
            except VectorIndexError as error:
                self._degraded_reason = error.detail
                raise
            self._set_aside = index
            return self._bring_up_to_date(index)

    def reconcile(self) -> int:
        """Compare the primary with the source and mend it; gives how many records differed.

        For after an unclean stop: a kill may have lost single vectors, or writes that SQL knows
        to be unfinished. Does nothing when there is no primary.
        """
        with self._maintenance_lock:
            self._check_open()
            primary = self._primary
            return 0 if primary is None else self._bring_up_to_date(primary)

    def load_exact(self) -> None:
        """Fill the exact index now, so that the first filtered search need not wait for it."""
        self._full_exact()

    # Inside ------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise VectorIndexError("The vector index is closed.")

    def _answer(self, ask: Callable[[VectorIndex], Answer]) -> Answer:
        primary = self._primary
        if primary is not None:
            try:
                return ask(primary)
            except VectorIndexError as error:
                self._lay_aside(primary, error.detail)
        return ask(self._full_exact())

    def _full_exact(self) -> ExactVectorIndex:
        self._check_open()
        if not self._exact_is_full:
            with self._write_lock:
                if not self._exact_is_full:
                    written = self._exact.chunk_ids()
                    for batch in self._source():
                        self._exact.upsert([r for r in batch if r.chunk_id not in written])
                    self._exact_is_full = True
        return self._exact

    def _write_to_primary(self, write: Callable[[VectorIndex], None]) -> bool:
        """Whether there is a primary and it took the write. The write lock is held."""
        index = self._filling.index if self._filling else self._primary
        if index is None:
            self._primary_missed_writes = True
            return False
        try:
            write(index)
        except VectorIndexError as error:
            self._lay_aside(index, error.detail)
            if self._filling:
                self._filling.failure = error.detail
            return False
        return True

    def _serve_from(self, index: VectorIndex) -> None:
        with self._state_lock:
            self._primary, self._set_aside = index, None
            self._degraded_reason = None
            self._primary_missed_writes = False

    def _lay_aside(self, index: VectorIndex, reason: str) -> None:
        """Stop asking an index that failed. It stays open: others may be working in it."""
        with self._state_lock:
            if index not in (self._primary, self._set_aside):
                return
            logger.error("The %s index failed and is set aside: %s", self._store.name, reason)
            self._primary, self._set_aside = None, index
            self._degraded_reason = reason
            self._primary_missed_writes = True
        self._note_incomplete()

    def _note_incomplete(self) -> None:
        try:
            self._store.mark_incomplete()
        except VectorIndexError as error:
            logger.warning("The %s index could not be marked: %s", self._store.name, error.detail)

    def _retire(self, reason: str) -> None:
        """Take the primary out of service, and close it and the one that was set aside."""
        with self._state_lock:
            retired = [index for index in (self._primary, self._set_aside) if index is not None]
            self._primary = self._set_aside = None
            self._degraded_reason = reason
        for index in retired:
            try:
                index.close()
            except VectorIndexError as error:
                logger.warning("The %s index did not close: %s", self._store.name, error.detail)

    def _bring_up_to_date(self, index: VectorIndex) -> int:
        """Make the index hold what the exact one holds, then serve from it.

        Meanwhile writers write to both. What the source yields is written only if no writer has
        written or removed it since. Gives how many records were added, replaced or removed.
        """
        self._full_exact()
        reason: str | None = "The vector index could not be brought up to date."
        try:
            filling = self._filling = _Filling(index, set())
            filling.held.update(self._sound_ids(index))
            for batch in self._source():
                for start in range(0, len(batch), FILL_BATCH):
                    with self._write_lock:
                        self._add_missing(filling, batch[start : start + FILL_BATCH])
            with self._write_lock:
                self._level(filling)
                self._store.mark_complete()
                self._serve_from(index)
            reason = None
        except VectorIndexError as error:
            reason = error.detail
            raise
        finally:
            self._filling = None
            if reason is not None:
                self._lay_aside(index, reason)
        return filling.repaired

    def _sound_ids(self, index: VectorIndex) -> set[str]:
        """Ids whose vector the index holds as it should be."""
        sound = index.chunk_ids()
        ids = sorted(sound)
        for start in range(0, len(ids), COMPARE_BATCH):
            page = ids[start : start + COMPARE_BATCH]
            expected, held = self._exact.vectors(page), index.vectors(page)
            sound.difference_update(
                key
                for key, vector in expected.items()
                if key not in held or float(vector @ held[key]) < SAME_VECTOR
            )
        return sound

    def _add_missing(self, filling: _Filling, records: Sequence[VectorRecord]) -> None:
        self._check_open()
        if filling.failure is not None:
            raise VectorIndexError(filling.failure)
        new = [record for record in records if record.chunk_id not in filling.held]
        wanted = self._exact.item_ids([record.chunk_id for record in new])
        missing = [record for record in new if record.chunk_id in wanted]
        filling.index.upsert(missing)
        filling.held.update(record.chunk_id for record in missing)
        filling.repaired += len(missing)

    def _level(self, filling: _Filling) -> None:
        """Settle what the source did not show: removed since, or written but not yet in SQL.

        The latter get no metadata but their item: the exact index keeps none, and searches need
        none.
        """
        wanted = self._exact.chunk_ids()
        surplus = sorted(filling.index.chunk_ids() - wanted)
        filling.index.remove(surplus)
        filling.repaired += len(surplus)
        lacking = sorted(wanted - filling.held)
        items, vectors = self._exact.item_ids(lacking), self._exact.vectors(lacking)
        self._add_missing(filling, [VectorRecord(key, items[key], vectors[key]) for key in lacking])
