"""What the history of an item consists of, apart from HTTP and SQL."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class IndexingRun:
    """What one indexing run of an item did, or several after one another that did nothing."""

    outcome: str
    """changed, unchanged, failed, stopped (half-way), or removed (taken out of the index)."""
    started_at: datetime
    """When the first of them began."""
    finished_at: datetime
    """When the last of them ended."""
    error: str | None = None
    documents_added: int = 0
    documents_changed: int = 0
    documents_removed: int = 0
    documents_unchanged: int = 0
    documents_skipped: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    added: tuple[str, ...] = ()
    """Keys of documents, up to a bound; so are the next two."""
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    runs: int = 1
    id: int = 0
    """0 until it is stored."""

    @property
    def truncated(self) -> bool:
        """Whether there were more documents than are named."""
        named = len(self.added) + len(self.changed) + len(self.removed)
        return named < self.documents_added + self.documents_changed + self.documents_removed

    @property
    def changed_nothing(self) -> bool:
        """Whether no document and no chunk came, changed or went."""
        return not (
            self.documents_added
            or self.documents_changed
            or self.documents_removed
            or self.chunks_added
            or self.chunks_removed
        )


@dataclass(frozen=True)
class HistoryPage:
    """A page of the history, newest first."""

    items: tuple[IndexingRun, ...]
    next_cursor: str | None
