"""The SQL of a running job: lease, progress, outcome, all under the token of its claim."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, case, select, update
from sqlalchemy.orm import Session

from app.clock import now
from app.jobs.claim_queries import lease_end, shared_now
from app.jobs.queries import IS_TAKEN_OUT, queue_again
from app.jobs.records import BACKGROUND, Job, Outcome
from app.models import JobRow

FAILED_AT_ITS_END = "It failed when its item was deleted or taken out of the index."
"""In place of an error that may quote what has been deleted."""


def _held(
    job_id: int | ColumnElement[int], token: int | ColumnElement[int]
) -> tuple[ColumnElement[bool], ...]:
    """The conditions that a job is still held by the claim with this token."""
    return JobRow.id == job_id, JobRow.state == "running", JobRow.attempt_token == token


_IS_HELD = _held(bindparam("held"), bindparam("token"))
"""For statements that are put together once."""


def renew_lease(session: Session, job_id: int, token: int) -> bool:
    """Hold a job for another LEASE_SECONDS; False when it has been taken over or has ended."""
    renewed = update(JobRow).where(*_held(job_id, token))
    values = renewed.values(lease_expires_at=lease_end(shared_now(session)))
    return session.scalar(values.returning(JobRow.id)) is not None


_NOTE_PROGRESS = (
    update(JobRow)
    .where(*_IS_HELD)
    .values(progress=bindparam("new_progress"))
    .returning(JobRow.cancel_requested)
)

_FINISH = (
    update(JobRow)
    .where(*_IS_HELD)
    .values(
        state=bindparam("end"),
        result=bindparam("new_result"),
        error=bindparam("why"),
        problem=bindparam("slug"),
        finished_at=bindparam("moment"),
    )
    .returning(JobRow.state)
)

_FORGET = (
    update(JobRow)
    .where(*_IS_HELD, IS_TAKEN_OUT)
    .values(result=None, progress={})
    .returning(JobRow.id)
)


def note_progress(
    session: Session, job_id: int, token: int, progress: Mapping[str, Any]
) -> bool | None:
    """Store how far a job is; returns whether its cancellation was asked for; None: not ours."""
    noted = {"held": job_id, "token": token, "new_progress": dict(progress)}
    return session.connection().scalar(_NOTE_PROGRESS, noted)


def is_taken_out(session: Session, job_id: int) -> bool:
    """Whether the item of a running job was taken out: that is why it is to stop."""
    return session.scalar(select(JobRow.id).where(JobRow.id == job_id, IS_TAKEN_OUT)) is not None


def hand_back(session: Session, job: Job) -> str | None:
    """Queue a running job again because the process is stopping; this start does not count.

    Returns its state, since it may have been cancelled; None: it is no longer ours.
    """
    if _end_if_cancelled(session, job):
        return "cancelled"
    if not _queue_held(session, job):
        return None
    attempts = case((JobRow.attempts > 0, JobRow.attempts - 1), else_=0)
    values = {"attempts": attempts, "progress": {}}
    session.execute(update(JobRow).where(JobRow.id == job.id).values(values))
    return "queued"


def retry_later(session: Session, job: Job, outcome: Outcome, delay: timedelta) -> str | None:
    """Queue a job again after a transient failure; returns its state, as `hand_back` does."""
    if _end_if_cancelled(session, job):
        return "cancelled"
    if not _queue_held(session, job):
        return None
    session.execute(
        update(JobRow)
        .where(JobRow.id == job.id)
        .values(
            priority=BACKGROUND,  # the client that waited gets the failure
            retries=JobRow.retries + 1,
            not_before=shared_now(session) + delay,
            attempts=0,
            furthest=0,
            result=_stored(outcome.result),
            error=outcome.error,
            problem=outcome.problem,
        )
    )
    return "queued"


def finish_job(
    session: Session, job: Job, outcome: Outcome, progress: Mapping[str, Any] | None
) -> str | None:
    """Store how a job ended and how far it got (None: as stored before).

    Returns its state; None when it is no longer ours.
    """
    values: dict[str, Any] = {
        "held": job.id,
        "token": job.attempt_token,
        "end": outcome.state,
        "new_result": _stored(outcome.result),
        "why": outcome.error,
        "slug": outcome.problem,
        "moment": now(),
    }
    if _forget_what_is_gone(session, job):
        values["new_result"] = None
        if outcome.state == "failed":
            values["why"] = FAILED_AT_ITS_END
    elif progress is not None:
        note_progress(session, job.id, job.attempt_token, progress)
    return session.connection().scalar(_FINISH, values)


def _forget_what_is_gone(session: Session, job: Job) -> bool:
    """Delete what a job reported if its item was taken out while it ran; returns whether it was."""
    held = {"held": job.id, "token": job.attempt_token}
    return session.connection().scalar(_FORGET, held) is not None


def _stored(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return dict(result) if result is not None else None


def _end_if_cancelled(session: Session, job: Job) -> bool:
    _forget_what_is_gone(session, job)
    asked = *_held(job.id, job.attempt_token), JobRow.cancel_requested
    ended = update(JobRow).where(*asked)
    values = ended.values(state="cancelled", problem="stopped", finished_at=now())
    return session.scalar(values.returning(JobRow.id)) is not None


def _queue_held(session: Session, job: Job) -> bool:
    return queue_again(session, job, and_(*_held(job.id, job.attempt_token)))
