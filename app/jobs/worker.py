"""Runs queued jobs in threads of its own, and starts over what a crash interrupted."""

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict

from app.database import Database
from app.errors import AppError, StorageError, UnavailableError, WorkStoppedError
from app.jobs import queries
from app.jobs.records import Job, JobHandler
from app.protocols import Progress

logger = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.5
"""How often progress is written down."""

STORAGE_RETRY_SECONDS = 5.0
"""Pause after the database failed."""


class ServiceStopping(Exception):  # noqa: N818, no error: the job goes on after the restart
    """Raised out of a running job when the service stops; the job goes back into the queue."""


class JobWorker:
    """`threads` threads that take one job after the other, oldest first.

    `items_in_use` names the items whose jobs would only wait if they were started now; `wake` is
    to be called when one is free again.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, JobHandler],
        threads: int,
        items_in_use: Callable[[], Collection[int]] = frozenset,
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._items_in_use = items_in_use
        self._wake = threading.Condition()
        self._woken = 0
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"job-worker-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        """Queue again what the last process left, and begin."""
        with self._database.write() as session:
            requeued, given_up = queries.requeue_running(session)
        if requeued:
            logger.info("%d interrupted jobs start over", requeued)
        if given_up:
            logger.error("%d jobs that the service never outlives are given up", given_up)
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """There is a new job, or one that waited can run."""
        with self._wake:
            self._woken += 1
            self._wake.notify_all()

    def stop(self) -> None:
        """Take no new job and end running ones between two documents; waits for nothing."""
        self._stopping.set()
        self.wake()

    def close(self) -> None:
        """Stop, and wait for the threads."""
        self.stop()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def drain(self) -> None:
        """Run queued jobs in this thread until none is left."""
        while not self._stopping.is_set() and self._run_one():
            pass

    def _run(self) -> None:
        while not self._stopping.is_set():
            seen = self._woken
            try:
                if self._run_one():
                    continue
            except StorageError as error:
                self._wait_for_storage(error)
                continue
            with self._wake:
                while self._woken == seen:
                    self._wake.wait()

    def _wait_for_storage(self, error: StorageError) -> None:
        logger.error("The worker waits for the database: %s", error.detail)
        self._stopping.wait(STORAGE_RETRY_SECONDS)

    def _run_one(self) -> bool:
        with self._database.write() as session:
            job = queries.claim_job(session, self._items_in_use())
        if job is None:
            return False
        listener = _Listener(self, job.id)
        try:
            self._finish(job, listener, *self._outcome(job, listener))
        except ServiceStopping:
            self._hand_back(job)
        return True

    def _hand_back(self, job: Job) -> None:
        logger.info("Job %d goes on after the restart", job.id)
        try:
            with self._database.write() as session:
                queries.hand_back(session, job.id)
        except StorageError as error:
            # It stays `running`: the next start takes it for one that a crash interrupted.
            logger.warning("Job %d was not handed back: %s", job.id, error.detail)

    def _outcome(
        self, job: Job, listener: "_Listener"
    ) -> tuple[str, dict[str, object] | None, str | None]:
        """Run a job; gives its final state, result and error."""
        try:
            result = self._handlers[job.kind](job.arguments, listener)
            json.dumps(result)  # what cannot be stored must fail here, not end the thread later
        except WorkStoppedError as error:
            return "cancelled", None, _storable(error.detail)
        except AppError as error:
            if self.stopping and isinstance(error, UnavailableError):
                raise ServiceStopping from error
            return "failed", None, _storable(error.detail)
        except ServiceStopping:
            raise
        except Exception:
            logger.exception("Job %d failed unexpectedly", job.id)
            return "failed", None, "Something went wrong on our side; the server's log says what."
        return "succeeded", result, None

    def _finish(
        self,
        job: Job,
        listener: "_Listener",
        state: str,
        result: dict[str, object] | None,
        error: str | None,
    ) -> None:
        """Write the outcome down, however long the database takes to answer again."""
        progress = asdict(listener.latest) if listener.latest else None
        while True:
            try:
                with self._database.write() as session:
                    queries.finish_job(session, job.id, state, result, error, progress)
            except StorageError as storage_error:
                self._wait_for_storage(storage_error)
                if self._stopping.is_set():
                    raise ServiceStopping from storage_error
            else:
                return

    @property
    def stopping(self) -> bool:
        """Whether `close` was called."""
        return self._stopping.is_set()

    def note_progress(self, job_id: int, progress: Progress) -> None:
        """Write progress down; raises WorkStoppedError when the job was cancelled."""
        with self._database.write() as session:
            cancelled = queries.note_progress(session, job_id, asdict(progress))
        if cancelled:
            raise WorkStoppedError("The job was cancelled.")


def _storable(text: str) -> str:
    """Text as a database takes it: file names may hold bytes that are no characters, or NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


class _Listener:
    """A job's ProgressListener: writes not more often than every PROGRESS_SECONDS.

    But the first chunk that is embedded at once: by that an attempt is known not to be in vain.
    """

    def __init__(self, worker: JobWorker, job_id: int) -> None:
        self._worker = worker
        self._job_id = job_id
        self._noted = float("-inf")
        self._gain_noted = False
        self.latest: Progress | None = None
        """What was reported last, written or not."""

    def __call__(self, progress: Progress) -> None:
        self.latest = progress
        if self._worker.stopping:
            raise ServiceStopping
        is_first_gain = progress.chunks_embedded > 0 and not self._gain_noted
        if is_first_gain or time.monotonic() - self._noted >= PROGRESS_SECONDS:
            self._noted = time.monotonic()
            self._gain_noted = progress.chunks_embedded > 0
            self._worker.note_progress(self._job_id, progress)
