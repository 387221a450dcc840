"""Says when new versions of documents become visible, and lets a search keep the next waiting."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_WAIT_SECONDS = 10.0
"""So long each side waits for the other; then it goes on, and the number tells the search so."""


class ContentVersions:
    """Shared by one publisher and many searches.

    A search that finds the number changed since it began may have seen neither the old nor the new
    version of a document, and has to ask again. One to which that happens again and again keeps the
    next version waiting until it is done. A version that waits lets nobody else keep it waiting,
    and all who waited for its end begin before the next one does. So both sides get on, also where
    the publisher makes no pause.

    They never wait for each other: while the publisher waits for searches to begin, no change keeps
    these from it; and the searches whose end it waits for have begun.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._number = 0
        self._keepers = 0
        """Searches that keep the next version waiting now."""
        self._waiting = 0
        """Searches that wait for a change to end, or have not noticed yet that it has."""
        self._changing = False

    @property
    def number(self) -> int:
        """Changes after new chunks are in the indexes and before SQL shows them."""
        return self._number

    @contextmanager
    def changing(self) -> Iterator[None]:
        """SQL comes to show a new version within the block. For one thread at a time."""
        with self._condition:
            self._condition.wait_for(lambda: not self._waiting, LONGEST_WAIT_SECONDS)
            self._changing = True
            self._condition.wait_for(lambda: not self._keepers, LONGEST_WAIT_SECONDS)
            self._number += 1
        try:
            yield
        finally:
            with self._condition:
                self._changing = False
                self._condition.notify_all()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """No new version becomes visible within the block, unless that takes too long."""
        with self._condition:
            self._wait_for_an_end()
            self._keepers += 1
        try:
            yield
        finally:
            with self._condition:
                self._keepers -= 1
                self._condition.notify_all()

    def _wait_for_an_end(self) -> None:
        if not self._changing:
            return
        self._waiting += 1
        try:
            self._condition.wait_for(lambda: not self._changing, LONGEST_WAIT_SECONDS)
        finally:
            self._waiting -= 1
            self._condition.notify_all()
