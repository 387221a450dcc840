"""Counts and names what an indexing run changes, for the history of its item."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.clock import now
from app.indexing.documents import DocumentDetails, KnownDocument, PreparedDocument
from app.indexing.results import Changes
from app.knowledge.history_records import IndexingRun

MOST_KEYS = 100
"""Documents that an entry of the history names, of those that came, changed and went each."""


@dataclass
class Names:
    """A count of documents, and the keys of the first."""

    count: int = 0
    keys: list[str] = field(default_factory=list)

    def add(self, keys: Iterable[str]) -> None:
        """Count them, and keep as many keys as there is room for."""
        for key in keys:
            self.count += 1
            if len(self.keys) < MOST_KEYS:
                self.keys.append(key)


@dataclass
class RunTally:
    """What one run has stored and taken out so far."""

    started_at: datetime = field(default_factory=now)
    known: Mapping[str, KnownDocument] = field(default_factory=dict)
    """The documents that were stored before the run, by key."""
    added: Names = field(default_factory=Names)
    changed: Names = field(default_factory=Names)
    removed: Names = field(default_factory=Names)
    removed_chunks: int = 0
    """Of the documents that went."""

    @property
    def has_changes(self) -> bool:
        """Whether any document came, changed or went."""
        return bool(self.added.count or self.changed.count or self.removed.count)

    def note_stored(self, documents: Sequence[PreparedDocument]) -> None:
        """These were stored; of those that are known, not all say anything new."""
        for document in documents:
            known = self.known.get(document.entry.key)
            if known is None:
                self.added.add([document.entry.key])
            elif not _says_the_same(known, document):
                self.changed.add([document.entry.key])

    def note_removed(self, documents: Sequence[KnownDocument], chunks: int) -> None:
        """These went, with so many chunks."""
        self.removed.add(document.key for document in documents)
        self.removed_chunks += chunks

    def run(
        self,
        changes: Changes,
        *,
        skipped: int,
        outcome: str | None = None,
        error: str | None = None,
    ) -> IndexingRun:
        """The entry of the history for a run that ends now; without an outcome, a success."""
        gone = self.removed.count + self.changed.count
        return IndexingRun(
            outcome=outcome or ("changed" if self.has_changes else "unchanged"),
            error=error,
            started_at=self.started_at,
            finished_at=now(),
            documents_added=self.added.count,
            documents_changed=self.changed.count,
            documents_removed=self.removed.count,
            documents_unchanged=max(0, len(self.known) - gone),
            documents_skipped=skipped,
            chunks_added=changes.added,
            chunks_removed=changes.removed + self.removed_chunks,
            added=tuple(self.added.keys),
            changed=tuple(self.changed.keys),
            removed=tuple(self.removed.keys),
        )


def _says_the_same(known: KnownDocument, document: PreparedDocument) -> bool:
    """Whether it was stored anew all the same: somebody asked for it."""
    same_rules = known.splitter == document.splitter
    return same_rules and known.details == DocumentDetails.of(document.loaded)
