"""Watches jobs from an event loop, without a thread or a session held while nothing happens."""

import functools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio

from app.errors import OverloadedError, StoppingError, StorageError
from app.jobs.bell import Ear, JobBell
from app.jobs.records import Job
from app.jobs.service import JobService
from app.thread_limiter import ThreadLimiter

LOOK_AGAIN_SECONDS = 2.0
"""How often a watcher looks though nobody has rung: another process may have changed the job."""

READING_THREADS = 8
MOST_WATCHERS = 1000
"""Clients that may wait for jobs, and a tenth of it that may follow their progress."""


class JobWatch:
    """Waits for jobs to end, and follows how they change."""

    def __init__(
        self,
        jobs: JobService,
        bell: JobBell,
        *,
        most_watchers: int = MOST_WATCHERS,
        look_again_seconds: float = LOOK_AGAIN_SECONDS,
    ) -> None:
        self._jobs = jobs
        self._bell = bell
        self._reading = ThreadLimiter(READING_THREADS)
        self._most_waiting = most_watchers
        self._most_following = max(1, most_watchers // 10)
        self.look_again_seconds = look_again_seconds
        self._waiting = 0
        self._following = 0

    @property
    def waiting(self) -> int:
        """Clients that wait for the end of a job."""
        return self._waiting

    @contextmanager
    def place(self) -> Iterator[None]:
        """Be one that waits for the block, from before there is a job to wait for.

        Raises OverloadedError when too many clients wait already.
        """
        if self._waiting >= self._most_waiting:
            raise OverloadedError(
                f"{self._waiting} clients wait for jobs already. Try again later, or take the job "
                "with wait=false."
            )
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    async def read(self, job_id: int) -> Job:
        """One job; raises NotFoundError."""
        return await self._reading.run(functools.partial(self._jobs.get, job_id))

    async def wait_for_end(self, job: Job) -> Job:
        """Wait until a job has ended, or has failed once more than when it was promised.

        Raises UnavailableError when the service stops, and StorageError when the job has ended
        but the database takes no outcome now.
        """
        with self._bell.listening(job.id) as ear:
            while True:
                latest = await self.read(job.id)
                if latest.has_ended or latest.retries > job.retries:
                    return latest
                if ear.failure is not None:
                    raise ear.failure
                if self._bell.stopped:
                    raise StoppingError
                await ear.wait(self.look_again_seconds)

    @asynccontextmanager
    async def following(self, job_id: int) -> AsyncIterator["Following"]:
        """Follow a job for the block; raises NotFoundError and OverloadedError."""
        if self._following >= self._most_following:
            raise OverloadedError(
                f"{self._following} clients follow jobs already; try again later, or read "
                f"/api/v1/jobs/{job_id} now and then."
            )
        self._following += 1
        try:
            with self._bell.listening(job_id) as ear:
                yield Following(await self.read(job_id), self, self._bell, ear)
        finally:
            self._following -= 1


class Following:
    """How one job changes, seen by one client."""

    def __init__(self, first: Job, watch: JobWatch, bell: JobBell, ear: Ear) -> None:
        self._first = first
        self._watch = watch
        self._bell = bell
        self._ear = ear
        self._is_due = False
        """Something may have happened that has not been read yet."""

    async def states(self, quiet_seconds: float) -> AsyncIterator[Job | None]:
        """The job as it is, then whenever it has changed, until its end or the service's.

        None each time that it has not changed for so long.
        """
        latest = self._first
        yield latest
        while not (latest.has_ended or self._bell.stopped):
            changed = await self._next(latest, quiet_seconds)
            if changed is not None:
                latest = changed
            if changed is not None or not self._bell.stopped:
                yield changed

    async def _next(self, latest: Job, quiet_seconds: float) -> Job | None:
        with anyio.move_on_after(quiet_seconds):
            while not self._bell.stopped:
                if not self._is_due:
                    await self._ear.wait(self._watch.look_again_seconds)
                self._is_due = True  # until it was read, for which the time may not be enough
                try:
                    job = await self._watch.read(latest.id)
                except StorageError:
                    job = latest  # the next look may succeed
                self._is_due = False
                if job != latest:
                    return job
        return None
