"""SQL that keeps what a job of all items answered from naming documents of items that have gone."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import delete, exists, insert, literal, or_, select, update
from sqlalchemy.orm import Session

from app.clock import now
from app.jobs.kinds import INDEX_ALL_JOB
from app.jobs.record_queries import job_of
from app.jobs.records import ENDED_STATES, Job
from app.models import ItemRow, JobRow, LeftOutItemRow
from app.slices import slices

GONE = "It failed; its item was deleted or taken out of the index since."

NAMING = ("skipped", "warnings", "error")
"""Of how indexing one item ended: what may name its documents."""


def leave_out(session: Session, item_id: int) -> None:
    """Have the jobs of all items leave out one that is taken out now, and tell nothing of it."""
    known = select(LeftOutItemRow.job_id).where(LeftOutItemRow.item_id == item_id)
    jobs = select(JobRow.id, literal(item_id)).where(
        JobRow.kind == INDEX_ALL_JOB, JobRow.id.not_in(known)
    )
    session.execute(insert(LeftOutItemRow).from_select(["job_id", "item_id"], jobs))


def leave_out_nothing(session: Session, job_id: int) -> None:
    """The job is promised anew: to index all that there is now."""
    session.execute(delete(LeftOutItemRow).where(LeftOutItemRow.job_id == job_id))


def is_left_out(session: Session, item_id: int) -> bool:
    """Whether the job of all items that runs leaves this one out; no two of them run at once."""
    runs = JobRow.id == LeftOutItemRow.job_id, JobRow.state == "running"
    found = select(JobRow.id).where(LeftOutItemRow.item_id == item_id, *runs).limit(1)
    return session.scalar(found) is not None


def without_what_has_gone(session: Session, job: Job) -> Job:
    """The job as it may be shown. The counts of items that have gone stay, as in its totals.

    A job of one item needs none of this: what it told is forgotten when that goes.
    """
    if job.kind != INDEX_ALL_JOB or job.result is None:
        return job
    results = job.result.get("results", ())
    naming = [each["knowledge_id"] for each in results if any(each.get(name) for name in NAMING)]
    gone = set(naming) - _items_of(session, job, naming)
    if not gone:
        return job
    shown = [_counts(each) if each["knowledge_id"] in gone else each for each in results]
    return replace(job, result={**job.result, "results": shown})


def forget_what_has_gone(session: Session) -> None:
    """Store the jobs that have ended as they may be shown: nothing else is left of them then."""
    ended = select(JobRow.id).where(JobRow.kind == INDEX_ALL_JOB, JobRow.state.in_(ENDED_STATES))
    for job_id in session.scalars(ended).all():
        job = job_of(session, job_id)
        shown = without_what_has_gone(session, job) if job else None
        if shown is not None and shown is not job:
            stored = update(JobRow).where(JobRow.id == job_id).values(result=shown.result)
            session.execute(stored.execution_options(synchronize_session=False))


def _items_of(session: Session, job: Job, item_ids: Collection[int]) -> set[int]:
    """Those of the items of which the job may still tell.

    One that came later has nothing to do with it: in Python an item may be given an id again.
    """
    left_out = exists().where(LeftOutItemRow.job_id == job.id, LeftOutItemRow.item_id == ItemRow.id)
    theirs = [~left_out]
    if job.finished_at is not None:
        # A time that lies ahead was noted before the clock was put back, and says nothing.
        was_there = or_(ItemRow.created_at <= job.finished_at, ItemRow.created_at > now())
        theirs.append(was_there)
    found: set[int] = set()
    for some in slices(list(item_ids)):
        found.update(session.scalars(select(ItemRow.id).where(ItemRow.id.in_(some), *theirs)))
    return found


def _counts(result: Mapping[str, Any]) -> dict[str, Any]:
    """How indexing an item ended, without a name."""
    return {
        **result,
        "skipped": [],
        "warnings": [],
        "unquoted_error": None,
        "error": GONE if result.get("error") else None,
    }
