"""What a job is, apart from HTTP and SQL."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.protocols import ProgressListener


@dataclass(frozen=True)
class Job:
    """Work that was promised, as it stands."""

    id: int
    kind: str
    arguments: Mapping[str, Any]
    state: str
    attempts: int
    progress: Mapping[str, int]
    result: Mapping[str, Any] | None
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


JobHandler = Callable[[Mapping[str, Any], ProgressListener], dict[str, Any]]
"""Does the work of one kind of job: takes its arguments, gives its result as JSON.

It must be safe to run again: a job that a crash interrupted starts over.
"""
