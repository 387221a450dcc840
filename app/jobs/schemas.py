"""Jobs as JSON."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class JobState(StrEnum):
    """Where a job stands; the last three are its ends."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobKind(StrEnum):
    """What a job does: index one item, or all."""

    INDEX = "index"
    INDEX_ALL = "index_all"


class JobProgress(BaseModel):
    """How far a job is."""

    documents_found: int = 0
    documents_done: int = 0
    documents_skipped: int = 0
    chunks_embedded: int = 0
    chunks_total: int = 0


class Job(BaseModel):
    """Work that was promised: it survives a restart."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    kind: JobKind
    arguments: dict[str, Any]
    state: JobState
    attempts: int = Field(
        description="How often the job was started since it was queued or retried, or since it "
        "gained something before the service ended. The service does not start one a fourth time "
        "that it never outlives: such a job is `failed`."
    )
    progress: JobProgress
    result: dict[str, Any] | None = Field(
        description="What the operation would have answered; null until the job has succeeded."
    )
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobPage(BaseModel):
    """One page of jobs, newest first."""

    items: list[Job]
    next_cursor: int | None = Field(description="`cursor` of the next page; null on the last.")
