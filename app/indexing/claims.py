"""Lets one piece of work at a time hold an item; taking the item out stops the work on it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.errors import AppError, ItemStoppedError, StoppingError

WAITING_SECONDS = 0.5
"""How often whoever waits for an item checks whether it is still to wait."""


class StopSignal:
    """Set by whoever wants the work to stop; checked by the work between two steps."""

    def __init__(self) -> None:
        self._reason: AppError | None = None

    def stop(self, reason: AppError) -> None:
        """Ask the work to stop, for this reason."""
        self._reason = reason

    def check(self) -> None:
        """Raise the reason, once the work was asked to stop."""
        if self._reason is not None:
            raise self._reason


@dataclass(eq=False)
class _Turn:
    """A place in the line for an item."""

    is_removal: bool
    """A removal does not stop other removals: they want the same."""
    signal: StopSignal = field(default_factory=StopSignal)
    has_begun: bool = False


class ItemClaims:
    """Who works on which item, and who waits for it: first come, first served.

    `on_freed` is called whenever an item is no longer worked on, and whenever runs may begin again
    after they were held back.
    """

    def __init__(self, on_freed: Callable[[], None] = lambda: None) -> None:
        self._on_freed = on_freed
        self._changed = threading.Condition()
        self._lines: dict[int, list[_Turn]] = {}
        """By item id; the first in a line holds the item."""
        self._closed = False
        self._holds = 0
        """How many blocks of `hold_all` are open."""
        self._closed_doors = 0
        """How many blocks of `close_door` are open."""

    @contextmanager
    def claim(
        self, item_id: int, while_waiting: Callable[[], None] = lambda: None
    ) -> Iterator[StopSignal]:
        """Wait until nobody else works on the item, then hold it for the block.

        `while_waiting` is called now and then until then; what it raises ends the waiting. Raises
        ItemStoppedError when the item is taken out before its turn comes.
        """
        with self._turn(item_id, _Turn(is_removal=False), while_waiting) as turn:
            yield turn.signal

    @contextmanager
    def take_over(self, item_id: int) -> Iterator[None]:
        """Stop all runs that work on the item or wait for it, then hold it for the block.

        Runs that begin to wait during the block are stopped as well, unless it raises.
        """
        self.stop(item_id)
        with self._turn(item_id, _Turn(is_removal=True), lambda: None):
            yield
            self.stop(item_id)

    @contextmanager
    def hold_all(self, timeout_seconds: float | None = None) -> Iterator[bool]:
        """Wait until no item is worked on, and let no work begin during the block.

        Gives False, and holds nothing, when the time runs out first. While this waits, other work
        may still begin, since one run may take hours. Raises StoppingError when the claims are
        closed in the meantime.
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
        """Let no run begin during the block: new ones wait, those that have begun go on.

        Removals may still begin: a client waits for them, and they are short.
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
        """Ask the runs that hold the item now, or wait for it, to stop."""
        self.stopper(item_id)()

    def stopper(self, item_id: int) -> Callable[[], None]:
        """What asks the runs that hold the item now, or wait for it, to stop when it is called."""
        with self._changed:
            runs = [turn for turn in self._lines.get(item_id, ()) if not turn.is_removal]

        def stop() -> None:
            with self._changed:
                for turn in runs:
                    turn.signal.stop(ItemStoppedError())
                self._changed.notify_all()

        return stop

    def items_in_use(self) -> frozenset[int]:
        """The items that are worked on or waited for."""
        with self._changed:
            return frozenset(self._lines)

    def runs_may_begin(self) -> bool:
        """Whether runs may begin at all: neither `hold_all` nor `close_door` holds them back."""
        with self._changed:
            return not self._closed_doors and not self._holds

    def stop_all(self) -> None:
        """Ask all work to stop, and let no more begin."""
        with self._changed:
            self._closed = True
            for line in self._lines.values():
                for turn in line:
                    turn.signal.stop(StoppingError())
            self._changed.notify_all()

    def close(self) -> None:
        """Stop all work, let no more begin, and wait until the last has ended."""
        self.stop_all()
        with self._changed:
            self._changed.wait_for(lambda: not self._lines)

    @contextmanager
    def _turn(
        self, item_id: int, turn: _Turn, while_waiting: Callable[[], None]
    ) -> Iterator[_Turn]:
        """Wait in line for the turn, hold it for the block, then leave the line."""
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
        """Wait a moment for the turn; returns whether it has come. Raises why it was stopped."""
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
