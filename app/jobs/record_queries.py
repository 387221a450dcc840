"""The SQL that reads rows of jobs as records, and of a damaged row what is left of it."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.column_types import UNKNOWN_TIME
from app.jobs.kinds import UNREADABLE_JOB
from app.jobs.records import Job
from app.models import JobRow
from app.protocols import Progress
from app.storage_errors import is_about_no_text

LOST: dict[str, Any] = {
    "kind": UNREADABLE_JOB,
    "arguments": {},
    "state": "failed",
    "cancel_requested": False,
    "priority": 0,
    "attempts": 0,
    "retryable": False,
    "retries": 0,
    "attempt_token": 0,
    "progress": {},
    "created_at": UNKNOWN_TIME,
}
"""What stands for a value that cannot be read, by its column; None for any that may be empty."""

DOCUMENTS_DONE, CHUNKS_EMBEDDED = "documents_done", "chunks_embedded"
"""Of a job's progress: what tells whether an attempt gained something."""

COUNTS = [field.name for field in fields(Progress) if field.name != "skipped"]

SHAPES = {"kind": str, "arguments": dict, "progress": dict, "result": dict | None}
"""What is sound to the database may still be none of these: a `[]`, or bytes for a name."""


class UnreadableJobError(Exception):
    """Raised when a row of a job holds what its columns cannot hold, such as JSON cut short."""

    def __init__(self, job_id: int) -> None:
        super().__init__(f"Job {job_id} cannot be read")
        self.job_id = job_id


def whole_row(session: Session, job_id: int) -> JobRow:
    """The row of a job that there is, as it stands now; raises UnreadableJobError."""
    with _damage_told(job_id):
        row = session.get_one(JobRow, job_id, populate_existing=True)
        _require_shapes(_record_values(row))
        return row


def job_of(session: Session, job_id: int) -> Job | None:
    """One job, or None; of a damaged one what can be read, and its error says so."""
    try:
        with _damage_told(job_id):
            row = session.get(JobRow, job_id)
            return job_record(row) if row else None
    except UnreadableJobError:
        return _what_is_left(session, job_id)


def jobs_of(session: Session, chosen: Select[JobRow]) -> list[Job]:
    """The chosen jobs in their order; of damaged ones what can be read."""
    try:
        with _damage_told():
            return [job_record(row) for row in session.scalars(chosen)]
    except UnreadableJobError:
        job_ids = session.scalars(chosen.with_only_columns(JobRow.id)).all()
        found = [job_of(session, job_id) for job_id in job_ids]
        return [job for job in found if job is not None]


def lost_values(session: Session, job_id: int) -> dict[str, Any]:
    """The columns of a job that cannot be read, each with what stands for it."""
    return {name: LOST.get(name) for name in _columns() if not _is_readable(session, job_id, name)}


def job_record(row: JobRow) -> Job:
    """A row as it leaves the feature; raises TypeError for a value of a wrong shape."""
    values = _record_values(row)
    _require_shapes(values)
    return Job(**values)


def _record_values(row: JobRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _columns()}


def _require_shapes(values: Mapping[str, Any]) -> None:
    for name in values.keys() & SHAPES.keys():
        if not isinstance(values[name], SHAPES[name]):
            raise TypeError(f"{name} is {values[name]!r}")
    progress = values.get("progress", {})
    for name, value in values.items():
        if value is UNKNOWN_TIME:
            raise ValueError(f"{name} is no time")
    for name in COUNTS:
        if not isinstance(progress.get(name, 0), int):
            raise TypeError(f"{name} is {progress[name]!r}")
    _require_each(progress.get("skipped", ()), {"uri": str, "reason": str})
    _require_each((values.get("result") or {}).get("results", ()), {"knowledge_id": int})


def _require_each(found: Any, shape: Mapping[str, type]) -> None:
    for each in found:
        is_object = isinstance(each, dict)
        if not (is_object and all(isinstance(each.get(name), shape[name]) for name in shape)):
            raise TypeError(f"{each!r} lacks {' or '.join(shape)}")


def _columns() -> list[str]:
    """Those of JobRow that a record has: they bear the same names."""
    return [field.name for field in fields(Job)]


def _what_is_left(session: Session, job_id: int) -> Job | None:
    lost = lost_values(session, job_id)
    readable = [name for name in _columns() if name not in lost]
    row = session.execute(_values(job_id, readable)).mappings().one_or_none()
    if row is None:
        return None
    left = dict(row) | lost
    names = " and ".join(lost)
    left["error"] = left["error"] or f"The database holds {names} of this job damaged."
    return Job(**left)


def _is_readable(session: Session, job_id: int, column: str) -> bool:
    try:
        with _damage_told(job_id):
            for row in session.execute(_values(job_id, [column])).mappings():
                _require_shapes(dict(row))
    except UnreadableJobError:
        return False
    return True


def _values(job_id: int, columns: Collection[str]) -> Select[Any]:
    return select(*(getattr(JobRow, name) for name in columns)).where(JobRow.id == job_id)


@contextmanager
def _damage_told(job_id: int = 0) -> Iterator[None]:
    """Raise UnreadableJobError for what is no value of its column, or no text at all."""
    try:
        yield
    except (ValueError, TypeError) as error:  # of what turns a stored value into one of Python
        raise UnreadableJobError(job_id) from error
    except OperationalError as error:
        if not is_about_no_text(error):
            raise
        raise UnreadableJobError(job_id) from error
