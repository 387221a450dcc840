"""One piece of work an item at a time; whoever deletes an item can stop the work on it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.errors import ItemStoppedError


class StopSignal:
    """Set by whoever wants work to stop; checked by the work between two steps."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ask the work to stop."""
        self._stopped.set()

    def check(self) -> None:
        """Raise ItemStoppedError once somebody asked."""
        if self._stopped.is_set():
            raise ItemStoppedError(
                "Indexing was stopped: the item was deleted or removed from the index meanwhile."
            )


@dataclass
class _Claim:
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0
    signal: StopSignal | None = None


class ItemClaims:
    """Who works on which item."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: dict[int, _Claim] = {}

    @contextmanager
    def claim(self, item_id: int) -> Iterator[StopSignal]:
        """Wait until nobody else works on the item, then hold it for the block."""
        with self._lock:
            claim = self._claims.setdefault(item_id, _Claim())
            claim.waiting += 1
        try:
            with claim.lock:
                signal = StopSignal()
                claim.signal = signal
                try:
                    yield signal
                finally:
                    claim.signal = None
        finally:
            with self._lock:
                claim.waiting -= 1
                if not claim.waiting:
                    del self._claims[item_id]

    def stop(self, item_id: int) -> None:
        """Ask whoever holds the item now to stop; nothing happens when nobody does."""
        with self._lock:
            claim = self._claims.get(item_id)
        signal = claim.signal if claim else None
        if signal is not None:
            signal.stop()
