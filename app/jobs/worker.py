"""Runs queued jobs on its own threads, and restarts those that a crash interrupted."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any

from app.database import Database
from app.errors import StoppingError, StorageError, WorkStoppedError
from app.fault_points import FaultPoint, reached
from app.jobs import claim_queries, running_queries
from app.jobs.bell import JobBell
from app.jobs.leases import Lease, LeaseKeeper, LeaseLostError
from app.jobs.listening import JobListener, ServiceStopping
from app.jobs.outcomes import outcome_of
from app.jobs.record_queries import UnreadableJobError
from app.jobs.records import Job, JobHandler, Outcome
from app.jobs.retrying import retry_delay
from app.protocols import ProgressListener
from app.surviving import survive

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""Pause after the database has failed, or anything else has failed unexpectedly."""

SHARED_QUEUE_SECONDS = 2.0
"""How often a worker polls a queue that other processes also add to."""

LONGEST_SLEEP_SECONDS = 60.0
"""After this, a worker looks at the queue without being woken: the clock may have been put forward,
or a job may have fallen due between two looks."""

HAND_BACK_SECONDS = 5.0
"""How long a stop waits for running jobs before it queues them again while they still run."""

INTERRUPTED = Outcome("cancelled", error="It was interrupted.", problem=WorkStoppedError.slug)


