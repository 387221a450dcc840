"""The rules of jobs: promise, watch, cancel, retry."""

from collections.abc import Callable, Mapping
from typing import Any

from app.database import Database
from app.errors import ConflictError, NotFoundError
from app.jobs import queries
from app.jobs.records import Job


class JobService:
    """Keeps jobs in SQL; `on_queued` is called when there is something to do."""

    def __init__(self, database: Database, on_queued: Callable[[], None]) -> None:
        self._database = database
        self._on_queued = on_queued

    def add(self, kind: str, arguments: Mapping[str, Any]) -> Job:
        """Promise some work: when this returns, it will be done, whatever happens.

        The job that is queued already is answered when it is to do the very same.
        """
        with self._database.write() as session:
            job_id = queries.add_job(session, kind, arguments)
        self._on_queued()
        return self.get(job_id)

    def get(self, job_id: int) -> Job:
        """One job; raises NotFoundError."""
        with self._database.read() as session:
            job = queries.get_job(session, job_id)
        if job is None:
            raise NotFoundError(f"There is no job {job_id}.")
        return job

    def list(self, state: str | None, before_id: int | None, limit: int) -> list[Job]:
        """Jobs, newest first."""
        with self._database.read() as session:
            return queries.list_jobs(session, state, before_id, limit)

    def count_waiting(self) -> int:
        """How many jobs are queued."""
        with self._database.read() as session:
            return queries.count_waiting(session)

    def cancel(self, job_id: int) -> Job:
        """Stop a job: at once if it is queued, between two documents if it is running."""
        with self._database.write() as session:
            queries.cancel_job(session, job_id)
        return self.get(job_id)

    def retry(self, job_id: int) -> Job:
        """Queue a failed or cancelled job again.

        Raises ConflictError in another state, or when another job is queued that does the same.
        """
        job = self.get(job_id)
        with self._database.write() as session:
            twin = queries.queued_twin(session, job.kind, job.arguments)
            if twin not in (None, job_id):
                raise ConflictError(f"Job {twin} is queued already and will do the very same.")
            queued = queries.retry_job(session, job_id)
        job = self.get(job_id)
        if not queued:
            raise ConflictError(f"Job {job_id} is {job.state}; only an ended one can be retried.")
        self._on_queued()
        return job
