"""An index that is being made to hold what the source shows, while writers go on writing to it."""

from collections.abc import Callable, Collection, Sequence

from app.adapters.lexical_index.lexical_store import FillableLexicalIndex
from app.errors import LexicalIndexError
from app.fault_points import FaultPoint, reached
from app.protocols import LexicalRecord

KEPT_EVERY_RECORDS = 4096
"""After so many that were added, they are made durable: what a kill can cost is 2 s of work. Each
time takes 0.05 s and leaves a segment to be merged; with 256, half of the time went there."""


class LexicalFilling:
    """Brings one index up to date. Every method is called under the lock of the writers.

    What writers wrote is newer than what the source shows, and what they removed is not added
    again.
    """

    def __init__(
        self,
        index: FillableLexicalIndex,
        latest: Sequence[LexicalRecord],
        check_open: Callable[[], None],
    ) -> None:
        """`latest` are the latest writes, of which the source may know nothing yet.

        `check_open` raises when the work is to end. Raises LexicalIndexError.
        """
        self.index = index
        self.repaired = 0
        """Records that were added or removed."""
        self._check_open = check_open
        self._failure: str | None = None
        self._surplus = index.chunk_ids()
        self._found = frozenset(self._surplus)
        index.upsert(latest)
        self._written = {record.chunk_id for record in latest}
        self.repaired += len(self._written - self._found)
        self._removed: set[str] = set()
        self._to_be_kept = 0

    def note_written(self, chunk_ids: Collection[str]) -> None:
        """A writer has just written these."""
        self._written.update(chunk_ids)
        self._removed.difference_update(chunk_ids)

    def note_removed(self, chunk_ids: Collection[str]) -> None:
        """A writer has just removed these."""
        self._written.difference_update(chunk_ids)
        self._removed.update(chunk_ids)

    def note_failure(self, reason: str) -> None:
        """A write to the index has failed: what it holds is not known any more."""
        self._failure = reason

    def add_missing(self, records: Sequence[LexicalRecord]) -> None:
        """Add those of the source's records that the index lacks; the others are no surplus.

        Those that it held from the start in another language are replaced: their collection may
        have been given one of which the index learnt nothing.
        """
        self._check()
        self._surplus.difference_update(record.chunk_id for record in records)
        known = (self._found, self._written, self._removed)
        missing = [record for record in records if not any(record.chunk_id in ids for ids in known)]
        misread = self._misread(records)
        self.index.add(missing)
        self.index.upsert(misread)
        self._written.update(record.chunk_id for record in (*missing, *misread))
        self.repaired += len(missing) + len(misread)
        self._to_be_kept += len(missing)
        if self._to_be_kept >= KEPT_EVERY_RECORDS:
            self._keep()
        reached(FaultPoint.LEXICAL_BATCH_FILLED)

    def finish(self) -> None:
        """Remove what the source did not show, unless a writer wrote it, and keep the rest."""
        self._check()
        surplus = sorted(self._surplus - self._written - self._removed)
        self._keep()
        self.index.remove(surplus)
        self.repaired += len(surplus)

    def _misread(self, records: Sequence[LexicalRecord]) -> list[LexicalRecord]:
        """Those that were found in another language, and that nobody has written since."""
        found = {
            record.chunk_id: record
            for record in records
            if record.chunk_id in self._found
            and record.chunk_id not in self._written
            and record.chunk_id not in self._removed
        }
        languages = {chunk_id: record.language for chunk_id, record in found.items()}
        return [found[chunk_id] for chunk_id in sorted(self.index.in_other_language(languages))]

    def _keep(self) -> None:
        self.index.keep()
        self._to_be_kept = 0

    def _check(self) -> None:
        self._check_open()
        if self._failure is not None:
            raise LexicalIndexError(self._failure)
