"""The exact vector index: a scan over float32 vectors held in memory."""

import heapq
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.adapters.vector_index.checks import checked_records, checked_vector, storable_ids
from app.protocols import Vector, VectorHit, VectorRecord

FIRST_CAPACITY_ROWS = 65_536
"""Room from the start. Rows that were never written take no memory (the system gives pages when
they are touched), while growing needs the old and the new matrix at once."""
COMPACTED_FROM_ROWS = 256
"""From this size on, a quarter of dead rows is worth a copy."""
SCORE_DECIMALS = 6
"""Scores are rounded to what float32 sums of a few hundred products can tell apart, so that equal
vectors tie and their order is decided by the chunk id."""
GATHER_BELOW = 0.25
"""A filter that leaves less than this share of the rows is answered from a copy of them alone;
above it, the scan of everything is the faster way (measured at 100,000 x 384)."""


@dataclass(frozen=True)
class _Snapshot:
    """What one reader works on: rows below `rows` never change, rows in `dead` are skipped.

    The arrays and the list are shared between snapshots and only ever appended to.
    """

    matrix: npt.NDArray[np.float32]
    item_ids: npt.NDArray[np.int64]
    chunk_ids: list[str]
    rows: int
    dead: npt.NDArray[np.int64]


class ExactVectorIndex:
    """Cosine by brute force over unit vectors: recall 1, about 5 ms for 100,000 x 384 on two cores.

    Writers append rows and mark old ones as dead, and then publish a new snapshot; a reader takes
    the snapshot once and needs no lock. Once a quarter of the rows is dead, the living are copied.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._write_lock = threading.Lock()
        self._row_of: dict[str, int] = {}
        self._snapshot = self._empty(FIRST_CAPACITY_ROWS)

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records; all of them become visible at once."""
        latest = checked_records(records, self.dimension)
        if not latest:
            return
        with self._write_lock:
            snapshot = self._with_room_for(len(latest))
            start, end = snapshot.rows, snapshot.rows + len(latest)
            snapshot.matrix[start:end] = [record.vector for record in latest]
            snapshot.item_ids[start:end] = [record.item_id for record in latest]
            snapshot.chunk_ids.extend(record.chunk_id for record in latest)
            replaced = []
            for row, record in enumerate(latest, start):
                if (old := self._row_of.get(record.chunk_id)) is not None:
                    replaced.append(old)
                self._row_of[record.chunk_id] = row
            self._publish(snapshot, end, replaced)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; all of them vanish at once. Unknown ids are no error."""
        with self._write_lock:
            rows = [self._row_of.pop(key) for key in set(chunk_ids) if key in self._row_of]
            if rows:
                self._publish(self._snapshot, self._snapshot.rows, rows)

    def search(
        self, vector: Vector, limit: int, item_ids: Sequence[int] | None = None
    ) -> list[VectorHit]:
        """The nearest records, best first; equal scores in the order of their chunk ids."""
        query = checked_vector(vector, self.dimension)
        snapshot = self._snapshot
        if limit <= 0 or snapshot.rows == 0:
            return []
        if item_ids is None:
            rows, scores = _scan(snapshot, query)
        else:
            rows, scores = _filtered_scan(snapshot, query, item_ids)
        return _best(snapshot.chunk_ids, rows, scores, limit)

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        with self._write_lock:
            return set(self._row_of)

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """Copies of the vectors held for these ids; unknown ids are left out."""
        with self._write_lock:
            matrix = self._snapshot.matrix
            return {
                key: matrix[self._row_of[key]].copy() for key in chunk_ids if key in self._row_of
            }

    def item_ids(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The items that these records belong to; unknown ids are left out."""
        with self._write_lock:
            items = self._snapshot.item_ids
            return {key: int(items[self._row_of[key]]) for key in chunk_ids if key in self._row_of}

    def count(self) -> int:
        """How many records there are."""
        return len(self._row_of)

    def clear(self) -> None:
        """Forget everything and give the memory back."""
        with self._write_lock:
            self._row_of = {}
            self._snapshot = self._empty(FIRST_CAPACITY_ROWS)

    def close(self) -> None:
        """Give the memory back."""
        self.clear()

    def _empty(self, capacity: int) -> _Snapshot:
        return _Snapshot(
            matrix=np.empty((capacity, self.dimension), dtype=np.float32),
            item_ids=np.empty(capacity, dtype=np.int64),
            chunk_ids=[],
            rows=0,
            dead=np.empty(0, dtype=np.int64),
        )

    def _publish(self, snapshot: _Snapshot, rows: int, newly_dead: list[int]) -> None:
        dead = np.concatenate([snapshot.dead, np.array(newly_dead, dtype=np.int64)])
        published = _Snapshot(snapshot.matrix, snapshot.item_ids, snapshot.chunk_ids, rows, dead)
        if 4 * len(dead) > rows > COMPACTED_FROM_ROWS:
            published = self._copied(published, extra_rows=0)
        self._snapshot = published

    def _with_room_for(self, extra_rows: int) -> _Snapshot:
        if self._snapshot.rows + extra_rows > len(self._snapshot.matrix):
            self._snapshot = self._copied(self._snapshot, extra_rows)
        return self._snapshot

    def _copied(self, snapshot: _Snapshot, extra_rows: int) -> _Snapshot:
        """The living rows in new arrays, with half as much room again to grow into."""
        living = np.delete(np.arange(snapshot.rows), snapshot.dead)
        needed = len(living) + extra_rows
        copy = self._empty(max(FIRST_CAPACITY_ROWS, needed + needed // 2))
        np.take(snapshot.matrix, living, axis=0, out=copy.matrix[: len(living)])
        copy.item_ids[: len(living)] = snapshot.item_ids[living]
        copy.chunk_ids.extend(snapshot.chunk_ids[row] for row in living)
        self._row_of = {chunk_id: row for row, chunk_id in enumerate(copy.chunk_ids)}
        return _Snapshot(copy.matrix, copy.item_ids, copy.chunk_ids, len(living), copy.dead)


def _scan(
    snapshot: _Snapshot, query: Vector
) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.float32]]:
    """Scores of all rows (rows None: the score's place is its row); the dead score -inf."""
    scores = snapshot.matrix[: snapshot.rows] @ query
    scores[snapshot.dead] = -np.inf
    return None, scores


