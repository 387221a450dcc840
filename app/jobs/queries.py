"""All SQL about jobs."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, case, delete, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.jobs.records import Job
from app.models import JobRow, now

MOST_ATTEMPTS = 3
"""Starts of a job that the process did not outlive, with nothing gained, before it is given up.

Once may be a power cut and twice a bad day; the third time it is taken for the job's own doing,
which would otherwise end the service again at every start.
"""

KEPT_ENDED_JOBS = 1000
"""Ended jobs that are kept to be looked up: the list stays quick, and the table small."""

ENDED_STATES = ("succeeded", "failed", "cancelled")


def add_job(session: Session, kind: str, arguments: Mapping[str, Any]) -> int:
    """Queue a job, unless the very same is queued already; returns its id."""
    queued = queued_twin(session, kind, arguments)
    if queued is not None:
        return queued
    row = JobRow(
        kind=kind, arguments=dict(arguments), item_id=arguments.get("knowledge_id"), progress={}
    )
    session.add(row)
    session.flush()
    _delete_old_jobs(session)
    return row.id


def queued_twin(session: Session, kind: str, arguments: Mapping[str, Any]) -> int | None:
    """The queued job of this kind with these very arguments, if there is one."""
    item_id = arguments.get("knowledge_id")
    alike = select(JobRow.id, JobRow.arguments).where(
        JobRow.state == "queued",
        JobRow.kind == kind,
        JobRow.item_id.is_not_distinct_from(item_id),
    )
    for job_id, its_arguments in session.execute(alike.order_by(JobRow.id)):
        if its_arguments == dict(arguments):
            return int(job_id)
    return None


def _delete_old_jobs(session: Session) -> None:
    ended = select(JobRow.id).where(JobRow.state.in_(ENDED_STATES))
    newest_first = ended.order_by(JobRow.finished_at.desc(), JobRow.id.desc())
    too_many = newest_first.offset(KEPT_ENDED_JOBS)
    session.execute(
        delete(JobRow).where(JobRow.id.in_(too_many)).execution_options(synchronize_session=False)
    )


def get_job(session: Session, job_id: int) -> Job | None:
    """One job, or None."""
    row = session.get(JobRow, job_id)
    return _job(row) if row else None


def list_jobs(session: Session, state: str | None, before_id: int | None, limit: int) -> list[Job]:
    """Jobs, newest first, those before `before_id` only."""
    statement = select(JobRow).order_by(JobRow.id.desc()).limit(limit)
    if state is not None:
        statement = statement.where(JobRow.state == state)
    if before_id is not None:
        statement = statement.where(JobRow.id < before_id)
    return [_job(row) for row in session.scalars(statement)]


def count_waiting(session: Session) -> int:
    """How many jobs are queued."""
    return session.scalar(select(func.count()).where(JobRow.state == "queued")) or 0


def claim_job(session: Session, items_in_use: Collection[int] = ()) -> Job | None:
    """Take the oldest queued job that can run now and mark it as running, in one statement.

    A job waits while its item is in use, or while another job of its item (or, of jobs without an
    item, another of its kind) runs: it could do nothing but keep a worker from other work.
    """
    queued, running = aliased(JobRow), aliased(JobRow)
    oldest = (
        select(queued.id)
        .where(queued.state == "queued")
        .where(~exists().where(running.state == "running", _would_wait(queued, running)))
        .where(or_(queued.item_id.is_(None), queued.item_id.not_in(items_in_use)))
        .order_by(queued.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=queued)
    )
    claimed = (
        update(JobRow)
        .where(JobRow.id == oldest.scalar_subquery())
        .values(state="running", started_at=now(), attempts=JobRow.attempts + 1)
        .returning(JobRow.id)
    )
    job_id = session.scalar(claimed)
    return get_job(session, job_id) if job_id is not None else None


def _would_wait(job: type[JobRow], other: type[JobRow]) -> ColumnElement[bool]:
    of_no_item = and_(job.item_id.is_(None), other.item_id.is_(None), job.kind == other.kind)
    return or_(job.item_id == other.item_id, of_no_item)


def requeue_running(session: Session) -> tuple[int, int]:
    """Settle what the last process left running; returns how many start over, and are given up.

    An attempt that gained something, chunks that were embedded or documents that no attempt before
    had reached, is not counted: such a job gets done, however often the process is killed.
    """
    requeued = given_up = 0
    for row in session.scalars(select(JobRow).where(JobRow.state == "running")):
        reached = row.progress.get("documents_done", 0)
        if reached > row.furthest or row.progress.get("chunks_embedded", 0):
            row.furthest, row.attempts = max(reached, row.furthest), 0
        if row.cancel_requested:
            row.state, row.finished_at = "cancelled", now()
        elif row.attempts >= MOST_ATTEMPTS:
            row.state, row.finished_at, row.error = "failed", now(), _given_up(row.attempts)
            given_up += 1
        else:
            row.state, row.progress = "queued", {}
            requeued += 1
    return requeued, given_up


def _given_up(attempts: int) -> str:
    return (
        f"The service ended {attempts} times while this job ran, each time before it got any "
        "further, so it is not started again by itself. Perhaps a document needs more memory than "
        "there is: the log of the service and of the system may tell. Then retry the job."
    )


def hand_back(session: Session, job_id: int) -> None:
    """Queue a running job again whose process stops in order: that start does not count."""
    cancelled = JobRow.cancel_requested
    session.execute(
        update(JobRow)
        .where(JobRow.id == job_id, JobRow.state == "running")
        .values(
            state=case((cancelled, "cancelled"), else_="queued"),
            finished_at=case((cancelled, now()), else_=None),
            attempts=JobRow.attempts - 1,
            progress={},
        )
    )


def note_progress(session: Session, job_id: int, progress: Mapping[str, int]) -> bool:
    """Store how far a job is; returns whether somebody asked to cancel it."""
    noted = update(JobRow).where(JobRow.id == job_id).values(progress=dict(progress))
    return bool(session.scalar(noted.returning(JobRow.cancel_requested)))


def finish_job(
    session: Session,
    job_id: int,
    state: str,
    result: Mapping[str, Any] | None = None,
    error: str | None = None,
    progress: Mapping[str, int] | None = None,
) -> None:
    """Note how a job ended and how far it came (None: as was noted before)."""
    ended = update(JobRow).where(JobRow.id == job_id)
    stored = dict(result) if result is not None else None
    session.execute(ended.values(state=state, result=stored, error=error, finished_at=now()))
    if progress is not None:
        session.execute(ended.values(progress=dict(progress)))


def cancel_job(session: Session, job_id: int) -> None:
    """Cancel a queued job at once; ask a running one to stop."""
    _cancel(session, JobRow.id == job_id, None)


def cancel_jobs_of_item(session: Session, item_id: int, reason: str) -> None:
    """Cancel all jobs of an item: the queued ones at once, with the reason as their error."""
    _cancel(session, JobRow.item_id == item_id, reason)


def _cancel(session: Session, meant: ColumnElement[bool], reason: str | None) -> None:
    queued = update(JobRow).where(meant, JobRow.state == "queued")
    session.execute(queued.values(state="cancelled", error=reason, finished_at=now()))
    running = update(JobRow).where(meant, JobRow.state == "running")
    session.execute(running.values(cancel_requested=True))


def retry_job(session: Session, job_id: int) -> bool:
    """Queue a failed or cancelled job again; False when it is in another state."""
    ended = update(JobRow).where(JobRow.id == job_id, JobRow.state.in_(("failed", "cancelled")))
    queued = ended.values(
        state="queued",
        attempts=0,
        furthest=0,
        error=None,
        progress={},
        cancel_requested=False,
        started_at=None,
        finished_at=None,
    )
    return session.scalar(queued.returning(JobRow.id)) is not None


def _job(row: JobRow) -> Job:
    return Job(
        id=row.id,
        kind=row.kind,
        arguments=row.arguments,
        state=row.state,
        attempts=row.attempts,
        progress=row.progress,
        result=row.result,
        error=row.error,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )
