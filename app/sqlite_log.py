"""Folds SQLite's write-ahead log into its file while nobody waits for that."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from app.errors import StorageError

logger = logging.getLogger(__name__)

REST_SECONDS = 1.0
"""So long after the last write, the log is folded in."""
LATEST_SECONDS = 5.0
"""So long after the first write that it lacks, however many follow."""
PAGES_FOLDED_BESIDE = 2000
"""Of 4 KiB. A log that is longer is folded in once more while nobody may write: otherwise it would
never be wholly in the file, and only then its next page is its first one again."""


class LogFolding:
    """The thread that folds the log in. Safe to call from many threads."""

    def __init__(
        self,
        fold: Callable[[], int],
        nobody_writes: Callable[[], AbstractContextManager[None]],
        *,
        rest_seconds: float = REST_SECONDS,
        latest_seconds: float = LATEST_SECONDS,
    ) -> None:
        """`fold` folds in what it can beside readers and writers, and gives the log's pages.

        `nobody_writes` keeps writers waiting for its block. Both may raise StorageError.
        """
        self._fold = fold
        self._nobody_writes = nobody_writes
        self._rest_seconds = rest_seconds
        self._latest_seconds = latest_seconds
        self._changed = threading.Condition()
        self._first_write: float | None = None
        self._last_write = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="database-log", daemon=True)
        self._thread.start()

    def note_write(self) -> None:
        """Something was committed."""
        with self._changed:
            self._last_write = time.monotonic()
            if self._first_write is None:
                self._first_write = self._last_write
                self._changed.notify_all()

    def close(self) -> None:
        """Stop, once what is being folded in is."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while self._wait_until_due():
            try:
                if self._fold() > PAGES_FOLDED_BESIDE:
                    with self._nobody_writes():
                        self._fold()
            except StorageError as error:  # it all stays in the log
                logger.warning("The write-ahead log is folded in later: %s", error.detail)

    def _wait_until_due(self) -> bool:
        """Whether there is something to fold in; False once closed."""
        with self._changed:
            while not self._closed:
                pause = self._seconds_left()
                if pause is not None and pause <= 0:
                    self._first_write = None
                    return True
                self._changed.wait(pause)
        return False

    def _seconds_left(self) -> float | None:
        if self._first_write is None:
            return None
        due = min(self._last_write + self._rest_seconds, self._first_write + self._latest_seconds)
        return due - time.monotonic()
