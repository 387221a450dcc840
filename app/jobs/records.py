"""What a job is, apart from HTTP and SQL."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.jobs.kinds import UNREADABLE_JOB
from app.protocols import ProgressListener

BACKGROUND, WAITED_FOR = 0, 10
"""Priorities: of work that goes on by itself, and of work that a client waits for."""

ENDED_STATES = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True)
class Job:
    """Work that was promised, as it stands."""

    id: int
    kind: str
    arguments: Mapping[str, Any]
    state: str
    cancel_requested: bool
    """Whether it was asked to stop while it ran."""
    priority: int
    attempts: int
    retryable: bool
    retries: int
    not_before: datetime | None
    attempt_token: int
    """What whoever runs the job must show to write about it."""
    progress: Mapping[str, Any]
    result: Mapping[str, Any] | None
    error: str | None
    problem: str | None
    """The slug of the error, see app.errors."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.state in ENDED_STATES

    @property
    def is_lost(self) -> bool:
        """Whether nothing tells any more what it was to do; work of every kind has arguments."""
        return self.kind == UNREADABLE_JOB or not self.arguments


@dataclass(frozen=True)
class Outcome:
    """How a run of a job ended."""

    state: str
    result: Mapping[str, Any] | None = None
    """What the operation would have answered; also of a failure, if it has an answer."""
    error: str | None = None
    problem: str | None = None
    is_transient: bool = False
    """Whether the failure may pass by itself."""
    retry_after_seconds: float | None = None
    """How long whoever failed us asked to be left alone, if it did."""


class FailedWithAnswer(Exception):  # noqa: N818, no error of ours: an outcome
    """Raised by a handler whose work failed and whose operation answers so with details."""

    def __init__(
        self,
        error: str,
        answer: dict[str, Any],
        *,
        is_transient: bool,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(error)
        self.outcome = Outcome(
            "failed",
            answer,
            error,
            is_transient=is_transient,
            retry_after_seconds=retry_after_seconds,
        )


JobHandler = Callable[[Mapping[str, Any], ProgressListener], dict[str, Any]]
"""Does the work of one kind of job: takes its arguments, gives its result as JSON.

It must be safe to run again: a job that a crash interrupted starts over. Between its steps it tells
the listener how far it is: there it is ended if the job was cancelled or the service stops. An
AppError that it raises becomes the job's error, and the job is retried if that may pass by itself;
FailedWithAnswer is for an operation that answers a failure with details.

What a job reports about one item is forgotten when that is deleted. A job about no single item
outlives items: it must not name their documents, or `forgetting_queries` has to know of it.
"""
