"""Tells those who watch jobs, on an event loop, that something has happened to one."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import anyio

from app.errors import StorageError


class Ear:
    """Whoever watches one job, on its own event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()
        self.failure: StorageError | None = None
        """The outcome is known, but the database does not take it now, for this reason."""

    def wake(self) -> None:
        """Let `wait` return; from any thread."""
        with suppress(RuntimeError):  # its loop has ended: nobody listens any more
            self._loop.call_soon_threadsafe(self._rung.set)

    async def wait(self, seconds: float) -> None:
        """Wait until something has happened since the last call, but no longer than this."""
        with anyio.move_on_after(seconds):
            await self._rung.wait()
        self._rung.clear()


class JobBell:
    """Rung from any thread when a job has changed; what has changed is to be read from SQL."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ears: dict[int, list[Ear]] = {}
        self.stopped = False
        """The service stops: whoever watches is to end."""

    @contextmanager
    def listening(self, job_id: int) -> Iterator[Ear]:
        """Listen for the block; to be entered on an event loop, before the job is read."""
        ear = Ear()
        with self._lock:
            self._ears.setdefault(job_id, []).append(ear)
        try:
            yield ear
        finally:
            with self._lock:
                ears = self._ears[job_id]
                ears.remove(ear)
                if not ears:
                    del self._ears[job_id]

    def ring(self, job_id: int) -> None:
        """Something has happened to this job."""
        with self._lock:
            for ear in self._ears.get(job_id, ()):
                ear.wake()

    def fail(self, job_id: int, failure: StorageError) -> None:
        """This job has ended, but for now the database does not take how."""
        with self._lock:
            for ear in self._ears.get(job_id, ()):
                ear.failure = failure
                ear.wake()

    def stop(self) -> None:
        """The service stops: wake everybody."""
        with self._lock:
            self.stopped = True
            for ears in self._ears.values():
                for ear in ears:
                    ear.wake()
