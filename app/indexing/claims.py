"""One piece of work an item at a time; whoever deletes an item can stop the work on it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.errors import AppError, ItemStoppedError, UnavailableError


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


@dataclass
class _Claim:
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0
    signal: StopSignal | None = None


class ItemClaims:
    """Who works on which item."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._claims: dict[int, _Claim] = {}
        self._closed = False

    @contextmanager
    def claim(self, item_id: int) -> Iterator[StopSignal]:
        """Wait until nobody else works on the item, then hold it for the block."""
        with self._lock:
            claim = self._claims.setdefault(item_id, _Claim())
            claim.waiting += 1
        try:
            with claim.lock:
                signal = claim.signal = StopSignal()
                if self._closed:
                    raise _service_stopping()
                try:
                    yield signal
                finally:
                    claim.signal = None
        finally:
            with self._lock:
                claim.waiting -= 1
                if not claim.waiting:
                    del self._claims[item_id]
                    self._lock.notify_all()

    def stop(self, item_id: int) -> None:
        """Ask whoever holds the item now to stop; nothing happens when nobody does."""
        with self._lock:
            claim = self._claims.get(item_id)
        signal = claim.signal if claim else None
        if signal is not None:
            signal.stop(
                ItemStoppedError(
                    "Indexing was stopped: the item was deleted or removed from the index."
                )
            )

    def stop_all(self) -> None:
        """Ask all work to stop, and let none begin any more."""
        with self._lock:
            self._closed = True
            for claim in self._claims.values():
                if claim.signal is not None:
                    claim.signal.stop(_service_stopping())

    def close(self) -> None:
        """Stop all work, let none begin, and wait until the last has ended."""
        self.stop_all()
        with self._lock:
            self._lock.wait_for(lambda: not self._claims)


def _service_stopping() -> UnavailableError:
    return UnavailableError("The service is stopping; try again when it has restarted.")
