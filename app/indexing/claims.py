"""One piece of work an item at a time; whoever takes an item out stops the work on it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.errors import AppError, ItemStoppedError, StoppingError

WAITING_SECONDS = 0.5
"""How often somebody who waits for an item looks whether that is still wanted."""


class StopSignal:
    """Set by whoever wants work to stop; checked by the work between two steps."""

    def __init__(self) -> None:
        self._reason: AppError | None = None

    def stop(self, reason: AppError) -> None:
        """Ask the work to stop, for this reason."""
        self._reason = reason

    def check(self) -> None:
        """Raise the reason once somebody asked."""
        if self._reason is not None:
            raise self._reason


@dataclass(eq=False)
class _Turn:
    """A place in the line for an item."""

    is_removal: bool
    """Removals are not stopped by removals: what they want is the same."""
    signal: StopSignal = field(default_factory=StopSignal)
    has_begun: bool = False


class ItemClaims:
    """Who works on which item, and who waits for it: first come, first served.

    `on_freed` is called each time that nobody works on an item any more, and when runs may begin
    again after nobody might.
    """

    def __init__(self, on_freed: Callable[[], None] = lambda: None) -> None:
        self._on_freed = on_freed
        self._changed = threading.Condition()
        self._lines: dict[int, list[_Turn]] = {}
        """The first in a line holds the item."""
        self._closed = False
        self._holds = 0
        """How many want that nobody works on anything."""
        self._closed_doors = 0
        """How many want that no more runs begin."""

    @contextmanager
    def claim(
        self, item_id: int, while_waiting: Callable[[], None] = lambda: None
    ) -> Iterator[StopSignal]:
        """Wait until nobody else works on the item, then hold it for the block.

        `while_waiting` is called now and then meanwhile; what it raises ends the waiting. Raises
        ItemStoppedError when the item is taken out before its turn comes.
        """
        with self._turn(item_id, _Turn(is_removal=False), while_waiting) as turn:
            yield turn.signal

    @contextmanager
    def take_over(self, item_id: int) -> Iterator[None]:
        """Stop all who work on the item or wait for it, then hold it for the block.

        Who began to wait meanwhile is stopped as well, unless the block raises.
        """
        self.stop(item_id)
        with self._turn(item_id, _Turn(is_removal=True), lambda: None):
            yield
            self.stop(item_id)

    @contextmanager
    def hold_all(self, timeout_seconds: float | None = None) -> Iterator[bool]:
        """Wait until nobody works on any item, and let nobody begin during the block.

        Gives whether that is so: False, and nothing is held, when the time is over. Nobody else
        waits while this waits: one run may take hours. Raises UnavailableError when everything is
        closed meanwhile.
        """
        is_held = self._hold_when_idle(timeout_seconds)
        try:
            yield is_held
        finally:
            if is_held:
                with self._changed:
                    self._holds -= 1
                self._tell_if_open()

    @contextmanager
    def close_door(self) -> Iterator[None]:
        """Let no run begin during the block; who comes waits. What has begun goes on.

        Removals go in: somebody waits for them, and they are short.
        """
        with self._changed:
            self._closed_doors += 1
        try:
            yield
        finally:
            with self._changed:
                self._closed_doors -= 1
            self._tell_if_open()

    def stop(self, item_id: int) -> None:
        """Ask whoever holds the item or waits for it now to stop."""
        self.stopper(item_id)()

    def stopper(self, item_id: int) -> Callable[[], None]:
        """Asks whoever holds the item or waits for it now to stop, when it is called."""
        with self._changed:
            runs = [turn for turn in self._lines.get(item_id, ()) if not turn.is_removal]

        def stop() -> None:
            reason = "Indexing was stopped: the item was deleted or removed from the index."
            with self._changed:
                for turn in runs:
                    turn.signal.stop(ItemStoppedError(reason))
                self._changed.notify_all()

        return stop

    def items_in_use(self) -> frozenset[int]:
        """The items that somebody works on."""
        with self._changed:
            return frozenset(self._lines)

    def runs_may_begin(self) -> bool:
        """Whether a run that began now would not have to wait, whatever it works on."""
        with self._changed:
            return not self._closed_doors and not self._holds

    def stop_all(self) -> None:
        """Ask all work to stop, and let none begin any more."""
        with self._changed:
            self._closed = True
            for line in self._lines.values():
                for turn in line:
                    turn.signal.stop(StoppingError())
            self._changed.notify_all()

    def close(self) -> None:
        """Stop all work, let none begin, and wait until the last has ended."""
        self.stop_all()
        with self._changed:
            self._changed.wait_for(lambda: not self._lines)

    @contextmanager
    def _turn(
        self, item_id: int, turn: _Turn, while_waiting: Callable[[], None]
    ) -> Iterator[_Turn]:
        """Stand in line until it is this one's turn, and leave the line in the end."""
        with self._changed:
            if self._closed:
                raise StoppingError
            line = self._lines.setdefault(item_id, [])
            line.append(turn)
        try:
            while not self._has_come(turn, line):
                while_waiting()
            yield turn
        finally:
            with self._changed:
                line.remove(turn)
                if not line:
                    del self._lines[item_id]
                self._changed.notify_all()
            if not line:
                self._on_freed()

    def _has_come(self, turn: _Turn, line: list[_Turn]) -> bool:
        """Wait a moment for the turn; raises what the turn was stopped for."""
        with self._changed:
            turn.signal.check()
            if not self._may_begin(turn, line):
                self._changed.wait(WAITING_SECONDS)
                turn.signal.check()
            turn.has_begun = self._may_begin(turn, line)
            return turn.has_begun

    def _tell_if_open(self) -> None:
        with self._changed:
            self._changed.notify_all()
        if self.runs_may_begin():
            self._on_freed()

    def _hold_when_idle(self, timeout_seconds: float | None) -> bool:
        with self._changed:
            is_idle = self._changed.wait_for(
                lambda: self._closed or not self._working(), timeout_seconds
            )
            if self._closed:
                raise StoppingError
            if is_idle:
                self._holds += 1
            return is_idle

    def _may_begin(self, turn: _Turn, line: list[_Turn]) -> bool:
        is_let_in = turn.is_removal or not self._closed_doors
        return line[0] is turn and is_let_in and not self._holds

    def _working(self) -> bool:
        return any(line[0].has_begun for line in self._lines.values())
