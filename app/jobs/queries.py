"""The SQL of jobs as clients see them: add, list, cancel, retry."""

import functools
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    and_,
    case,
    delete,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.clock import now
from app.jobs.forgetting_queries import leave_out_nothing
from app.jobs.kinds import item_of
from app.jobs.record_queries import job_of, jobs_of
from app.jobs.records import BACKGROUND, ENDED_STATES, Job
from app.models import QUEUED_JOB, JobRow

KEPT_ENDED_JOBS = 1000
"""How many ended jobs are kept to be looked up: more would slow the list down."""

IS_TAKEN_OUT = and_(JobRow.state == "running", JobRow.problem == "stopped")
"""Of a job: its item was taken out while it ran. One that is only cancelled has no problem yet."""


def arguments_key(arguments: Mapping[str, Any]) -> str:
    """A hash that is the same for the same arguments, whatever their order."""
    return hashlib.sha256(json.dumps(dict(arguments), sort_keys=True).encode()).hexdigest()


def add_job(
    session: Session,
    kind: str,
    arguments: Mapping[str, Any],
    priority: int = BACKGROUND,
    *,
    retryable: bool = True,
) -> int:
    """Queue a job, in one statement; returns its id.

    If the same job is already queued, it is used instead: at the higher of both priorities, due
    now, even if it was to be retried later, and with the items that were taken out until now.
    """
    row = {
        "kind": kind,
        "arguments": dict(arguments),
        "arguments_key": arguments_key(arguments),
        "item_id": item_of(arguments),
        "priority": priority,
        "retryable": retryable,
        "progress": {},
    }
    connection = session.connection()
    job_id: int = connection.execute(_addition(connection.dialect.name), row).scalar_one()
    leave_out_nothing(session, job_id)
    delete_old_jobs(session)
    return job_id


@functools.cache
def _addition(dialect: str) -> Executable:
    """Takes the columns of a job; returns the id of the one that is queued."""
    row = (sqlite if dialect == "sqlite" else postgresql).insert(JobRow)
    wanted = row.excluded
    higher = case((JobRow.priority < wanted.priority, wanted.priority), else_=JobRow.priority)
    added: Executable = row.on_conflict_do_update(
        index_elements=["kind", "arguments_key"],
        index_where=text(QUEUED_JOB),
        set_={
            "priority": higher,
            "retryable": or_(JobRow.retryable, wanted.retryable),
            "not_before": None,
        },
    ).returning(JobRow.id)
    return added


def queued_twin(session: Session, kind: str, arguments: Mapping[str, Any]) -> int | None:
    """The queued job of this kind with these very arguments, if there is one."""
    alike = select(JobRow.id).where(
        JobRow.state == "queued",
        JobRow.kind == kind,
        JobRow.arguments_key == arguments_key(arguments),
    )
    return session.scalar(alike)


def queue_again(session: Session, job: JobRow | Job, meant: ColumnElement[bool]) -> bool:
    """Set a job to `queued` if `meant` holds; returns whether it did.

    It gets its key back, unless another like it has been queued since: both were promised.
    """
    queued = update(JobRow).where(JobRow.id == job.id, meant).returning(JobRow.id)
    queued = queued.execution_options(synchronize_session=False)
    key = arguments_key(job.arguments)
    try:
        with session.begin_nested():
            again = queued.values(state="queued", arguments_key=key)
            return session.scalar(again) is not None
    except IntegrityError:
        without = queued.values(state="queued", arguments_key=None)
        return session.scalar(without) is not None


def delete_old_jobs(session: Session) -> None:
    """Keep the newest KEPT_ENDED_JOBS of those that have ended.

    Counted first, by an index: when they ended stands behind their results in SQLite's rows, and
    with 200 jobs of 2,000 items each it took 70 ms to look past those, at every job that was added.
    """
    ended_jobs = select(func.count()).where(JobRow.state.in_(ENDED_STATES))
    if (session.scalar(ended_jobs) or 0) <= KEPT_ENDED_JOBS:
        return
    ended = select(JobRow.id).where(JobRow.state.in_(ENDED_STATES))
    # A job that seems to end in the future ended before the clock was put back: it counts as old.
    newest_first = ended.order_by(
        JobRow.finished_at > now(), JobRow.finished_at.desc(), JobRow.id.desc()
    )
    too_many = newest_first.offset(KEPT_ENDED_JOBS)
    session.execute(
        delete(JobRow).where(JobRow.id.in_(too_many)).execution_options(synchronize_session=False)
    )


