"""Runs an iterator ahead in a thread of its own, so that reading overlaps with computing."""

import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class _End:
    error: BaseException | None = None


class _Prefetch(Generic[Value]):
    """The thread and the queue between the two sides."""

    def __init__(self, values: Iterable[Value], depth: int) -> None:
        self._values = values
        self._queue: queue.Queue[Value | _End] = queue.Queue(maxsize=depth)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="prefetch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for value in self._values:
                if not self._put(value):
                    return
            end = _End()
        except BaseException as error:  # noqa: BLE001, raised again on the other side
            end = _End(error)
        self._put(end)

    def _put(self, value: Value | _End) -> bool:
        """Hand over a value; False once the other side has gone."""
        while not self._closed.is_set():
            try:
                self._queue.put(value, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def __iter__(self) -> Iterator[Value]:
        while not isinstance(value := self._queue.get(), _End):
            yield value
        if value.error is not None:
            raise value.error

    def close(self) -> None:
        """Stop the thread and wait for it."""
        self._closed.set()
        self._thread.join()


@contextmanager
def prefetched(values: Iterable[Value], depth: int) -> Iterator[Iterator[Value]]:
    """Iterate over the values while up to `depth` further ones are made in another thread.

    An exception of the iterator is raised where its next value would have come. Leaving the
    block stops the thread after the value that it is making.
    """
    prefetch = _Prefetch(values, depth)
    try:
        yield iter(prefetch)
    finally:
        prefetch.close()
