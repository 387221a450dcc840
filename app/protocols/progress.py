"""How far a piece of work has come, and who is told."""

from dataclasses import dataclass
from typing import Protocol

from app.protocols.loading import SourceNote

MOST_SKIPPED_SHOWN = 20
"""Progress is stored often, so it is kept short; the result lists everything that was skipped."""


@dataclass(frozen=True)
class Progress:
    """How far indexing is, stage by stage, counted in documents and chunks."""

    documents_found: int = 0
    documents_done: int = 0
    """Looked at: read, unchanged or skipped."""
    documents_skipped: int = 0
    chunks_embedded: int = 0
    chunks_total: int = 0
    """Stored and searchable, of the items that were begun, whichever run stored them."""
    documents_loaded: int = 0
    """Read, because they may have changed."""
    documents_split: int = 0
    """Changed, and split into chunks."""
    documents_stored: int = 0
    """Stored in their new version."""
    chunks_split: int = 0
    """Chunks of the documents that were split."""
    skipped: tuple[SourceNote, ...] = ()
    """The first MOST_SKIPPED_SHOWN places that were skipped."""


class ProgressListener(Protocol):
    """Told how far a piece of work is; may raise WorkStoppedError to end it there."""

    def __call__(self, progress: Progress) -> None:
        """Take note of the progress."""
        ...
