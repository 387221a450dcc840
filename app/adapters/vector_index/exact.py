"""The exact vector index: a scan over vectors held in memory."""

import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.adapters.vector_index.checks import check_rows, checked_records, checked_vector
from app.adapters.vector_index.number_codes import NumberCodes
from app.adapters.vector_index.rough_scan import (
    Codes,
    Steps,
    encode,
    encode_query,
    largest_error,
    rough_scores,
    rows_near_the_best,
)
from app.adapters.vector_index.scoring import (
    Rows,
    as_cosines,
    best_rows,
    scores_of_rows,
)
from app.adapters.vector_index.vector_rows import VectorRows, rows_of_records
from app.processor import UnderWay, available_cores
from app.protocols import (
    EVERYWHERE,
    UNKNOWN_DOCUMENT,
    Compared,
    SearchScope,
    Vector,
    VectorHit,
    VectorRecord,
    Vectors,
)

FIRST_CAPACITY_ROWS = 131_072
"""Rows reserved from the start. Rows that were never written take no memory (the system provides
pages when they are touched), while growing needs the old and the new matrix at once."""
COMPACTED_FROM_ROWS = 256
"""From this size on, the rows are copied once a quarter of them is dead."""
NO_ROW = -1
"""Stands for the row of a chunk that is not held."""
GATHER_BELOW = 0.05
"""A scope that leaves less than this share of the rows is answered from a copy of just these; above
it, the rough scan of everything is faster (measured at 100,000 x 384)."""


@dataclass(frozen=True)
class _Snapshot:
    """What a reader works on: rows below `rows` never change, rows in `dead` are skipped.

    Everything but `rows` and `dead` is shared between snapshots and only ever added to.
    """

    matrix: Vectors
    rough: Codes
    rough_steps: Steps
    item_codes: npt.NDArray[np.int32]
    document_codes: npt.NDArray[np.int32]
    items: NumberCodes
    documents: NumberCodes
    chunk_ids: list[str]
    row_of: dict[str, int]
    rows: int
    dead: Rows


