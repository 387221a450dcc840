"""Finds the moment for a switch: nothing is being indexed, and nothing is missing."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

logger = logging.getLogger(__name__)

TURNS_SECONDS = ((60.0, 5.0), (60.0, 15.0), (120.0, 30.0), (300.0, 30.0))
"""Seconds of each turn: how long to wait for such a moment while runs may begin, then while
they are held back; the last turn is repeated. Runs of seconds that follow each other without a
pause leave no moment by themselves, but end within such a hold. A run of minutes does not: so holds
are short enough for those who wait behind them, and become rarer the more of them were in vain.
While the missing documents become fewer by themselves, and are more than a hold could handle, no
run is held back: that would be in vain. If all runs had ended, and there was only too little time
to embed what they had stored, runs may go on for just as long as they were held back: otherwise a
client that keeps the model busy could stay ahead for ever."""

LOOKING_SECONDS = 2.0
"""How often to catch up, while runs go on, with what they have indexed."""

Result = TypeVar("Result")


class OutOfTimeError(Exception):
    """The work of a turn takes longer than the turn; it goes on in the next one."""


class PausableIndexing(Protocol):
    """Indexing that can be held; see Indexer."""

    def paused(self, timeout_seconds: float) -> AbstractContextManager[bool]:
        """Wait until nothing is being indexed, and let nothing begin during the block."""
        ...

    def beginning_nothing(self) -> AbstractContextManager[None]:
        """Keep new runs waiting during the block."""
        ...


class QuietMoments:
    """Waits for such moments, and holds runs back if indexing never pauses by itself."""

    def __init__(
        self,
        indexing: PausableIndexing,
        catch_up: Callable[[Callable[[], None]], None],
        is_complete: Callable[[], bool],
        *,
        count_missing: Callable[[], int],
        turns_seconds: Sequence[tuple[float, float]],
    ) -> None:
        """`catch_up` makes what is missing, most of it while runs go on.

        It is given what raises OutOfTimeError once a turn is over, to be called now and then.
        `count_missing` says how many documents that are. For `turns_seconds` see TURNS_SECONDS.
        """
        self._indexing = indexing
        self._catch_up = catch_up
        self._is_complete = is_complete
        self._count_missing = count_missing
        self._turns_seconds = turns_seconds
        self._is_behind = False
        """Whether indexing had paused, but catching up took longer than the turn."""
        self._ran_out_of_time = False
        """Whether something was still missing when the turn was over."""

    def take(self, act: Callable[[], Result]) -> Result:
        """Act at the first such moment, while nothing is indexed; returns the result."""
        turn = 0
        while True:
            open_seconds, held_seconds = self._turns_seconds[turn]
            if self._is_behind:
                open_seconds = min(open_seconds, held_seconds)
            started, missing = time.monotonic(), self._count_missing()
            done = self._within(open_seconds, act)
            if done is None and self._gets_on_alone(missing, started, held_seconds):
                continue
            if done is None:
                logger.info("New indexing waits up to %s s, so that a switch can be.", held_seconds)
                with self._indexing.beginning_nothing():
                    done = self._within(held_seconds, act)
            if done is not None:
                return done[0]
            turn = min(turn + 1, len(self._turns_seconds) - 1)

    def _gets_on_alone(self, missing: int, started: float, held_seconds: float) -> bool:
        """Whether less is missing than before without a hold, but still too much for one."""
        if not self._ran_out_of_time:
            return False
        left = self._count_missing()
        seconds_each = (time.monotonic() - started) / max(1, missing - left)
        gets_on = left < missing and left * seconds_each > held_seconds
        if gets_on:
            self._is_behind = False  # the next look is worth a whole turn
            logger.info("%d documents are missing before a switch can be.", left)
        return gets_on

    def _within(self, seconds: float, act: Callable[[], Result]) -> tuple[Result] | None:
        """Act if there is such a moment within the time; the result, in a tuple of its own."""
        self._ran_out_of_time = False
        ends = time.monotonic() + seconds

        def require_time() -> None:
            if time.monotonic() > ends:
                raise OutOfTimeError

        while True:
            try:
                self._catch_up(require_time)
            except OutOfTimeError:
                self._ran_out_of_time = True
                with self._indexing.paused(0) as has_ended:  # all that was being indexed
                    self._is_behind = has_ended
                return None
            left = max(0.0, ends - time.monotonic())
            with self._indexing.paused(min(LOOKING_SECONDS, left)) as is_quiet:
                if is_quiet and self._is_complete():  # nothing is embedded while others wait
                    return (act(),)
            if time.monotonic() > ends:
                self._is_behind = False
                return None
