"""Folds SQLite's write-ahead log into its file while nobody waits for that."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self

from app.errors import StorageError
from app.surviving import survive

logger = logging.getLogger(__name__)

REST_SECONDS = 1.0
"""So long after the last write, the log is folded in."""
LATEST_SECONDS = 5.0
"""So long after the first write that it lacks, however many follow; and so long after a reader was
in the way, if nothing is written before."""
FAILURE_SECONDS = 60.0
"""Pause after it failed, whatever is written meanwhile: a full disk may have room any time."""
PAGES_FOLDED_BESIDE = 2000
"""Of 4 KiB. A log that is longer is folded in once more while nobody may write: otherwise it would
never be wholly in the file, and only then its next page is its first one again."""


@dataclass(frozen=True)
class Folded:
    """What came of folding the log in once."""

    pages: int
    """Of the log, those that are in the file already among them."""
    is_whole: bool
    """Whether all of them are in the file now: no reader needed the file as it was before."""

    @classmethod
    def told_by(cls, answer: Sequence[Any]) -> Self:
        """What `PRAGMA wal_checkpoint` answers: whether another one is at it, and two numbers.

        They are the pages of the log, and those of them that are in the file.
        """
        is_busy, pages, pages_in_file = answer
        return cls(int(pages), is_whole=not is_busy and pages_in_file >= pages)


class LogFolding:
    """The thread that folds the log in, until all of it is. Safe to call from many threads."""

    def __init__(
        self,
        fold: Callable[[], Folded],
        nobody_writes: Callable[[], AbstractContextManager[None]],
        *,
        rest_seconds: float = REST_SECONDS,
        latest_seconds: float = LATEST_SECONDS,
        failure_seconds: float = FAILURE_SECONDS,
    ) -> None:
        """`fold` folds in what it can beside readers and writers.

        `nobody_writes` keeps writers waiting for its block. Both may raise StorageError.
        """
        self._fold = fold
        self._nobody_writes = nobody_writes
        self._rest_seconds = rest_seconds
        self._latest_seconds = latest_seconds
        self._failure_seconds = failure_seconds
        self._complaint = ""
        self._changed = threading.Condition()
        self._first_write: float | None = None
        self._last_write = 0.0
        self._again_at: float | None = None
        """When to go on with what was left, at the latest …"""
        self._not_before = 0.0
        """… and until when to leave it alone."""
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
            is_whole = self._try_to_fold_in()
            if is_whole is None:
                self._try_again_in(self._failure_seconds, whatever_is_written=True)
            elif not is_whole:
                self._try_again_in(self._latest_seconds)

    def _try_to_fold_in(self) -> bool | None:
        """Whether all of the log is in the file now; None where that failed and it stays."""
        try:
            is_whole = survive(self._fold_in, "The log was not folded in", (StorageError,))
        except StorageError as error:
            self._complain(error.detail)
            return None
        if is_whole is not None:
            self._complaint = ""
        return is_whole

    def _fold_in(self) -> bool:
        """Whether all of the log is in the file now; raises StorageError."""
        folded = self._fold()
        if folded.pages > PAGES_FOLDED_BESIDE:
            with self._nobody_writes():
                folded = self._fold()
        return folded.is_whole

    def _complain(self, complaint: str) -> None:
        """Say it once, not at every attempt."""
        if complaint != self._complaint:
            logger.warning("The write-ahead log is folded in later: %s", complaint)
        self._complaint = complaint

    def _try_again_in(self, seconds: float, *, whatever_is_written: bool = False) -> None:
        with self._changed:
            self._again_at = time.monotonic() + seconds
            if whatever_is_written:
                self._not_before = self._again_at

    def _wait_until_due(self) -> bool:
        """Whether there is something to fold in; False once closed."""
        with self._changed:
            while not self._closed:
                pause = self._seconds_left()
                if pause is not None and pause <= 0:
                    self._first_write = self._again_at = None
                    return True
                self._changed.wait(pause)
        return False

    def _seconds_left(self) -> float | None:
        """Until it is due; None while there is nothing to fold in."""
        moments = [] if self._again_at is None else [self._again_at]
        if self._first_write is not None:
            moments += [
                self._last_write + self._rest_seconds,
                self._first_write + self._latest_seconds,
            ]
        if not moments:
            return None
        return max(min(moments), self._not_before) - time.monotonic()