class JobWorker:
    """`threads` threads that take one job after another, the most urgent first, then the oldest.

    `express_threads` more take only jobs about a single item that a client waits for, so that no
    client waits for background work. `items_in_use` names the items whose jobs would only wait if
    they were started now; `may_begin` is false while any job would. Call `wake` when an item is
    free again or jobs may begin again. `bell` notifies those who watch a job.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, JobHandler],
        threads: int,
        items_in_use: Callable[[], Collection[int]] = frozenset,
        *,
        may_begin: Callable[[], bool] = lambda: True,
        express_threads: int = 0,
        bell: JobBell | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._items_in_use = items_in_use
        self._may_begin = may_begin
        self._bell = bell or JobBell()
        self._retry_seconds = retry_seconds
        self._troubles: dict[int, str] = {}
        """By thread: what it waits for the database for, as the log already says."""
        self._troubles_lock = threading.Lock()
        self._leases = LeaseKeeper(database, on_reclaimed=self.wake)
        self._wake = threading.Condition()
        self._woken = 0
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._run, args=(is_express,), name=f"job-worker-{number}", daemon=True
            )
            for number, is_express in enumerate([False] * threads + [True] * express_threads)
        ]

    def start(self) -> None:
        """Queue again what the last process left running, then start the threads.

        While other processes may share the database, only jobs whose lease has run out are taken
        over.
        """
        only_expired = self._database.may_be_shared
        with self._database.write() as session:
            requeued, given_up = claim_queries.requeue_running(session, only_expired=only_expired)
        reached(FaultPoint.JOBS_REQUEUED)
        if requeued:
            logger.info("%d interrupted jobs start over", requeued)
        if given_up:
            logger.error("%d jobs are given up: the error of each says why", given_up)
        self._leases.start()
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Call when there is a new job, or when one that waited can run."""
        with self._wake:
            self._woken += 1
            self._wake.notify_all()

    def stop(self) -> None:
        """Take no new jobs, and end running ones at their next step. Returns at once."""
        self._stopping.set()
        self.wake()

    def close(self, hand_back_seconds: float = HAND_BACK_SECONDS) -> None:
        """Stop, and wait for the threads.

        Jobs that reach no step before the deadline are queued again in the meantime, so that no
        harm is done if the process is killed for taking too long to stop.
        """
        self.stop()
        deadline = time.monotonic() + hand_back_seconds
        started = [thread for thread in self._threads if thread.ident is not None]
        for thread in started:
            thread.join(max(0.0, deadline - time.monotonic()))
        for job in self._leases.held():
            self._hand_back(job)
        for thread in started:
            thread.join()
        self._leases.close()

    def drain(self) -> None:
        """Run queued jobs in this thread until none is left that can run."""
        while not self._stopping.is_set() and self._run_one():
            pass

    def run_here(
        self, kind: str, arguments: Mapping[str, Any], watcher: ProgressListener
    ) -> Outcome:
        """Add a job and run it at once in this thread; returns its outcome.

        If the process dies, or the outcome cannot be stored, the next server runs the job. Ctrl-C
        and SIGTERM cancel it. Raises StorageError and UnavailableError.
        """
        with self._database.write() as session:
            job = claim_queries.add_running_job(session, kind, arguments)
        try:
            with self._leases.holding(job) as lease:
                listener = self._listener(lease, watcher)
                try:
                    outcome = self._outcome(job, listener)
                except (KeyboardInterrupt, SystemExit):
                    self._write_outcome(job, listener, INTERRUPTED)
                    raise
                self._write_outcome(job, listener, outcome)
        except (ServiceStopping, LeaseLostError) as error:
            self._hand_back(job)
            raise StoppingError from error
        return outcome

    def _run(self, is_express: bool) -> None:
        while not self._stopping.is_set():
            seen = self._woken
            try:
                patience_seconds = survive(
                    lambda: self._run_one_or_look_ahead(is_express=is_express),
                    "The worker goes on after an unexpected error",
                    (StorageError,),
                )
                if patience_seconds is None:
                    self._stopping.wait(self._retry_seconds)
                elif patience_seconds > 0:
                    self._wait_until_woken(seen, patience_seconds)
            except StorageError as error:
                self._wait_for_storage(error)

    def _run_one_or_look_ahead(self, *, is_express: bool) -> float:
        """Run a job if there is one; returns the seconds to wait for the next: 0 if it ran."""
        return 0.0 if self._run_one(is_express=is_express) else self._patience_seconds()

    def _wait_until_woken(self, seen: int, patience_seconds: float) -> None:
        with self._wake:
            self._wake.wait_for(lambda: self._woken != seen, patience_seconds)

    def _patience_seconds(self) -> float:
        """The longest time to wait to be woken."""
        with self._database.read() as session:
            due = claim_queries.seconds_until_due(session)
        if due is not None and due < 0:
            with self._database.write() as session:
                claim_queries.try_damaged_now(session)
            return 0.0
        is_shared = self._database.may_be_shared
        longest = SHARED_QUEUE_SECONDS if is_shared else LONGEST_SLEEP_SECONDS
        return longest if due is None else min(due, longest)

    def _wait_for_storage(self, error: StorageError) -> None:
        with self._troubles_lock:  # logged once an outage, not on every try of every thread
            is_told = error.detail in self._troubles.values()
            self._troubles[threading.get_ident()] = error.detail
        if not is_told:
            logger.error("The worker waits for the database: %s", error.detail)
        self._stopping.wait(self._retry_seconds)

    def _end_of_trouble(self) -> None:
        """This thread's wait for the database is over. Others may still wait: on a full disk, those
        that write do, while reading works."""
        with self._troubles_lock:
            waited = self._troubles.pop(threading.get_ident(), None) is not None
            is_over = waited and not self._troubles
        if is_over:
            logger.info("The worker goes on: the database answers again")

    def _run_one(self, *, is_express: bool = False) -> bool:
        try:
            job = self._claim(is_express=is_express)
        except UnreadableJobError as error:
            self._give_up(error)
            return True
        self._end_of_trouble()
        if job is None:
            return False
        reached(FaultPoint.JOB_CLAIMED)
        self._bell.ring(job.id)
        try:
            with self._leases.holding(job) as lease:
                listener = self._listener(lease)
                self._finish(job, listener, self._outcome(job, listener))
        except LeaseLostError:
            logger.warning("Job %d was taken over by another worker; left alone here", job.id)
        except ServiceStopping:
            self._hand_back(job)
        return True

    def _claim(self, *, is_express: bool) -> Job | None:
        with self._database.write() as session:
            session.connection()  # takes the write lock now, not with the first statement
            # Asked under the lock, so that no job can be added after the answer: it would be
            # claimed, and shown as running, only to wait.
            if not self._may_begin():
                return None
            in_use = self._items_in_use()
            return claim_queries.claim_job(session, in_use, only_waited_for=is_express)

    def _give_up(self, unreadable: UnreadableJobError) -> None:
        """Fail a job that cannot be read: it would be claimed again and again."""
        logger.error("%s, and fails", unreadable, exc_info=unreadable)
        with self._database.write() as session:
            claim_queries.fail_unreadable(session, unreadable.job_id)
        self._bell.ring(unreadable.job_id)

    def _hand_back(self, job: Job) -> None:
        try:
            with self._database.write() as session:
                state = running_queries.hand_back(session, job)
            reached(FaultPoint.JOB_HANDED_BACK)
            if state == "queued":
                logger.info("Job %d goes on after the restart", job.id)
        except StorageError as error:
            # It stays `running`: the next start treats it like one that a crash interrupted.
            logger.warning("Job %d was not handed back: %s", job.id, error.detail)
        self._bell.ring(job.id)

    def _outcome(self, job: Job, listener: JobListener) -> Outcome:
        return outcome_of(self._handlers, job, listener, self._stopping.is_set)

    def _finish(self, job: Job, listener: JobListener, outcome: Outcome) -> None:
        """Store the outcome, however long it takes until the database answers again.

        Raises LeaseLostError when the job is no longer ours.
        """
        while True:
            try:
                self._write_outcome(job, listener, outcome)
            except StorageError as error:
                self._bell.fail(job.id, error)
                self._wait_for_storage(error)
                if self._stopping.is_set():
                    raise ServiceStopping from error
            else:
                self._end_of_trouble()
                return

    def _write_outcome(self, job: Job, listener: JobListener, outcome: Outcome) -> None:
        progress = asdict(listener.latest) if listener.latest else None
        delay = retry_delay(job, outcome)
        reached(FaultPoint.JOB_DONE)
        with self._database.write() as session:
            if delay is not None:
                state = running_queries.retry_later(session, job, outcome, delay)
            else:
                state = running_queries.finish_job(session, job, outcome, progress)
        if state is None:
            raise LeaseLostError
        reached(FaultPoint.JOB_FINISHED)
        if delay is not None and state == "queued":
            logger.info("Job %d is tried again in %.0f s", job.id, delay.total_seconds())
        # Jobs that waited for this one can run now, perhaps on another thread; and if this one is
        # to be retried, some thread has to wait until then.
        self.wake()
        self._bell.ring(job.id)

    def _listener(self, lease: Lease, watcher: ProgressListener | None = None) -> JobListener:
        return JobListener(self._database, self._bell, self._stopping.is_set, lease, watcher)
