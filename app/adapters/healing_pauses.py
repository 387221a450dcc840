"""How soon an index that failed is repaired: after failed tries, and after short-lived repairs."""

import time
from collections.abc import Callable, Sequence

from app.errors import AppError, DatabaseUnavailableError

HEALING_PAUSES_SECONDS = (0.0, 1.0, 10.0, 60.0, 300.0)
"""Pause before each try after as many that failed one after the other."""
BRIEF_PAUSES_SECONDS = HEALING_PAUSES_SECONDS[:2]
"""Those of a command, for which somebody waits."""
RETRY_SECONDS = 600.0
"""After that it counts as given up: nobody waits for it, and it is tried again only so often."""
DATABASE_SECONDS = 10.0
"""The longest of both after a try that failed only because the database was away."""
HEALED_AFTER_SECONDS = 600.0
"""An index that held so long after its repair is repaired at once when it fails again."""
LONGEST_REPAIR_PAUSE_SECONDS = 300.0
"""However often it fails soon after its repair, the next one begins after this."""


class HealingPauses:
    """Counts tries that failed, and repairs that did not last. Times are seconds of `clock`.

    The first repair that follows another closely waits as long as that one took, each further one
    twice as long as the one before: an index that is damaged over and over takes an ever smaller
    part of the processor, and one that is made anew in a moment hardly waits.
    """

    def __init__(
        self,
        pauses_seconds: Sequence[float] = HEALING_PAUSES_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._retry_seconds = retry_seconds
        self._pauses_seconds = pauses_seconds
        self._clock = clock
        self._failures = 0
        self._database_was_away = False
        self.failure_is_news = True
        """Whether the failure noted last is not just that the database is still away."""
        self._repairs = 0
        self._began_at = clock()
        self._healed_at = float("-inf")
        self._repair_seconds = 0.0

    def be_brief(self) -> None:
        """From now on give up early, as somebody waits for what becomes of the index."""
        self._pauses_seconds = BRIEF_PAUSES_SECONDS

    @property
    def given_up(self) -> bool:
        """Whether so many tries failed that the next one is far off."""
        return self._failures >= len(self._pauses_seconds)

    @property
    def retry_seconds(self) -> float:
        """How often an index that was given up is tried again."""
        return self._bounded(self._retry_seconds)

    @property
    def retry_is_due(self) -> bool:
        """Whether an index that was given up is to be tried again."""
        return self.given_up and self._clock() - self._began_at >= self.retry_seconds

    def before_try(self) -> float:
        """Seconds to wait before the next try of an index that is not given up."""
        if self._clock() - self._healed_at > HEALED_AFTER_SECONDS:
            self._repairs = 0
        after_repairs = self._repair_seconds * 2.0 ** min(self._repairs - 1, 30)
        waiting = min(after_repairs, LONGEST_REPAIR_PAUSE_SECONDS) if self._repairs else 0.0
        return max(self._bounded(self._pauses_seconds[self._failures]), waiting)

    def note_try(self) -> None:
        """A try begins."""
        self._began_at = self._clock()

    def note_failure(self, error: AppError | None = None) -> None:
        """The try that began last failed, with this error if it was one of ours."""
        was_away = self._database_was_away
        self._failures += 1
        self._database_was_away = isinstance(error, DatabaseUnavailableError)
        self.failure_is_news = not (was_away and self._database_was_away)

    def note_repair(self) -> None:
        """The try that began last has repaired the index."""
        self._healed_at = self._clock()
        self._repair_seconds = self._healed_at - self._began_at
        self._repairs += 1
        self.forget_failures()

    def forget_failures(self) -> None:
        """The index is sound, or somebody has it rebuilt: what failed before says nothing now."""
        self._failures = 0
        self._database_was_away = False

    def _bounded(self, seconds: float) -> float:
        return min(seconds, DATABASE_SECONDS) if self._database_was_away else seconds
