"""All SQL about jobs."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.jobs.records import Job
from app.models import JobRow, now


def add_job(session: Session, kind: str, arguments: Mapping[str, Any]) -> int:
    """Queue a job; returns its id."""
    row = JobRow(kind=kind, arguments=dict(arguments), progress={})
    session.add(row)
    session.flush()
    return row.id


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


def claim_job(session: Session) -> Job | None:
    """Take the oldest queued job and mark it as running, in one statement."""
    oldest = select(JobRow.id).where(JobRow.state == "queued").order_by(JobRow.id).limit(1)
    claimed = (
        update(JobRow)
        .where(JobRow.id == oldest.with_for_update(skip_locked=True).scalar_subquery())
        .values(state="running", started_at=now(), attempts=JobRow.attempts + 1)
        .returning(JobRow.id)
    )
    job_id = session.scalar(claimed)
    return get_job(session, job_id) if job_id is not None else None


def requeue_running(session: Session) -> int:
    """Queue again what the last process left running; returns how many jobs that were."""
    left = update(JobRow).where(JobRow.state == "running", ~JobRow.cancel_requested)
    requeued = session.execute(left.values(state="queued").returning(JobRow.id)).all()
    cancelled = update(JobRow).where(JobRow.state == "running", JobRow.cancel_requested)
    session.execute(cancelled.values(state="cancelled", finished_at=now()))
    return len(requeued)


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
    queued = update(JobRow).where(JobRow.id == job_id, JobRow.state == "queued")
    session.execute(queued.values(state="cancelled", finished_at=now()))
    running = update(JobRow).where(JobRow.id == job_id, JobRow.state == "running")
    session.execute(running.values(cancel_requested=True))


def retry_job(session: Session, job_id: int) -> bool:
    """Queue a failed or cancelled job again; False when it is in another state."""
    ended = update(JobRow).where(JobRow.id == job_id, JobRow.state.in_(("failed", "cancelled")))
    queued = ended.values(
        state="queued",
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
