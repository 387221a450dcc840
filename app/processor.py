"""What this process may use of the processor."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class UnderWay:
    """Counts what is under way: what is alone may use a second core. Safe from many threads."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    @property
    def is_any(self) -> bool:
        """Whether anything is under way."""
        return self._count > 0

    @property
    def is_alone(self) -> bool:
        """Whether no other than the one that asks is under way."""
        return self._count <= 1

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Be under way until the block ends."""
        with self._lock:
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1
