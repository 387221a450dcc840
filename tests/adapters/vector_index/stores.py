"""Sources and primaries for tests; the primaries fail on demand."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence

from app.adapters.healing_pauses import HealingPauses
from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.adapters.vector_index.primary import PrimaryIndex, PrimaryStore
from app.adapters.vector_index.vector_rows import VectorRows, rows_of_records
from app.errors import VectorIndexError
from app.protocols import VectorHit, VectorRecord
from tests.contracts.vector_index_contract import DIMENSION


class Table:
    """Stands for SQL: a snapshot is taken when reading begins, and is read in small batches."""

    def __init__(self, records: Sequence[VectorRecord] = ()) -> None:
        self.rows = {record.chunk_id: record for record in records}
        self.reads = 0
        self.loads = 0
        self.between_batches: Callable[[], None] = lambda: None
        self.between_rows: Callable[[], None] = lambda: None

    def records(self) -> Iterator[Sequence[VectorRecord]]:
        self.reads += 1
        for batch in self._batches():
            yield batch
            self.between_batches()

    def vector_rows(self) -> Iterator[VectorRows]:
        self.loads += 1
        for batch in self._batches():
            yield rows_of_records(batch, DIMENSION)
            self.between_rows()

    def _batches(self) -> Iterator[list[VectorRecord]]:
        snapshot = list(self.rows.values())
        for start in range(0, len(snapshot), 50):
            yield snapshot[start : start + 50]


def failover(
    store: PrimaryStore,
    table: Table,
    *,
    exact_up_to_records: int = 0,
    pauses: Sequence[float] = (0.0, 0.0, 0.0),
    retry_seconds: float = 3600.0,
    on_healed: Callable[[], None] = lambda: None,
) -> FailoverVectorIndex:
    """An index whose searches ask the primary, however few records there are."""
    return FailoverVectorIndex(
        store,
        LoadedExactIndex(DIMENSION, table.vector_rows),
        table.records,
        exact_up_to_records=exact_up_to_records,
        healing_pauses=HealingPauses(pauses, retry_seconds),
        on_healed=on_healed,
    )


class NoStore:
    """A primary that can be neither opened nor made."""

    name = "none"

    def __init__(self) -> None:
        self.attempts = 0

    def is_complete(self) -> bool:
        return False

    def open(self) -> PrimaryIndex:
        self.attempts += 1
        raise VectorIndexError("There is no primary.")

    def recreate(self) -> PrimaryIndex:
        raise VectorIndexError("There is no primary.")

    def mark_complete(self) -> None: ...

    def mark_incomplete(self) -> None: ...


class FlakyStore:
    """Makes exact indexes that fail on demand. What was made last is what is on disk."""

    name = "flaky"

    def __init__(self) -> None:
        self.broken = False
        self.closes = True
        self.complete = False
        self.swollen_factor = math.inf
        """An index is swollen once it has taken so many times the records that it holds."""
        self.index: FlakyIndex | None = None
        self.openings = 0
        self.made = 0
        self._changed = threading.Condition()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Until a condition holds of what the store was asked to do."""
        with self._changed:
            assert self._changed.wait_for(condition, 30)

    def is_complete(self) -> bool:
        return self.complete

    def open(self) -> PrimaryIndex:
        self.openings += 1
        if self.index is None or self.broken:
            raise VectorIndexError("Nothing is there.")
        return self.index

    def recreate(self) -> PrimaryIndex:
        with self._changed:
            self.made += 1
            self._changed.notify_all()
        self.complete = False
        if self.broken:
            raise VectorIndexError("Nothing can be made.")
        self.index = FlakyIndex(self)
        return self.index

    def mark_complete(self) -> None:
        with self._changed:
            self.complete = True
            self._changed.notify_all()

    def mark_incomplete(self) -> None:
        self.complete = False


class FlakyIndex(ExactVectorIndex):
    """An index whose every operation fails while its store is broken; closing keeps its records."""

    def __init__(self, store: FlakyStore) -> None:
        super().__init__(DIMENSION)
        self._store = store
        self.busy = False
        self.searches = 0
        self.most_found: int | None = None
        """Set: like a graph it finds no more, with cosines that are a little off."""
        self.taken = 0
        self.fail_once = threading.Event()
        """Set: the next operation fails, and only that."""

    @property
    def failure(self) -> str | None:
        return "The primary is broken." if self._store.broken else None

    def is_swollen(self, records: int) -> bool:
        return self.taken >= self._store.swollen_factor * records

    def _fail_if_broken(self) -> None:
        if self._store.broken or self.fail_once.is_set():
            self.fail_once.clear()
            raise VectorIndexError("The primary is broken.")

    def upsert(self, records):
        self._fail_if_broken()
        self.taken += len(records)
        super().upsert(records)

    def remove(self, chunk_ids):
        self._fail_if_broken()
        super().remove(chunk_ids)

    def search(self, vector, limit, *scope):
        self._fail_if_broken()
        self.searches += 1
        hits = super().search(vector, limit, *scope)
        if self.most_found is None:
            return hits
        return [VectorHit(hit.chunk_id, hit.score - 1e-7) for hit in hits[: self.most_found][::-1]]

    def chunk_ids(self):
        self._fail_if_broken()
        return super().chunk_ids()

    def clear(self):
        self._fail_if_broken()
        super().clear()

    def close(self) -> None:
        if not self._store.closes:
            raise VectorIndexError("It was killed while it wrote.")
