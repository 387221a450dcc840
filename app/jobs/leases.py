"""Renews the leases of this process's running jobs, and takes over jobs whose lease ran out."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.database import Database
from app.errors import StorageError
from app.jobs import claim_queries, running_queries
from app.jobs.records import Job
from app.surviving import survive

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = claim_queries.LEASE_SECONDS / 4
"""Three heartbeats may fail before a lease runs out."""


class LeaseLostError(Exception):
    """Raised out of a job that another process has taken over; nothing more may be stored of it."""


@dataclass(eq=False)
class Lease:
    """The hold of this process on a job that it runs."""

    job: Job
    lost: bool = False
    """Another process has taken the job over, or ended it."""


class LeaseKeeper:
    """A thread that renews leases, so that a job that only waits keeps its lease, too.

    As long as the process lives, its leases are renewed, however long a step of a job takes.
    `on_reclaimed` is called when there are jobs to take over.
    """

    def __init__(self, database: Database, on_reclaimed: Callable[[], None]) -> None:
        self._database = database
        self._on_reclaimed = on_reclaimed
        self._lock = threading.Lock()
        self._leases: set[Lease] = set()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def holding(self, job: Job) -> Iterator[Lease]:
        """Renew the lease of a job that has just been claimed, for the block."""
        self.start()
        lease = Lease(job)
        with self._lock:
            self._leases.add(lease)
        try:
            yield lease
        finally:
            with self._lock:
                self._leases.discard(lease)

    def held(self) -> tuple[Job, ...]:
        """The jobs that this process runs."""
        with self._lock:
            return tuple(lease.job for lease in self._leases if not lease.lost)

    def start(self) -> None:
        """Start the thread, unless it has been started."""
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name="job-leases", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop, and wait for the thread."""
        self._closed.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def beat(self) -> None:
        """Renew all leases of this process, then take over jobs whose lease has run out."""
        with self._lock:
            leases = tuple(self._leases)
        with self._database.write() as session:
            lost = [
                lease
                for lease in leases
                if not running_queries.renew_lease(session, lease.job.id, lease.job.attempt_token)
            ]
            requeued, given_up = claim_queries.requeue_running(session, only_expired=True)
        for lease in lost:
            lease.lost = True
        if requeued:
            logger.warning("%d jobs whose worker gave no sign of life start over", requeued)
        if given_up:
            logger.error("%d jobs are given up: the error of each says why", given_up)
        if requeued or given_up:
            self._on_reclaimed()

    def _run(self) -> None:
        while not self._closed.wait(HEARTBEAT_SECONDS):
            try:
                survive(self.beat, "The leases of jobs were not renewed", (StorageError,))
            except StorageError as error:
                logger.warning("The leases of jobs were not renewed: %s", error.detail)
