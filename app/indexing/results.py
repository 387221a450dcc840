"""What indexing answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.protocols import SourceNote

MOST_NOTES = 2000
"""Of a list in a result, which every job keeps: twice what a listing of a folder reports."""


@dataclass(frozen=True)
class IndexingResult:
    """How indexing one item ended. A failure has an `error` that a person understands.

    It may have changed something all the same: then it counts what it added and removed, too.
    """

    success: bool
    knowledge_id: int
    chunks_indexed: int = 0
    """Chunks of the item that are searchable now; 0 after a failure, whatever still is."""
    content_hash: str = ""
    error: str | None = None
    unquoted_error: str | None = None
    """The error without what an embedding endpoint quotes of a text: for what outlives the item."""
    error_is_transient: bool = False
    """Whether the error may pass by itself."""
    retry_after_seconds: float | None = None
    """How long the source asked to be left alone, if it did."""
    documents: int = 0
    """Of the item; 0 after a failure, as is `chunks_unchanged`."""
    chunks_added: int = 0
    chunks_removed: int = 0
    chunks_unchanged: int = 0
    chunks_embedded: int = 0
    """Chunks that went through the model; equal text never does so twice."""
    skipped: tuple[SourceNote, ...] = ()
    warnings: tuple[SourceNote, ...] = ()
    """What is odd about documents that were taken in all the same."""
    duration_ms: float = 0.0


@dataclass(frozen=True)
class BulkIndexingResult:
    """How indexing several items ended."""

    success: bool
    """Whether every item succeeded."""
    total: int
    succeeded: int
    failed: int
    chunks_indexed: int
    duration_ms: float
    results: tuple[IndexingResult, ...]


@dataclass(frozen=True)
class Changes:
    """Chunk counts of what was stored."""

    added: int = 0
    removed: int = 0

    def __add__(self, other: "Changes") -> "Changes":
        """Sum, field by field."""
        return Changes(self.added + other.added, self.removed + other.removed)


def reported(
    notes: Sequence[SourceNote], source: str, unreported: int = 0
) -> tuple[SourceNote, ...]:
    """The first MOST_NOTES of the notes, and how many more there are of this source.

    `unreported` of them are not among the notes.
    """
    more = max(0, len(notes) - MOST_NOTES) + unreported
    told = (SourceNote(source, f"and {more:,} more"),) if more > 0 else ()
    return (*notes[:MOST_NOTES], *told)
