"""The Chroma index as the service uses it: in a child process, so that only that may crash."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np

from app.adapters.vector_index.checks import checked_records, checked_vector
from app.adapters.vector_index.child_connection import ChildConnection, TimeLimits
from app.adapters.vector_index.chroma_file_watch import IndexFileWatch
from app.adapters.vector_index.chroma_files import graph_bytes
from app.adapters.vector_index.chroma_messages import Operation, Request, Response
from app.processor import UnderWay
from app.protocols import Vector, VectorHit, VectorRecord
from app.slices import slices

RECORDS_AT_ONCE = 64
"""Records in one call, so that a search can go between two calls."""
VECTORS_AT_ONCE = 500
RECORD_BYTES = 256
"""Bytes that a record of the graph takes besides its vector: 140 with Chroma's own settings."""
SWOLLEN_FACTOR = 4
"""A graph is swollen from this many times the size that its records need. Rebuilding it costs 2 ms
a record, as much as a third of the changes that made it so."""
SWOLLEN_FROM_BYTES = 64 << 20
"""A smaller graph never counts as swollen: 40,000 vectors of 384 dimensions."""
WRITING = frozenset({Operation.UPSERT, Operation.REMOVE, Operation.CLEAR})


class ChromaProcessIndex:
    """A PrimaryIndex whose files are open in a child process. Made with `start`.

    One call at a time; other threads wait. Once a call has failed because the process died, hung or
    sent nonsense, the process is ended, and every further call raises VectorIndexError.
    """

    swollen_from_bytes = SWOLLEN_FROM_BYTES

    def __init__(self, connection: ChildConnection, dimension: int, directory: Path) -> None:
        self._connection = connection
        self._dimension = dimension
        self._call_lock = threading.Lock()
        self._look_lock = threading.Lock()
        self._directory = directory
        self._files = IndexFileWatch(directory)
        self._damage: str | None = None
        """What was done to the files by others, once noticed, for all later calls of `failure`."""
        self._others = UnderWay()

    @classmethod
    def start(
        cls,
        directory: Path,
        collection_name: str,
        dimension: int,
        *,
        anew: bool = False,
        limits: TimeLimits | None = None,
    ) -> Self:
        """Open the index in a new process, or with `anew` an empty one in place of what is there.

        Raises VectorIndexError if it cannot be opened, crashes the process, or takes too long.
        """
        limits = limits or TimeLimits()
        arguments = [
            str(directory.absolute()),
            collection_name,
            str(dimension),
            "anew" if anew else "open",
            str(limits.opening + limits.grace),
        ]
        index = cls(ChildConnection.start(arguments, limits), dimension, directory)
        index._files.remember()
        return index

    @property
    def pid(self) -> int:
        """The process that holds the index."""
        return self._connection.pid

    @property
    def busy(self) -> bool:
        """Whether a call other than a search is under way, for which a search would wait."""
        return self._others.is_any

    @property
    def failure(self) -> str | None:
        """Why the process will not answer any more; notices a death that no call has met.

        Also that its files were replaced, cut or deleted under it. Waits for the look of another,
        which is over in a moment and whose finding is told only once, but for no call.
        """
        failure = self._connection.failure
        if failure is None:
            with self._look_lock:
                self._damage = self._damage or self._foreign_change()
        return failure or self._damage

    def is_swollen(self, records: int) -> bool:
        """Whether its graph is far too large for so many records; costs a few `stat`.

        HNSW keeps what was removed, on disk and in memory, and Chroma rewrites all of it every
        SYNC_THRESHOLD changes: a few texts that change all the time would make it grow forever.
        """
        needed = records * (4 * self._dimension + RECORD_BYTES)
        try:
            held = graph_bytes(self._directory)
        except OSError:
            return False  # `failure` tells what is wrong with the files
        return held > max(self.swollen_from_bytes, SWOLLEN_FACTOR * needed)

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records, in small batches so that other calls get their turn."""
        latest = checked_records(records, self._dimension)
        with self._others.counted():
            for batch in slices(latest, RECORDS_AT_ONCE):
                self._call(
                    Operation.UPSERT,
                    chunk_ids=[record.chunk_id for record in batch],
                    item_ids=[int(record.item_id) for record in batch],
                    document_numbers=[int(record.document_number) for record in batch],
                    metadata=[dict(record.metadata) for record in batch],
                    vectors=np.stack([record.vector for record in batch]).astype(np.float32),
                )

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records in small batches; unknown ids are no error."""
        with self._others.counted():
            for page in slices(list(dict.fromkeys(chunk_ids)), RECORDS_AT_ONCE):
                self._call(Operation.REMOVE, chunk_ids=page)

    def search(self, vector: Vector, limit: int) -> list[VectorHit]:
        """The (approximately) nearest records, best first."""
        query = checked_vector(vector, self._dimension)
        response = self._call(Operation.SEARCH, limit=limit, vectors=query[np.newaxis])
        return [
            VectorHit(chunk_id, score)
            for chunk_id, score in zip(response.chunk_ids, response.scores, strict=True)
        ]

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        with self._others.counted():
            return set(self._call(Operation.CHUNK_IDS).chunk_ids)

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        found: dict[str, Vector] = {}
        with self._others.counted():
            for page in slices(list(dict.fromkeys(chunk_ids)), VECTORS_AT_ONCE):
                response = self._call(Operation.VECTORS, chunk_ids=page)
                found.update(zip(response.chunk_ids, response.vectors, strict=True))
        return found

    def count(self) -> int:
        """How many records there are."""
        with self._others.counted():
            return self._call(Operation.COUNT).count

    def clear(self) -> None:
        """Start again with empty files."""
        with self._others.counted():
            self._call(Operation.CLEAR)

    def close(self) -> None:
        """Wait for the call that runs, flush, and end the process. Closing again does nothing."""
        with self._call_lock:
            self._connection.close()

    def _foreign_change(self) -> str | None:
        if not self._call_lock.acquire(blocking=False):
            return None  # a call is under way: the next look will tell
        try:
            return self._files.foreign_change()
        finally:
            self._call_lock.release()

    def _call(self, operation: Operation, **fields: object) -> Response:
        request = replace(Request(operation, 0), **fields)  # type: ignore[arg-type]
        with self._call_lock:
            if operation in WRITING:
                self._files.note_write()
            if operation is Operation.CLEAR:
                self._files.forget()
            response = self._connection.exchange(request)
            if operation is Operation.CLEAR:
                self._files.remember()
        return response
