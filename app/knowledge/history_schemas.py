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
    documents_added: int = Field(description="Documents that came.")
    documents_changed: int = Field(description="Documents that got a new version.")
    documents_removed: int = Field(description="Documents that went.")
    documents_unchanged: int = Field(description="Documents that stayed as they were.")
    documents_skipped: int = Field(description="Places of the source that were not taken in.")
    chunks_added: int = Field(description="Chunks that were stored anew.")
    chunks_removed: int = Field(description="Chunks that are stored no more.")
    added: list[str] = Field(description="Keys of documents that came: at most the first 100.")
    changed: list[str] = Field(description="Keys of documents with a new version: at most 100.")
    removed: list[str] = Field(description="Keys of documents that went: at most 100.")
    truncated: bool = Field(description="Whether there were more documents than are named.")


class HistoryPage(BaseModel):
    """One page of the history, newest first."""

    model_config = ConfigDict(from_attributes=True)

    items: list[IndexingRun] = Field(description="Newest first.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last.")
