"""Runs an iterator ahead in a thread of its own, so that reading overlaps with computing."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Value = TypeVar("Value")


class _Prefetch(Generic[Value]):
    """The thread, and what it has made and nobody has taken yet."""

    def __init__(
        self,
        values: Iterable[Value],
        most_values: int,
        weigh: Callable[[Value], int],
        most_weight: int,
    ) -> None:
        self._values = values
        self._most_values = most_values
        self._weigh = weigh
        self._most_weight = most_weight
        self._made: deque[tuple[Value, int]] = deque()
        self._weight = 0
        self._ended = False
        self._closed = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="prefetch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        error = None
        try:
            for value in self._values:
                if not self._put(value, self._weigh(value)):
                    break
        except BaseException as raised:  # noqa: BLE001, raised again on the other side
            error = raised
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def _put(self, value: Value, weight: int) -> bool:
        """Hand over a value when there is room; False once the other side has gone."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._has_room(weight))
            self._made.append((value, weight))
            self._weight += weight
            self._changed.notify_all()
            return not self._closed

    def _has_room(self, weight: int) -> bool:
        fits = len(self._made) < self._most_values and self._weight + weight <= self._most_weight
        return fits or not self._made

    def __iter__(self) -> Iterator[Value]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._made or self._ended)
                if not self._made:
                    break
                value, weight = self._made.popleft()
                self._weight -= weight
                self._changed.notify_all()
            yield value
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Stop the thread and wait for it."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()


@contextmanager
def prefetched(
    values: Iterable[Value],
    most_values: int,
    *,
    weigh: Callable[[Value], int] = lambda _value: 0,
    most_weight: int = 0,
) -> Iterator[Iterator[Value]]:
    """Iterate over the values while further ones are made in another thread.

    It stays ahead by `most_values` values, or by a weight of `most_weight`, and by one value if
    that alone weighs more. An exception of the iterator is raised where its next value would have
    come. Leaving the block stops the thread after the value that it is making.
    """
    prefetch = _Prefetch(values, most_values, weigh, most_weight)
    try:
        yield iter(prefetch)
    finally:
        prefetch.close()
