"""The lexical index that the service uses: one that fails is set aside and rebuilt from SQL."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from app.adapters.lexical_index.filling import LexicalFilling
from app.adapters.lexical_index.lexical_store import (
    FillableLexicalIndex,
    LexicalIndexStatus,
    LexicalStore,
    NoLexicalIndexError,
)
from app.adapters.lexical_index.unsettled_writes import UnsettledWrites
from app.errors import AppError, LexicalIndexAwayError, LexicalIndexError
from app.fault_points import FaultPoint, reached
from app.protocols import (
    EVERYWHERE,
    LexicalHit,
    LexicalIndex,
    LexicalRecord,
    LexicalSource,
    QueryWorth,
    SearchScope,
)

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

FILL_BATCH = 256
"""Records that a rebuild writes (0.2 s) before it lets a waiting writer go first."""


class HealingLexicalIndex:
    """Answers from the index of `store` while that is sound; otherwise searches raise.

    A failing index never fails a write: it is set aside until `rebuild`, and marked as incomplete
    on disk. A rebuild begins with the latest writes, which SQL may not have committed yet, takes
    every write from then on, and adds what the source shows and was not removed. This relies on an
    order that callers keep: they upsert a chunk before SQL commits it, and delete it from SQL
    before they call `remove` for it. Locks are taken in the order maintenance, write, state.
    """

    def __init__(self, store: LexicalStore, source: LexicalSource) -> None:
        self._store = store
        self._source = source
        self._maintenance_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._state_lock = threading.Lock()
        self._index: FillableLexicalIndex | None = None
        self._set_aside: LexicalIndex | None = None
        self._filling: LexicalFilling | None = None
        self._unsettled = UnsettledWrites()
        self._missed_writes = False
        self._was_written = False
        self._degraded_reason: str | None = "The lexical index has not been opened yet."
        self._closed = False

    # Reading -----------------------------------------------------------------------------------

    def search(self, query: str, limit: int, scope: SearchScope = EVERYWHERE) -> list[LexicalHit]:
        """The records that match best, best first; LexicalIndexError while there is no index."""
        return self._answer(lambda index: index.search(query, limit, scope))

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; LexicalIndexError without an index."""
        return self._answer(lambda index: index.documents_of(chunk_ids), is_harmless=True)

    def documents_of_tests(self) -> frozenset[int]:
        """See LexicalIndex.documents_of_tests; LexicalIndexError while there is no index."""
        return self._answer(lambda index: index.documents_of_tests())

    def in_other_language(self, expected: Mapping[str, str | None]) -> set[str]:
        """See LexicalIndex.in_other_language; LexicalIndexError while there is no index."""
        return self._answer(lambda index: index.in_other_language(expected), is_harmless=True)

    def worth(self, query: str) -> QueryWorth:
        """See LexicalIndex.worth; LexicalIndexError while there is no index."""
        return self._answer(lambda index: index.worth(query))

    def chunk_ids(self) -> set[str]:
        """The ids of all records; LexicalIndexError while there is no index."""
        return self._answer(lambda index: index.chunk_ids(), is_harmless=True)

    def count(self) -> int:
        """How many records there are; LexicalIndexError while there is no index."""
        return self._answer(lambda index: index.count(), is_harmless=True)

    @property
    def degraded_reason(self) -> str | None:
        """Why searches are not answered, or None if they are; costs nothing."""
        return self._degraded_reason

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed, so that work under way has broken off."""
        return self._closed

    @property
    def status(self) -> LexicalIndexStatus:
        """Whether searches are answered, and why not. Never raises, never waits.

        An index whose files were replaced, cut or deleted under it is set aside here.
        """
        count, index = 0, self._index
        if index is not None:
            try:
                count = index.count()
                fault = self._store.fault()
            except LexicalIndexError as error:
                fault = error.detail
            if fault is not None:
                self._lay_aside(index, fault)
        return LexicalIndexStatus(
            self._store.name, self._index is not None, self._degraded_reason, count
        )

    # Writing -----------------------------------------------------------------------------------

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        """Add or replace records. A failing index is set aside; the write does not fail."""
        with self._write_lock:
            self._check_open()
            self._was_written = True
            self._unsettled.note_upsert(records)
            if self._write(lambda index: index.upsert(records)) and self._filling:
                self._filling.note_written([record.chunk_id for record in records])

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records that SQL no longer holds; unknown ids are no error."""
        with self._write_lock:
            self._check_open()
            self._was_written = True
            self._unsettled.note_removal(chunk_ids)
            if self._write(lambda index: index.remove(chunk_ids)) and self._filling:
                self._filling.note_removed(chunk_ids)

    def close(self) -> None:
        """Stop a rebuild under way, then release everything."""
        self._closed = True
        with self._maintenance_lock, self._write_lock:
            self._retire("The lexical index is closed.")
            self._unsettled.forget()

    # Maintenance -------------------------------------------------------------------------------

    def open(self, *, trusted: bool = True) -> None:
        """Open the index; when that fails, `status` says why.

        An index that is not trusted (after an unclean stop) is compared with the source, and
        mended, before it answers anything; one whose rebuild was interrupted is finished. Does
        nothing if there is an index that answers.
        """
        with self._maintenance_lock:
            self._check_open()
            if self._index is not None:
                return
            try:
                index, is_unfinished = self._usable_index(trusted=trusted)
            except LexicalIndexError as error:
                self._note_unusable(error)
                return
            with self._write_lock:
                if trusted and not self._missed_writes:
                    self._serve_from(index)
                    return
            self._set_aside = index
            doing = "made" if is_unfinished else "compared with the database"
            self._degraded_reason = f"The lexical index is being {doing}."
            try:
                self._bring_up_to_date(lambda: index)
            except LexicalIndexError:
                return  # `status` says why

    def examine(self) -> None:
        """Read the files, every byte, and set the index aside if they are not as written."""
        index = self._index
        reason = self._store.damage() if index is not None else None
        if index is not None and reason is not None:
            self._lay_aside(index, reason)

    def rebuild(self) -> int:
        """Rebuild the index from the source; returns how many records were written.

        Takes about 0.6 ms of CPU a record. Writers wait for FILL_BATCH records at most. Raises
        LexicalIndexError when the index cannot be written.
        """
        with self._maintenance_lock:
            return self._rebuild()

    def tidy(self) -> None:
        """Commit removals, if there are many: it takes a moment, for which writers wait.

        So it is skipped if anything was written since the last call.
        """
        with self._write_lock:
            index, self._was_written, rests = self._index, False, not self._was_written
            if index is not None and rests:
                try:
                    index.keep()
                except LexicalIndexError as error:
                    self._lay_aside(index, error.detail)

    def heal(self) -> int | None:
        """Rebuild the index as `rebuild` does; None if it answers already: another was quicker."""
        with self._maintenance_lock:
            return self._rebuild() if self._index is None else None

    # Inside ------------------------------------------------------------------------------------

    def _usable_index(self, *, trusted: bool) -> tuple[FillableLexicalIndex, bool]:
        """The complete index, or else the unfinished one, which takes time; raises otherwise.

        And whether it is the unfinished one.
        """
        try:
            return self._store.open(), False
        except LexicalIndexError:
            unfinished = None if trusted else self._store.open_unfinished()
            if unfinished is None:
                raise
            logger.info("The %s index goes on being made where it was.", self._store.name)
            return unfinished, True

    def _note_unusable(self, error: LexicalIndexError) -> None:
        if isinstance(error, NoLexicalIndexError):
            logger.info("The %s index is to be made: %s", self._store.name, error.detail)
        else:
            logger.warning("The %s index is not usable: %s", self._store.name, error.detail)
        self._degraded_reason = error.detail

    def _rebuild(self) -> int:
        self._check_open()
        self._retire("The lexical index is being rebuilt.")
        return self._bring_up_to_date(self._store.recreate)

    def _check_open(self) -> None:
        if self._closed:
            raise LexicalIndexError("The lexical index is closed.")

    def _answer(
        self, ask: Callable[[LexicalIndex], Answer], *, is_harmless: bool = False
    ) -> Answer:
        """Ask the index; `is_harmless`: the question holds no text of a client."""
        index = self._index
        if index is None:
            raise LexicalIndexAwayError(
                self._degraded_reason or "The lexical index is being changed."
            )
        try:
            return ask(index)
        except LexicalIndexError as error:
            if is_harmless:
                self._lay_aside(index, error.detail)
            else:
                self._examine(index)
            raise

    def _examine(self, index: LexicalIndex) -> None:
        """Set an index aside if it also fails a harmless question: otherwise the question was at
        fault, and no question must be able to switch off search."""
        try:
            index.search("the", 1)
        except LexicalIndexError as error:
            self._lay_aside(index, error.detail)

    def _write(self, write: Callable[[LexicalIndex], None]) -> bool:
        """Write to the index if there is one; returns whether it took it. Holds the write lock."""
        index = self._filling.index if self._filling else self._index
        if index is None:
            self._missed_writes = True
            return False
        try:
            write(index)
        except LexicalIndexError as error:
            self._lay_aside(index, error.detail)
            self._missed_writes = True
            if self._filling:
                self._filling.note_failure(error.detail)
            return False
        return True

    def _serve_from(self, index: FillableLexicalIndex) -> None:
        with self._state_lock:
            self._index, self._set_aside = index, None
            self._degraded_reason = None
            self._missed_writes = False

    def _lay_aside(self, index: LexicalIndex, reason: str, *, has_failed: bool = True) -> None:
        """Stop using an index that failed. It stays open: other threads may be using it.

        One that has not failed is what could not be filled for what `reason` says, which is told
        to whoever had it filled.
        """
        with self._state_lock:
            if index not in (self._index, self._set_aside):
                return
            if has_failed:
                logger.error("The %s index failed and is set aside: %s", self._store.name, reason)
            self._index, self._set_aside = None, index
            self._degraded_reason = reason
            self._missed_writes = True
        self._mark_incomplete()

    def _mark_incomplete(self) -> None:
        try:
            self._store.mark_incomplete()
        except LexicalIndexError as error:
            logger.warning("The %s index could not be marked: %s", self._store.name, error.detail)

    def _retire(self, reason: str) -> None:
        """Take the index out of service, and close it and the one that was set aside."""
        with self._state_lock:
            retired = [index for index in (self._index, self._set_aside) if index is not None]
            self._index = self._set_aside = None
            self._degraded_reason = reason
        for index in retired:
            try:
                index.close()
            except LexicalIndexError as error:
                logger.warning("The %s index did not close: %s", self._store.name, error.detail)
                self._mark_incomplete()  # who knows how its files were left

    def _bring_up_to_date(self, get_index: Callable[[], FillableLexicalIndex]) -> int:
        """Fill an index with what the source shows and what writers write, then serve from it."""
        reason: str | None = "The lexical index could not be brought up to date."
        index: FillableLexicalIndex | None = None
        has_failed = True
        try:
            with self._write_lock:
                index = get_index()
                if self._index is not index:
                    self._set_aside = index
                filling = LexicalFilling(index, self._unsettled.records(), self._check_open)
                self._filling = filling
            for batch in self._source():
                self._fill(filling, batch)
            with self._write_lock:
                filling.finish()
                reached(FaultPoint.LEXICAL_FILLED)
                self._store.mark_complete()
                reached(FaultPoint.LEXICAL_MARKED)
                self._serve_from(index)
            reason = None
        except AppError as error:
            reason, has_failed = error.detail, isinstance(error, LexicalIndexError)
            raise
        finally:
            with self._write_lock:  # a writer looks at it more than once
                self._filling = None
            if reason is not None:
                self._degraded_reason = reason
                if index is not None and not self._closed:  # else the next start finishes it
                    self._lay_aside(index, reason, has_failed=has_failed)
        return filling.repaired

    def _fill(self, filling: LexicalFilling, batch: Sequence[LexicalRecord]) -> None:
        for start in range(0, len(batch), FILL_BATCH):
            with self._write_lock:  # in between, a writer may go first
                filling.add_missing(batch[start : start + FILL_BATCH])
