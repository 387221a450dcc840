"""Jobs as JSON."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.jobs.kinds import INDEX_ALL_JOB, INDEX_JOB, UNREADABLE_JOB
from app.web.complete_answer import CompleteAnswer

FOR_THE_WORKER = frozenset({"unquoted_error", "error_is_transient", "retry_after_seconds"})
"""What a result says beside its operation's answer: what may be kept of it, and whether and when
the job is tried again."""


class JobState(StrEnum):
    """Where a job stands; the last three are its ends."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobKind(StrEnum):
    """What a job does: index one item, or all; `unreadable`: what the database holds is damaged."""

    INDEX = INDEX_JOB
    INDEX_ALL = INDEX_ALL_JOB
    UNREADABLE = UNREADABLE_JOB

    @classmethod
    def _missing_(cls, _value: object) -> "JobKind":
        return cls.UNREADABLE


class SkippedPlace(BaseModel):
    """A place in a source that was left out, and why."""

    model_config = ConfigDict(from_attributes=True)

    uri: str = Field(description="Path or address of the place.")
    reason: str = Field(description="In words.")


class JobProgress(CompleteAnswer):
    """How far a job is, stage by stage: found, loaded, split, embedded, stored."""

    documents_found: int = Field(0, description="In the source, so far.")
    documents_done: int = Field(0, description="Looked at: read, unchanged or skipped.")
    documents_skipped: int = Field(
        0,
        description="Not taken in: see `skipped`. What is passed over for its name or kind counts "
        "here alone.",
    )
    chunks_embedded: int = Field(
        0, description="Chunks that went through the model; equal text never does so twice."
    )
    chunks_total: int = Field(
        0,
        description="Chunks of the item that are stored and searchable, those that were before "
        "included; with several items, of those that were begun.",
    )
    documents_loaded: int = Field(0, description="Read, because they may have changed.")
    documents_split: int = Field(0, description="Changed, and split into chunks.")
    documents_stored: int = Field(0, description="Stored in their new version.")
    chunks_split: int = Field(0, description="Chunks of the documents that were split.")
    skipped: list[SkippedPlace] = Field(
        default_factory=list,
        description="The first places that were skipped, with the reason; of all items, only the "
        "result names them.",
    )


def _as_answered(result: Any) -> Any:
    """A result, and each within it, as its operation answers it."""
    if isinstance(result, list):
        return [_as_answered(each) for each in result]
    if isinstance(result, dict):
        said = (name for name in result if name not in FOR_THE_WORKER)
        return {name: _as_answered(result[name]) for name in said}
    return result


class Job(CompleteAnswer):
    """Work that was promised: it survives a restart."""

    id: int
    kind: JobKind
    arguments: dict[str, Any] = Field(
        description="What the operation was asked for.",
        examples=[{"knowledge_id": 1, "force": False}],
    )
    state: JobState = Field(description="The last three are its ends.")
    cancel_requested: bool = Field(
        False,
        description="Whether it was cancelled while it ran: then it stops at its next step, unless "
        "it ends before.",
    )
    priority: int = Field(
        0, description="Higher goes first: 10 while a client waits for it, 0 in the background."
    )
    attempts: int = Field(
        description="How often the job was started since it was queued or retried, or since it "
        "gained something before the service ended. The service does not start one a seventh time "
        "that it never outlives: such a job is `failed`."
    )
    retries: int = Field(
        0,
        description="How often it failed in a way that may pass by itself, and was queued again.",
    )
    not_before: datetime | None = Field(
        None, description="When a queued job that failed before is tried again."
    )
    progress: JobProgress = Field(description="How far it is, or was when it ended.")
    result: Annotated[dict[str, Any] | None, AfterValidator(_as_answered)] = Field(
        description="What the operation would have answered; null until it can be said. That of a "
        "failure says what was skipped."
    )
    error: str | None = Field(description="What went wrong, if it did, the last time.")
    created_at: datetime = Field(description="When it was first queued.")
    started_at: datetime | None = Field(description="When it last began to run; null: not yet.")
    finished_at: datetime | None = Field(description="When it ended; null: it has not.")


class JobPage(BaseModel):
    """One page of jobs, newest first."""

    items: list[Job] = Field(description="Newest first.")
    next_cursor: int | None = Field(description="`cursor` of the next page; null on the last.")
