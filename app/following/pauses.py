"""How soon after one another an item is indexed because its files change."""

FIRST_SECONDS = 1.0
"""Least time between two jobs of an item; it doubles while its files change all the time …"""

LONGEST_SECONDS = 60.0
"""… up to this. A log that somebody writes into all day is read once a minute."""


class ItemPauses:
    """Remembers when items were indexed last; times are seconds of any steady clock."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, float]] = {}
        """By item: when a job was added, and the pause that follows."""

    def seconds_left(self, item_id: int, moment: float) -> float:
        """How long an item has to wait; 0 when it may be indexed now."""
        if item_id not in self._last:
            return 0.0
        last, pause = self._last[item_id]
        return max(0.0, last + pause - moment)

    def note(self, item_id: int, moment: float) -> None:
        """The item is indexed now."""
        last, pause = self._last.get(item_id, (float("-inf"), FIRST_SECONDS))
        elapsed = moment - last
        if elapsed < 2 * pause:
            pause = min(2 * pause, LONGEST_SECONDS)
        elif elapsed > 4 * pause:
            pause = FIRST_SECONDS
        self._last[item_id] = (moment, pause)

    def forget(self, item_id: int) -> None:
        """The item is not watched any more."""
        self._last.pop(item_id, None)