class ExactVectorIndex:
    """Cosine by brute force over unit vectors: recall 1, 0.9 ms for 25,000 x 384, 2.5 for 100,000.

    A rough scan tells which rows can be among the best, and only their cosines are computed.

    Writers append rows, mark old ones as dead, and then publish a new snapshot; a reader takes the
    snapshot once and needs no lock. Once a quarter of the rows is dead, the live ones are copied.
    """

    def __init__(self, dimension: int, searches: UnderWay | None = None) -> None:
        """`searches` counts those under way; a single one scans on two cores if there are two."""
        self.dimension = dimension
        self._searches = searches or UnderWay()
        has_two = available_cores() > 1
        self._beside = ThreadPoolExecutor(1, "vector-scan") if has_two else None
        self._write_lock = threading.Lock()
        self._snapshot = self._empty(FIRST_CAPACITY_ROWS)

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records; all of them become visible at once.

        Records that are held unchanged stay as they are: needlessly dead rows would lead to copies.
        """
        latest = checked_records(records, self.dimension)
        rows = rows_of_records(latest, self.dimension)
        with self._write_lock:
            self._append(_chosen(rows, _rows_that_differ(self._snapshot, rows)))

    def load(self, rows: VectorRows) -> None:
        """Add rows in bulk; chunks that are held already stay as they are."""
        check_rows(rows, self.dimension)
        with self._write_lock:
            held = self._snapshot.row_of
            if held and not held.keys().isdisjoint(rows.chunk_ids):
                new = [row for row, key in enumerate(rows.chunk_ids) if key not in held]
                rows = _chosen(rows, np.array(new, np.int64))
            self._append(rows)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; all of them disappear at once. Unknown ids are no error."""
        with self._write_lock:
            row_of = self._snapshot.row_of
            rows = [row_of.pop(key) for key in set(chunk_ids) if key in row_of]
            if rows:
                self._publish(self._snapshot, self._snapshot.rows, rows)

    def search(
        self, vector: Vector, limit: int, scope: SearchScope = EVERYWHERE
    ) -> list[VectorHit]:
        """The nearest records, best first; equal scores in the order of their chunk ids."""
        query = checked_vector(vector, self.dimension)
        snapshot = self._snapshot
        if limit <= 0 or snapshot.rows == 0:
            return []
        allowed = _allowed(snapshot, scope)
        rows = None if allowed is None else np.flatnonzero(allowed)
        if rows is None or len(rows) >= GATHER_BELOW * snapshot.rows:
            rows = self._rows_in_question(snapshot, query, limit, allowed)
        scores = scores_of_rows(snapshot.matrix, rows, query)
        best = best_rows(snapshot.chunk_ids, rows, scores, limit)
        codes = snapshot.document_codes[[row for _, _, row in best]]
        numbers = snapshot.documents.numbers(codes).tolist()
        return [
            VectorHit(chunk_id, -negative, number)
            for (negative, chunk_id, _), number in zip(best, numbers, strict=True)
        ]

    def _rows_in_question(
        self,
        snapshot: _Snapshot,
        query: Vector,
        limit: int,
        allowed: npt.NDArray[np.bool_] | None,
    ) -> Rows:
        """The rows among which the best `limit` are."""
        rough_query = encode_query(query)
        steps = snapshot.rough_steps[: snapshot.rows]
        beside = self._beside if self._searches.is_alone else None
        scores = rough_scores(snapshot.rough[: snapshot.rows], steps, rough_query, beside)
        if allowed is None:
            scores[snapshot.dead] = -np.inf
        else:
            scores[~allowed] = -np.inf
        return rows_near_the_best(scores, limit, largest_error(steps, rough_query))

    def compared(self, vector: Vector, chunk_ids: Sequence[str]) -> Compared:
        """The cosine of each of these records to the vector, and the number of its document."""
        query = checked_vector(vector, self.dimension)
        snapshot = self._snapshot
        cosines = np.zeros(len(chunk_ids))
        numbers = np.full(len(chunk_ids), UNKNOWN_DOCUMENT)
        rows = _rows_of(snapshot, chunk_ids)
        places = np.flatnonzero(rows != NO_ROW)
        rows = rows[places]
        cosines[places] = as_cosines(scores_of_rows(snapshot.matrix, rows, query))
        numbers[places] = snapshot.documents.numbers(snapshot.document_codes[rows])
        return Compared(cosines, numbers)

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; unknown ids are left out."""
        snapshot = self._snapshot
        rows = _rows_of(snapshot, chunk_ids)
        held = rows != NO_ROW
        numbers = snapshot.documents.numbers(snapshot.document_codes[rows[held]]).tolist()
        return dict(zip(itertools.compress(chunk_ids, held), numbers, strict=True))

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        with self._write_lock:
            return set(self._snapshot.row_of)

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """Copies of the vectors held for these ids; unknown ids are left out."""
        return {record.chunk_id: record.vector for record in self.records(chunk_ids)}

    def records(self, chunk_ids: Sequence[str]) -> list[VectorRecord]:
        """The records with these ids, without metadata; unknown ids are left out."""
        with self._write_lock:
            snapshot = self._snapshot
            found = {key: snapshot.row_of[key] for key in chunk_ids if key in snapshot.row_of}
            rows = list(found.values())
            items = snapshot.items.numbers(snapshot.item_codes[rows]).tolist()
            documents = snapshot.documents.numbers(snapshot.document_codes[rows]).tolist()
            return [
                VectorRecord(*fields)
                for fields in zip(found, items, documents, snapshot.matrix[rows], strict=True)
            ]

    def count(self) -> int:
        """How many records there are."""
        return len(self._snapshot.row_of)

    def clear(self) -> None:
        """Remove everything, and free the memory."""
        with self._write_lock:
            self._snapshot = self._empty(FIRST_CAPACITY_ROWS)

    def close(self) -> None:
        """Free the memory."""
        self.clear()

    def _empty(self, capacity: int) -> _Snapshot:
        return _Snapshot(
            matrix=np.empty((capacity, self.dimension), np.float32),
            rough=np.empty((capacity, self.dimension), np.int8),
            rough_steps=np.empty(capacity, np.float32),
            item_codes=np.empty(capacity, np.int32),
            document_codes=np.empty(capacity, np.int32),
            items=NumberCodes(),
            documents=NumberCodes(),
            chunk_ids=[],
            row_of={},
            rows=0,
            dead=np.empty(0, np.int64),
        )

    def _append(self, rows: VectorRows) -> None:
        """Append rows, and publish them. The write lock is held."""
        if not rows.chunk_ids:
            return
        snapshot = self._with_room_for(len(rows.chunk_ids))
        start, end = snapshot.rows, snapshot.rows + len(rows.chunk_ids)
        snapshot.matrix[start:end] = rows.vectors
        snapshot.rough[start:end], snapshot.rough_steps[start:end] = encode(rows.vectors)
        snapshot.item_codes[start:end] = snapshot.items.codes(rows.item_ids)
        snapshot.document_codes[start:end] = snapshot.documents.codes(rows.document_numbers)
        snapshot.chunk_ids.extend(rows.chunk_ids)
        replaced = []
        for row, chunk_id in enumerate(rows.chunk_ids, start):
            if (old := snapshot.row_of.get(chunk_id)) is not None:
                replaced.append(old)
            snapshot.row_of[chunk_id] = row
        self._publish(snapshot, end, replaced)

    def _publish(self, snapshot: _Snapshot, rows: int, newly_dead: list[int]) -> None:
        dead = np.concatenate([snapshot.dead, np.array(newly_dead, np.int64)])
        published = replace(snapshot, rows=rows, dead=dead)
        if 4 * len(dead) > rows > COMPACTED_FROM_ROWS:
            published = self._copied(published, extra_rows=0)
        self._snapshot = published

    def _with_room_for(self, extra_rows: int) -> _Snapshot:
        if self._snapshot.rows + extra_rows > len(self._snapshot.matrix):
            self._snapshot = self._copied(self._snapshot, extra_rows)
        return self._snapshot

    def _copied(self, snapshot: _Snapshot, extra_rows: int) -> _Snapshot:
        """The live rows in new arrays, with half as much room again to grow into."""
        living = np.delete(np.arange(snapshot.rows), snapshot.dead)
        size = len(living)
        needed = size + extra_rows
        copy = self._empty(max(FIRST_CAPACITY_ROWS, needed + needed // 2))
        for source, target in (
            (snapshot.matrix, copy.matrix),
            (snapshot.rough, copy.rough),
            (snapshot.rough_steps, copy.rough_steps),
        ):
            np.take(source, living, axis=0, out=target[:size], mode="clip")
        items = snapshot.items.numbers(snapshot.item_codes[living])
        copy.item_codes[:size] = copy.items.codes(items)
        documents = snapshot.documents.numbers(snapshot.document_codes[living])
        copy.document_codes[:size] = copy.documents.codes(documents)
        copy.chunk_ids.extend(snapshot.chunk_ids[row] for row in living.tolist())
        copy.row_of.update({chunk_id: row for row, chunk_id in enumerate(copy.chunk_ids)})
        return replace(copy, rows=size)


def _rows_that_differ(snapshot: _Snapshot, rows: VectorRows) -> Rows:
    """Those of the rows that are not held as they are."""
    places = np.array([snapshot.row_of.get(key, -1) for key in rows.chunk_ids], np.int64)
    known = np.flatnonzero(places >= 0)
    held = places[known]
    items = snapshot.items.numbers(snapshot.item_codes[held])
    documents = snapshot.documents.numbers(snapshot.document_codes[held])
    same = (snapshot.matrix[held] == rows.vectors[known]).all(axis=1)
    same &= (items == rows.item_ids[known]) & (documents == rows.document_numbers[known])
    return np.delete(np.arange(len(places)), known[same])


def _chosen(rows: VectorRows, these: Rows) -> VectorRows:
    if len(these) == len(rows.chunk_ids):
        return rows
    return VectorRows(
        [rows.chunk_ids[row] for row in these.tolist()],
        rows.item_ids[these],
        rows.document_numbers[these],
        rows.vectors[these],
    )


def _rows_of(snapshot: _Snapshot, chunk_ids: Sequence[str]) -> Rows:
    """The row of each chunk; NO_ROW for one that is not held."""
    return np.array([snapshot.row_of.get(key, NO_ROW) for key in chunk_ids], np.int64)


def _allowed(snapshot: _Snapshot, scope: SearchScope) -> npt.NDArray[np.bool_] | None:
    """Which rows the scope allows, the dead never; None when it allows every row."""
    allowed: npt.NDArray[np.bool_] | None = None
    for wanted, numbers, codes in (
        (scope.item_ids, snapshot.items, snapshot.item_codes),
        (scope.document_numbers, snapshot.documents, snapshot.document_codes),
    ):
        if wanted is not None:
            these = numbers.table(wanted)[codes[: snapshot.rows]]
            allowed = these if allowed is None else allowed & these
    if allowed is not None:
        allowed[snapshot.dead] = False
    return allowed
