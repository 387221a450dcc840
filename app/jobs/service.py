"""The rules of jobs: promise, watch, cancel, retry."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.clock import now
from app.database import Database
from app.errors import ConflictError, NotFoundError, OverloadedError
from app.fault_points import FaultPoint, reached
from app.jobs import queries
from app.jobs.bell import JobBell
from app.jobs.forgetting_queries import without_what_has_gone
from app.jobs.record_queries import job_of
from app.jobs.records import BACKGROUND, WAITED_FOR, Job

MOST_QUEUED = 1000
"""How many jobs may wait, unless the settings say otherwise."""


class JobService:
    """Keeps jobs in SQL; `on_queued` is called when there is something to do.

    `bell` notifies those who watch a job. No more than `most_queued` jobs may wait for a worker;
    those that failed and are to be retried later do not count.
    """

    def __init__(
        self,
        database: Database,
        on_queued: Callable[[], None],
        *,
        bell: JobBell | None = None,
        most_queued: int = MOST_QUEUED,
    ) -> None:
        self._database = database
        self._on_queued = on_queued
        self._bell = bell or JobBell()
        self._most_queued = most_queued

    def add(self, kind: str, arguments: Mapping[str, Any], *, waited_for: bool = False) -> Job:
        """Promise some work: once this returns, it will be done, whatever happens.

        Where a queued job is to do exactly the same, that job is returned. Work that a client
        waits for goes before other work, and ends with its first failure unless it was promised to
        someone else, too. Raises OverloadedError when too much is queued.
        """
        with self._database.write() as session:
            job = self._add(session, kind, arguments, waited_for=waited_for)
        self._tell_of(job)
        return job

    def add_if(
        self, is_wanted: Callable[[Session], bool], kind: str, arguments: Mapping[str, Any]
    ) -> Job | None:
        """Promise background work, provided that it is still wanted when the job is added.

        Raises OverloadedError as `add` does.
        """
        with self._database.write() as session:
            if not is_wanted(session):
                return None
            job = self._add(session, kind, arguments, waited_for=False)
        self._tell_of(job)
        return job

    def _add(
        self, session: Session, kind: str, arguments: Mapping[str, Any], *, waited_for: bool
    ) -> Job:
        is_full = queries.count_due(session, now()) >= self._most_queued
        if is_full and queries.queued_twin(session, kind, arguments) is None:
            raise self._too_much()
        priority = WAITED_FOR if waited_for else BACKGROUND
        job_id = queries.add_job(session, kind, arguments, priority, retryable=not waited_for)
        # Read before a worker can take it: those who wait go by how often it had failed until now.
        job = job_of(session, job_id)
        assert job is not None  # noqa: S101, it was added
        return job

    def _tell_of(self, job: Job) -> None:
        reached(FaultPoint.JOB_QUEUED)
        self._on_queued()
        self._bell.ring(job.id)

    def _too_much(self) -> OverloadedError:
        return OverloadedError(
            f"{self._most_queued} jobs are waiting, and no more are taken (MOST_QUEUED_JOBS). "
            "Nothing was changed; try again when some are done."
        )

    def get(self, job_id: int) -> Job:
        """One job; raises NotFoundError."""
        with self._database.read() as session:
            job = job_of(session, job_id)
            if job is None:
                raise NotFoundError(f"There is no job {job_id}.")
            return without_what_has_gone(session, job)

    def list(self, state: str | None, before_id: int | None, limit: int) -> list[Job]:
        """Jobs, newest first."""
        with self._database.read() as session:
            jobs = queries.list_jobs(session, state, before_id, limit)
            return [without_what_has_gone(session, job) for job in jobs]

    def count_waiting(self) -> int:
        """How many jobs are queued."""
        with self._database.read() as session:
            return queries.count_waiting(session)

    def cancel(self, job_id: int) -> Job:
        """Stop a job: at once if it is queued, between two steps if it is running.

        Queued jobs that would do exactly the same are cancelled with it.
        """
        with self._database.write() as session:
            cancelled = queries.cancel_job(session, job_id)
        for each in cancelled:
            self._bell.ring(each)
        return self.get(job_id)

    def retry(self, job_id: int) -> Job:
        """Queue a failed or cancelled job again.

        Raises ConflictError when it is in another state, when a job that does the same is queued,
        or when it is not known any more what it was to do, and OverloadedError when too much is
        queued.
        """
        job = self.get(job_id)
        if job.is_lost:
            raise ConflictError(
                f"Job {job_id} cannot be retried: the database holds it damaged, and nothing tells "
                "any more what it was to do. Ask anew for that."
            )
        with self._database.write() as session:
            twin = queries.queued_twin(session, job.kind, job.arguments)
            if twin not in (None, job_id):
                raise ConflictError(f"Job {twin} is queued already and will do the very same.")
            queued = queries.retry_job(session, job)
            if queued and queries.count_due(session, now()) > self._most_queued:
                raise self._too_much()
        job = self.get(job_id)
        if not queued:
            raise ConflictError(
                f"Job {job_id} is {job.state}; only a failed or cancelled one can be retried."
            )
        self._on_queued()
        self._bell.ring(job_id)
        return job
