"""Writes that an index on disk has yet to catch up with."""

import threading
from collections.abc import Sequence

from app.protocols import VectorRecord


class MissedWrites:
    """The last write to each chunk since noting began, or since they were last taken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noting = False
        self._last: dict[str, VectorRecord | None] = {}

    def begin(self) -> None:
        """Note what is written from now on, if that is not done already."""
        with self._lock:
            self._noting = True

    def end(self) -> None:
        """Note nothing any more, and forget."""
        with self._lock:
            self._noting = False
            self._last = {}

    def note_upsert(self, records: Sequence[VectorRecord]) -> None:
        """These records were added or replaced."""
        with self._lock:
            if self._noting:
                self._last.update((record.chunk_id, record) for record in records)

    def note_removal(self, chunk_ids: Sequence[str]) -> None:
        """These records were removed."""
        with self._lock:
            if self._noting:
                self._last.update(dict.fromkeys(chunk_ids))

    def take(self) -> dict[str, VectorRecord | None]:
        """What was noted: the record by chunk id, None for one that was removed."""
        with self._lock:
            taken, self._last = self._last, {}
        return taken