def list_jobs(session: Session, state: str | None, before_id: int | None, limit: int) -> list[Job]:
    """Jobs, newest first, those before `before_id` only."""
    statement = select(JobRow).order_by(JobRow.id.desc()).limit(limit)
    if state is not None:
        statement = statement.where(JobRow.state == state)
    if before_id is not None:
        statement = statement.where(JobRow.id < before_id)
    return jobs_of(session, statement)


def count_waiting(session: Session) -> int:
    """How many jobs are queued."""
    return session.scalar(select(func.count()).where(JobRow.state == "queued")) or 0


def count_due(session: Session, present: datetime) -> int:
    """How many jobs wait only for a worker, which excludes those to be retried later."""
    waiting = select(func.count()).where(JobRow.state == "queued", is_due(JobRow, present))
    return session.scalar(waiting) or 0


def is_due(job: type[JobRow], present: datetime | ColumnElement[datetime]) -> ColumnElement[bool]:
    """Whether a job may run now, and does not wait for the time of its retry.

    If its last start lies in the future, the clock has been put back and that time means nothing.
    """
    return or_(job.not_before.is_(None), job.not_before <= present, job.started_at > present)


def count_running(session: Session) -> int:
    """How many jobs are running."""
    return session.scalar(select(func.count()).where(JobRow.state == "running")) or 0


def cancel_job(session: Session, job_id: int) -> list[int]:
    """Cancel a queued job at once; ask a running one to stop. Returns the ids of all these.

    Queued jobs that would do exactly the same go with it: otherwise the work would be done anyway.
    """
    job = job_of(session, job_id)
    if job is None or job.has_ended:
        return []
    alike = select(JobRow).where(
        JobRow.state == "queued",
        JobRow.kind == job.kind,
        JobRow.item_id.is_not_distinct_from(item_of(job.arguments)),
        JobRow.id != job_id,
    )
    twins = [twin.id for twin in jobs_of(session, alike) if twin.arguments == job.arguments]
    _cancel(session, JobRow.id == job_id, None)
    _cancel(
        session, JobRow.id.in_(twins), f"It was cancelled with job {job_id}, which did the same."
    )
    return [job_id, *twins]


def cancel_jobs_of_item(session: Session, item_id: int, reason: str) -> None:
    """Cancel all jobs of an item: the queued ones at once, with the reason as their error.

    What the others reported about the item is deleted, as its history is: it names documents, and
    an endpoint may have quoted them. The same goes for what running jobs have yet to report: see
    IS_TAKEN_OUT.
    """
    _cancel(session, JobRow.item_id == item_id, reason)
    told = update(JobRow).where(JobRow.item_id == item_id, JobRow.state != "queued")
    session.execute(told.values(result=None, progress={}))
    session.execute(told.where(JobRow.error.is_not(None)).values(error=reason))
    session.execute(told.where(JobRow.state == "running").values(problem="stopped"))


def _cancel(session: Session, meant: ColumnElement[bool], reason: str | None) -> None:
    queued = update(JobRow).where(meant, JobRow.state == "queued")
    session.execute(
        queued.values(
            state="cancelled", error=reason, problem="stopped", not_before=None, finished_at=now()
        )
    )
    running = update(JobRow).where(meant, JobRow.state == "running")
    session.execute(running.values(cancel_requested=True))


def retry_job(session: Session, job: Job) -> bool:
    """Queue a failed or cancelled job again as if new; False when it is in another state."""
    ended = JobRow.state.in_(("failed", "cancelled"))
    if not queue_again(session, job, ended):
        return False
    leave_out_nothing(session, job.id)
    session.execute(
        update(JobRow)
        .where(JobRow.id == job.id)
        .values(
            priority=BACKGROUND,  # no client waits for it any more
            attempts=0,
            furthest=0,
            retries=0,
            retryable=True,
            not_before=None,
            result=None,
            error=None,
            problem=None,
            progress={},
            cancel_requested=False,
            started_at=None,
            finished_at=None,
        )
    )
    return True
