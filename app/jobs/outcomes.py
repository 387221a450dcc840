"""Runs a job to its end, and puts into an outcome whatever becomes of it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from app.errors import AppError, UnavailableError, WorkStoppedError
from app.jobs.listening import TAKEN_AWAY, ServiceStopping
from app.jobs.records import FailedWithAnswer, Job, JobHandler, Outcome
from app.protocols import ProgressListener
from app.surviving import WENT_WRONG, survive


def outcome_of(
    handlers: Mapping[str, JobHandler],
    job: Job,
    listener: ProgressListener,
    is_stopping: Callable[[], bool],
) -> Outcome:
    """Run a job; raises ServiceStopping and LeaseLostError, when it has no outcome here."""
    outcome = survive(
        lambda: _expected_outcome(handlers, job, listener, is_stopping),
        f"Job {job.id} failed unexpectedly",
        TAKEN_AWAY,
    )
    return outcome or Outcome("failed", error=WENT_WRONG, problem=AppError.slug)


def _expected_outcome(
    handlers: Mapping[str, JobHandler],
    job: Job,
    listener: ProgressListener,
    is_stopping: Callable[[], bool],
) -> Outcome:
    try:
        result = handlers[job.kind](job.arguments, listener)
        json.dumps(result)  # what cannot be stored must fail here, not end the thread later
    except FailedWithAnswer as failure:
        if is_stopping() and failure.outcome.is_transient:
            raise ServiceStopping from failure
        return replace(failure.outcome, error=_storable(str(failure.outcome.error)))
    except WorkStoppedError as error:
        return Outcome("cancelled", error=_storable(error.detail), problem=error.slug)
    except AppError as error:
        if is_stopping() and isinstance(error, UnavailableError):
            raise ServiceStopping from error
        return Outcome(
            "failed",
            error=_storable(error.detail),
            problem=error.slug,
            is_transient=error.is_transient,
        )
    return Outcome("succeeded", result)


def _storable(text: str) -> str:
    """Text as a database takes it: file names may hold bytes that are no characters, or NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
