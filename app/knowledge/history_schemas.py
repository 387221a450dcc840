"""The history of items as JSON."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class RunOutcome(StrEnum):
    """How an indexing run ended."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    STOPPED = "stopped"
    REMOVED = "removed"


class IndexingRun(BaseModel):
    """What an indexing run changed, or several after one another that changed nothing."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    outcome: RunOutcome = Field(
        description="`failed` runs, and those `stopped` half-way, may have changed something too. "
        "`removed`: the item was taken out of the index, and its history before that forgotten."
    )
    error: str | None = Field(description="Why it failed.")
    runs: int = Field(
        description="How many runs this stands for: those that change nothing and end alike are "
        "counted in one."
    )
    started_at: datetime = Field(description="When the first of them began.")
    finished_at: datetime = Field(description="When the last of them ended.")
    documents_added: int
    documents_changed: int
    documents_removed: int
    documents_unchanged: int
    documents_skipped: int
    chunks_added: int
    chunks_removed: int
    added: list[str] = Field(description="Keys of documents that came: at most the first 100.")
    changed: list[str] = Field(description="Keys of documents with a new version: at most 100.")
    removed: list[str] = Field(description="Keys of documents that went: at most 100.")
    truncated: bool = Field(description="Whether there were more documents than are named.")


class HistoryPage(BaseModel):
    """One page of the history, newest first."""

    model_config = ConfigDict(from_attributes=True)

    items: list[IndexingRun]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last.")
