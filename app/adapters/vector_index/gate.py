"""A gate that many operations pass together, and that one may have to itself."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from app.adapters.vector_index.status import CLOSED
from app.errors import VectorIndexError


class Gate:
    """Lets an index be replaced or closed only while nobody is working in it."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._inside = 0
        self._taken = False
        self._closed = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Pass with others; waits while the gate is taken. VectorIndexError once it is closed."""
        with self._condition:
            self._condition.wait_for(lambda: not self._taken)
            if self._closed:
                raise VectorIndexError(CLOSED)
            self._inside += 1
        try:
            yield
        finally:
            with self._condition:
                self._inside -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Keep the others out until the block ends; gives False when the gate was closed before."""
        with self._condition:
            self._condition.wait_for(lambda: not self._taken)
            self._taken = True
            self._condition.wait_for(lambda: self._inside == 0)
        try:
            yield not self._closed
        finally:
            with self._condition:
                self._taken = False
                self._condition.notify_all()

    def close(self) -> None:
        """Let nobody pass any more; called by who is alone in it."""
        self._closed = True