def _filtered_scan(
    snapshot: _Snapshot, query: Vector, item_ids: Sequence[int]
) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.float32]]:
    """Scores of the rows that belong to the items."""
    wanted = np.array(storable_ids(item_ids), dtype=np.int64)
    allowed = np.isin(snapshot.item_ids[: snapshot.rows], wanted)
    allowed[snapshot.dead] = False
    rows = np.flatnonzero(allowed)
    if len(rows) < GATHER_BELOW * snapshot.rows:
        return rows, snapshot.matrix[rows] @ query
    scores = snapshot.matrix[: snapshot.rows] @ query
    scores[~allowed] = -np.inf
    return None, scores


def _best(
    chunk_ids: list[str],
    rows: npt.NDArray[np.int64] | None,
    scores: npt.NDArray[np.float32],
    limit: int,
) -> list[VectorHit]:
    """The `limit` best scores. The chunk id settles ties, at the cut too."""
    if len(scores) > limit:
        cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        # One rounding step below the cut still rounds to the same score.
        places = np.flatnonzero(scores >= cut - np.float32(10.0**-SCORE_DECIMALS))
    else:
        places = np.arange(len(scores))
    places = places[scores[places] > -np.inf]
    found = places if rows is None else rows[places]
    ranked = zip(
        (-round(score, SCORE_DECIMALS) for score in scores[places].tolist()),
        (chunk_ids[row] for row in found.tolist()),
        strict=True,
    )
    return [
        VectorHit(chunk_id, max(-1.0, min(1.0, -negative)))
        for negative, chunk_id in heapq.nsmallest(limit, ranked)
    ]
