"""The SQL of taking up jobs: queued ones whose turn it is, and those that others left running."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    and_,
    bindparam,
    case,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session, aliased

from app.clock import now
from app.column_types import UTCDateTime
from app.errors import AppError
from app.jobs.kinds import item_of
from app.jobs.queries import arguments_key, delete_old_jobs, is_due, queue_again
from app.jobs.record_queries import (
    CHUNKS_EMBEDDED,
    DOCUMENTS_DONE,
    UnreadableJobError,
    job_record,
    lost_values,
    whole_row,
)
from app.jobs.records import WAITED_FOR, Job
from app.models import ItemRow, JobRow

MOST_ATTEMPTS = 6
"""How many starts of a job may end with the process's death, and no progress, before it fails.

A few in a row may be bad luck; after that, the job itself is taken to be the cause, which would
kill the service again at every start.
"""

LEASE_SECONDS = 60.0
"""How long a job stays with a worker that gives no sign of life."""

UNREADABLE = (
    "What the database holds of this job is damaged, so it does not run. If its kind is unreadable "
    "or its arguments are empty now, they are lost: ask anew for what it was to do. Else retry it."
)


def shared_now(session: Session) -> datetime:
    """The present, by the one clock that all processes on the database share."""
    if session.get_bind().dialect.name == "sqlite":
        return now()
    return session.execute(select(func.clock_timestamp(type_=UTCDateTime))).scalar_one()


def lease_end(present: datetime) -> datetime:
    """When a lease given now runs out."""
    return present + timedelta(seconds=LEASE_SECONDS)


# Jobs to run -----------------------------------------------------------------------------------


def claim_job(
    session: Session, items_in_use: Collection[int] = (), *, only_waited_for: bool = False
) -> Job | None:
    """Take the queued job whose turn it is and mark it as running, in one statement.

    The highest priority goes first, then the oldest. A job waits while its item is in use, or
    while another job of its item (or, for jobs without an item, another of its kind) runs: it would
    only block a worker. `only_waited_for`: take only a job about one item that a client waits for.
    Raises UnreadableJobError.
    """
    claim = _CLAIM_WAITED_FOR if only_waited_for else _CLAIM
    present = shared_now(session)
    job_id = session.connection().scalar(
        claim,
        {"present": present, "lease_end": lease_end(present), "items_in_use": list(items_in_use)},
    )
    return job_record(whole_row(session, job_id)) if job_id is not None else None


def _would_wait(job: type[JobRow], other: type[JobRow]) -> ColumnElement[bool]:
    of_no_item = and_(job.item_id.is_(None), other.item_id.is_(None), job.kind == other.kind)
    return or_(job.item_id == other.item_id, of_no_item)


_QUEUED, _RUNNING = aliased(JobRow), aliased(JobRow)

_PRESENT = bindparam("present", type_=UTCDateTime)


def _claim(*conditions: ColumnElement[bool]) -> Executable:
    """Takes `present`, `lease_end` and `items_in_use`; returns the id of the job that is taken."""
    first = (
        select(_QUEUED.id)
        .where(_QUEUED.state == "queued", *conditions)
        .where(is_due(_QUEUED, _PRESENT))
        .where(~exists().where(_RUNNING.state == "running", _would_wait(_QUEUED, _RUNNING)))
        .where(
            or_(
                _QUEUED.item_id.is_(None),
                _QUEUED.item_id.not_in(bindparam("items_in_use", expanding=True)),
            )
        )
        .order_by(_QUEUED.priority.desc(), _QUEUED.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=_QUEUED)
    )
    return (
        update(JobRow)
        .where(JobRow.id == first.scalar_subquery())
        .values(
            state="running",
            started_at=_PRESENT,
            attempts=JobRow.attempts + 1,
            attempt_token=JobRow.attempt_token + 1,
            lease_expires_at=bindparam("lease_end", type_=UTCDateTime),
            not_before=None,
        )
        .returning(JobRow.id)
        .execution_options(synchronize_session=False)
    )


_CLAIM = _claim()
"""Put together once: that takes longer than to run it, and every worker claims when it wakes."""

_CLAIM_WAITED_FOR = _claim(_QUEUED.priority >= WAITED_FOR, _QUEUED.item_id.is_not(None))


def fail_unreadable(session: Session, job_id: int) -> None:
    """Fail a job that cannot be read, unless it has ended; clears its damaged columns."""
    ended = {"state": "failed", "error": UNREADABLE, "problem": AppError.slug, "finished_at": now()}
    going_on = JobRow.id == job_id, JobRow.state.in_(("queued", "running"))
    failed = update(JobRow).where(*going_on).execution_options(synchronize_session=False)
    session.execute(failed.values(lost_values(session, job_id) | ended))


def add_running_job(session: Session, kind: str, arguments: Mapping[str, Any]) -> Job:
    """Add a job that the caller runs at once; if its process dies, another takes the job over."""
    present = shared_now(session)
    row = JobRow(
        kind=kind,
        arguments=dict(arguments),
        arguments_key=arguments_key(arguments),
        item_id=item_of(arguments),
        state="running",
        priority=WAITED_FOR,
        retryable=False,
        retries=0,
        attempts=1,
        attempt_token=1,
        lease_expires_at=lease_end(present),
        progress={},
        started_at=present,
    )
    session.add(row)
    session.flush()
    delete_old_jobs(session)
    return job_record(row)


def seconds_until_due(session: Session) -> float | None:
    """How long until the next retry of a job is due; None when there is none.

    Negative when that time is damaged: it would never come, see `try_damaged_now`.
    """
    present = shared_now(session)
    due = session.scalar(_NEXT_DUE, {"present": present})
    return None if due is None else (due - present).total_seconds()


def try_damaged_now(session: Session) -> None:
    """Make jobs due whose damaged time lies ahead only for the database, which compares text."""
    present = shared_now(session)
    later = session.execute(
        select(JobRow.id, JobRow.not_before).where(*_IS_LATER), {"present": present}
    )
    damaged = [job_id for job_id, not_before in later if not_before and not_before < present]
    tried = update(JobRow).where(JobRow.id.in_(damaged)).values(not_before=None)
    session.execute(tried.execution_options(synchronize_session=False))


_IS_LATER = JobRow.state == "queued", JobRow.not_before > _PRESENT

_NEXT_DUE = select(func.min(JobRow.not_before)).where(*_IS_LATER)


# Jobs that others left running -----------------------------------------------------------------


def requeue_running(session: Session, *, only_expired: bool = False) -> tuple[int, int]:
    """Queue again what others left running; returns how many were queued, and how many failed.

    `only_expired`: only those whose lease has run out; otherwise all, which is right when no other
    process can be alive. An attempt that made progress (it embedded chunks, or reached documents
    that no attempt before it had reached) does not count: such a job gets done, however often the
    process is killed. A job whose row cannot be read fails.

    The item of a job that is given up shows why, and is no longer refreshed by itself: otherwise
    the schedule would start the same job again.
    """
    left = select(JobRow.id).where(JobRow.state == "running").order_by(JobRow.id)
    if only_expired:
        present = shared_now(session)
        expired = or_(JobRow.lease_expires_at.is_(None), JobRow.lease_expires_at < present)
        left = left.where(expired)
    requeued = given_up = 0
    for job_id in session.scalars(left.with_for_update(skip_locked=True)).all():
        try:
            row = whole_row(session, job_id)
        except UnreadableJobError:
            fail_unreadable(session, job_id)
            given_up += 1
            continue
        reached = row.progress.get(DOCUMENTS_DONE, 0)
        if reached > row.furthest or row.progress.get(CHUNKS_EMBEDDED, 0):
            row.furthest, row.attempts = max(reached, row.furthest), 0
        if row.cancel_requested:
            if row.problem == "stopped":  # see IS_TAKEN_OUT
                row.progress = {}
            row.state, row.problem, row.finished_at = "cancelled", "stopped", now()
        elif row.attempts >= MOST_ATTEMPTS:
            row.state, row.finished_at, row.error = "failed", now(), _given_up(row.attempts)
            _give_up_item(session, row.item_id, row.error)
            given_up += 1
        else:
            row.progress = {}
            session.flush()
            queue_again(session, row, JobRow.state == "running")
            requeued += 1
    return requeued, given_up


def _given_up(attempts: int) -> str:
    return (
        f"The service ended {attempts} times while this job ran, each time before it got any "
        "further, so it is not started again by itself. Perhaps a document needs more memory than "
        "there is: the log of the service and of the system may tell. Then retry the job."
    )


def _give_up_item(session: Session, item_id: int | None, reason: str) -> None:
    given_up = update(ItemRow).where(ItemRow.id == item_id)
    status = case((ItemRow.status == "pending", "error"), else_=ItemRow.status)
    given_up = given_up.values(status=status, error=reason, next_refresh_at=None)
    session.execute(given_up.execution_options(synchronize_session=False))
