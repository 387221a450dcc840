"""Keeps the index on disk equal to the exact one, in the background, and heals it when it fails."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, auto

from app.adapters.healing_pauses import HealingPauses
from app.adapters.vector_index.filling import VectorFilling
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.adapters.vector_index.missed_writes import MissedWrites
from app.adapters.vector_index.primary import NoVectorIndexError, PrimaryIndex, PrimaryStore
from app.adapters.vector_index.status import CLOSED
from app.errors import AppError, VectorIndexError
from app.fault_points import FaultPoint, reached
from app.protocols import VectorRecord, VectorSource
from app.surviving import WENT_WRONG, survive

logger = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""How often to check whether the process of the index has died while it had nothing to do."""


class Phase(Enum):
    """What the keeper has to do."""

    STOPPED = auto()
    """Nothing yet, or no more: all is closed."""
    RESTING = auto()
    """The index on disk is sound and complete, and is not needed yet."""
    WANTED = auto()
    """It is to be opened, mended or made anew."""
    SERVING = auto()
    GIVEN_UP = auto()
    """So many tries have failed that it is only tried again now and then."""


class PrimaryKeeper:
    """Owns the primary index. `write_lock` is the lock that all writers hold while they write.

    A trusted index rests on disk until the first write, or until a search needs it. Locks are
    taken in the order maintenance, write, state.
    """

    def __init__(
        self,
        store: PrimaryStore,
        exact: LoadedExactIndex,
        source: VectorSource,
        write_lock: threading.Lock,
        pauses: HealingPauses,
        on_healed: Callable[[], None],
        is_intact: Callable[[], bool],
    ) -> None:
        """`on_healed` is called whenever an index that failed or differed serves again.

        It is called under the locks of this, before `settle` returns. `is_intact` says whether the
        files are those that were closed last; asked before they are opened.
        """
        self._on_healed = on_healed
        self._is_intact = is_intact
        self._store = store
        self._exact = exact
        self._source = source
        self._write_lock = write_lock
        self._pauses = pauses
        self._maintenance_lock = threading.Lock()
        self._state = threading.Condition()
        self._phase = Phase.STOPPED
        self._trusted = False
        self._suspect = False
        self._index: PrimaryIndex | None = None
        self._set_aside: PrimaryIndex | None = None
        self._missed = MissedWrites()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="vector-index-keeper", daemon=True)
        self.degraded_reason: str | None = None

    # For whoever reads and writes --------------------------------------------------------------

    @property
    def index(self) -> PrimaryIndex | None:
        """The index, as long as it is up to date and answers; else None."""
        return self._index

    @property
    def is_sound(self) -> bool:
        """Whether the files on disk can be trusted once everything is closed."""
        index = self._index
        serving = self._phase is Phase.SERVING and index is not None and index.failure is None
        return serving or self._phase is Phase.RESTING

    @property
    def rests(self) -> bool:
        """Whether the index on disk has not been opened since the start."""
        return self._phase is Phase.RESTING

    def distrust(self, reason: str) -> None:
        """Have the index compared and mended, or rebuilt, even if it seems sound."""
        index = self._index
        if index is not None:
            self.lay_aside(index, reason)

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records now or later. The write lock is held."""
        self._write(lambda index: index.upsert(records), lambda: self._missed.note_upsert(records))

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records now or later. The write lock is held."""
        self._write(
            lambda index: index.remove(chunk_ids), lambda: self._missed.note_removal(chunk_ids)
        )

    def lay_aside(self, index: PrimaryIndex, reason: str) -> None:
        """Stop asking an index that failed, and have it healed."""
        with self._state:
            if index is not self._index:
                return
            logger.error("The %s index failed and is set aside: %s", self._store.name, reason)
            self._index, self._set_aside = None, index
            self._suspect = True  # so that it counts as healed once it serves again
            self.degraded_reason = reason
            self._enter(Phase.WANTED)
        self._mark_incomplete()

    # Its life ----------------------------------------------------------------------------------

    def start(self, *, trusted: bool) -> None:
        """Start looking after the index on disk in the background; returns at once.

        With `trusted` (the last process stopped cleanly), an index that is marked as complete is
        left to rest; otherwise it is compared and mended, or rebuilt.
        """
        self._trusted = trusted and self._store.is_complete() and not self._suspect_if_exchanged()
        if not trusted:
            self.degraded_reason = "The vector index is being checked after an unclean stop."
        self._missed.begin()
        with self._state:
            self._enter(Phase.RESTING if self._trusted else Phase.WANTED)
        self._thread.start()

    def awaken(self) -> None:
        """Have a resting index opened."""
        with self._state:
            if self._phase is Phase.RESTING:
                self._enter(Phase.WANTED)

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the index is up to date, rests, or is given up; returns whether it is so."""
        with self._state:
            return self._state.wait_for(self._is_settled, timeout_seconds)

    def rebuild(self) -> int:
        """Rebuild the index from the source; returns its size. Raises VectorIndexError."""
        with self._maintenance_lock:
            self._require_open()
            self._pauses.forget_failures()
            self._retire("The vector index is being rebuilt.")
            self._missed.begin()
            try:
                return self._fill(self._store.recreate())
            except BaseException as error:
                self._note_failure(error.detail if isinstance(error, AppError) else WENT_WRONG)
                raise

    def clear(self) -> None:
        """Empty both indexes; from now on, they hold only what is written to them."""
        with self._maintenance_lock, self._write_lock:
            self._require_open()
            self._exact.clear()
            self._trusted = False
            if self._index is not None:
                self._write(lambda index: index.clear(), lambda: None)
            if self._index is not None:
                self._store.mark_complete()
            else:
                self._mark_incomplete()
                self.awaken()

    def close(self) -> None:
        """Stop the work under way, then release everything."""
        self._closed = True
        with self._state:
            self._state.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        with self._maintenance_lock, self._write_lock:
            self._retire(CLOSED)
            with self._state:
                self._enter(Phase.STOPPED)

    # The thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        remark = f"The {self._store.name} index cannot be used, for an unexpected error"
        while not self._closed:
            if survive(self._do_what_is_due, remark, ()) is None:
                self._note_unexpected_failure()

    def _do_what_is_due(self) -> bool:
        """Do the next thing, even if it is only to wait a while; returns True when done."""
        if self._phase is Phase.WANTED and self._pauses.given_up:
            self._give_up()
        elif self._phase is Phase.WANTED:
            self._wait_and_try()
        elif self._phase is Phase.GIVEN_UP and self._pauses.retry_is_due:
            self._try(Phase.GIVEN_UP)
        else:
            self._rest()
        index = self._index  # looked at once it serves, too: what it has open is its own then
        if index is not None and index.failure is not None:
            self.lay_aside(index, index.failure)
        elif index is not None and self._is_swollen(index):
            self._make_small()
        return True

    def _is_swollen(self, index: PrimaryIndex) -> bool:
        return self._exact.loaded and index.is_swollen(self._exact.full().count())

    def _make_small(self) -> None:
        logger.info("The %s index is made anew: most of it is what was deleted.", self._store.name)
        with self._state:
            self._enter(Phase.WANTED)  # so that whoever waits for it waits for the new one
        with suppress(AppError):  # which is noted, and the next try is due as after any failure
            self.rebuild()

    def _rest(self) -> None:
        with self._state:
            # Checked again under the lock: a request since the last check woke no thread.
            if not self._closed and self._phase is not Phase.WANTED:
                self._state.wait(CHECK_SECONDS)

    def _give_up(self) -> None:
        """Release those who wait for the index: the next try is far off."""
        with self._state:
            if self._phase is not Phase.WANTED:  # somebody has rebuilt it by command
                return
            if self._pauses.failure_is_news:
                seconds = self._pauses.retry_seconds
                logger.error("The %s index is left for %d seconds.", self._store.name, seconds)
            self._missed.end()
            self._enter(Phase.GIVEN_UP)

    def _wait_and_try(self) -> None:
        with self._state:
            self._state.wait_for(lambda: self._closed, self._pauses.before_try())
        self._try(Phase.WANTED)

    def _try(self, phase: Phase) -> None:
        """Try once to have the index serve, unless this phase has ended in the meantime."""
        with self._maintenance_lock:
            if self._closed or self._phase is not phase:
                return
            self._pauses.note_try()
            had_failed = self._suspect
            try:
                self._restore()
            except AppError as error:
                self._pauses.note_failure(error)
                self._note_failure(error.detail, is_news=self._pauses.failure_is_news)
            else:
                if had_failed:
                    self._pauses.note_repair()
                else:
                    self._pauses.forget_failures()

    def _restore(self) -> None:
        """Open the index and bring it up to date; rebuild it if that fails."""
        trusted, self._trusted = self._trusted and not self._suspect_if_exchanged(), False
        self._missed.begin()
        exact, suspect = self._exact.full(), self._suspect
        self._close_set_aside()
        try:
            index = self._store.open()
            if trusted:
                self._serve(VectorFilling(index, exact, self._missed, self._require_open), index)
            else:
                self._fill(index, lambda repaired: bool(repaired) or suspect)
        except VectorIndexError as error:
            self._require_open()
            lacks_something = exact.count() > 0  # asked now: to make one takes time to write in
            level = _level_of(error) if lacks_something else logging.DEBUG
            logger.log(level, "The %s index is made anew: %s", self._store.name, error.detail)
            if lacks_something:
                self.degraded_reason = error.detail
            self._close_set_aside()
            self._fill(self._store.recreate(), lambda repaired: bool(repaired) and lacks_something)

    def _fill(
        self, index: PrimaryIndex, is_healing: Callable[[int], bool] = lambda _: False
    ) -> int:
        """Bring the index up to date, and serve from it; returns how many records it wrote.

        `is_healing` says of that number whether the index counts as healed.
        """
        self._set_aside = index
        filling = VectorFilling(index, self._exact.full(), self._missed, self._require_open)
        repaired = filling.run(self._source)
        self._serve(filling, index, is_healed=is_healing(repaired))
        logger.info("The %s index is up to date; records mended: %d", self._store.name, repaired)
        return repaired

    def _serve(
        self, filling: VectorFilling, index: PrimaryIndex, *, is_healed: bool = False
    ) -> None:
        self._set_aside = index
        filling.catch_up()
        with self._write_lock:
            filling.catch_up()
            reached(FaultPoint.VECTORS_FILLED)
            self._store.mark_complete()
            reached(FaultPoint.VECTORS_MARKED)
            with self._state:
                self._index, self._set_aside = index, None
                self._suspect = False  # from here on, whoever lays it aside says so anew
                self.degraded_reason = None
                self._missed.end()
                self._enter(Phase.SERVING)
                if is_healed:  # told before anybody who waits for the index goes on
                    self._on_healed()

    def _suspect_if_exchanged(self) -> bool:
        """Suspect files that are not those that were closed last; returns whether they are not."""
        self._suspect = not self._is_intact()
        if self._suspect:
            logger.warning("The %s index is not the one that was closed last.", self._store.name)
        return self._suspect

    def _note_failure(self, reason: str, *, is_news: bool = True) -> None:
        """An attempt failed: what the index misses from now on will be found by comparing."""
        if is_news and not self._closed:  # else it was broken off, and the next start goes on
            logger.warning("The %s index cannot be used: %s", self._store.name, reason)
        self.degraded_reason = reason
        self._close_set_aside()
        with self._state:
            if not self._closed:
                self._missed.end()
                self._enter(Phase.WANTED)

    def _note_unexpected_failure(self) -> None:
        """Count a failed try. The next one closes what is still open of the index."""
        with self._maintenance_lock, self._write_lock, self._state:
            self._pauses.note_failure()
            if self._index is not None:
                self._set_aside, self._index = self._index, None
            if not self._closed:
                self.degraded_reason = WENT_WRONG
                self._missed.end()
                self._enter(Phase.WANTED)

    # Inside ------------------------------------------------------------------------------------

    def _write(self, write: Callable[[PrimaryIndex], None], note: Callable[[], None]) -> None:
        index = self._index
        if index is not None:
            try:
                write(index)
            except VectorIndexError as error:
                self.lay_aside(index, error.detail)
            return
        note()
        if self._phase is Phase.RESTING:
            self._mark_incomplete()
            self.awaken()

    def _is_settled(self) -> bool:
        return self._phase is not Phase.WANTED or not self._thread.is_alive()

    def _enter(self, phase: Phase) -> None:
        """The state lock is held."""
        self._phase = phase
        self._state.notify_all()

    def _require_open(self) -> None:
        if self._closed:
            raise VectorIndexError(CLOSED)

    def _mark_incomplete(self) -> None:
        try:
            self._store.mark_incomplete()
        except VectorIndexError as error:
            logger.warning("The %s index could not be marked: %s", self._store.name, error.detail)

    def _retire(self, reason: str) -> None:
        """Take the index out of service and close it."""
        with self._state:
            if self._index is not None:
                self._set_aside, self._index = self._index, None
                self.degraded_reason = reason
        self._close_set_aside()

    def _close_set_aside(self) -> None:
        index, self._set_aside = self._set_aside, None
        if index is not None:
            try:
                index.close()
            except VectorIndexError as error:
                logger.warning("The %s index did not close: %s", self._store.name, error.detail)
                self._mark_incomplete()  # who knows how its files were left


def _level_of(error: VectorIndexError) -> int:
    """Of a line about an index that is to be made; who deleted one that was there, others tell."""
    return logging.INFO if isinstance(error, NoVectorIndexError) else logging.WARNING
