"""How soon after one another an item is indexed because its files change."""

FIRST_SECONDS = 0.5
"""Least time between two jobs of an item."""

BURST = 20
"""After so many jobs without a rest, the pause doubles with each further one …"""

LONGEST_SECONDS = 60.0
"""… up to this. A log that somebody writes into all day is read once a minute."""


class ItemPauses:
    """Remembers when items were indexed last; times are seconds of any steady clock."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, float, int]] = {}
        """By item: when a job was added, the pause that follows, and the jobs without a rest."""

    def seconds_left(self, item_id: int, moment: float) -> float:
        """How long an item has to wait; 0 when it may be indexed now."""
        if item_id not in self._last:
            return 0.0
        last, pause, _ = self._last[item_id]
        return max(0.0, last + pause - moment)

    def note(self, item_id: int, moment: float) -> None:
        """A job has been added to index the item."""
        last, pause, without_rest = self._last.get(item_id, (float("-inf"), FIRST_SECONDS, 0))
        elapsed = moment - last
        if elapsed > 4 * pause:
            pause, without_rest = FIRST_SECONDS, 0
        elif elapsed < 2 * pause:
            without_rest += 1
            if without_rest > BURST:
                pause = min(2 * pause, LONGEST_SECONDS)
        self._last[item_id] = (moment, pause, without_rest)

    def forget(self, item_id: int) -> None:
        """The item is not watched any more."""
        self._last.pop(item_id, None)
