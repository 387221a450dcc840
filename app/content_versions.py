"""Tells searches when new versions of documents become visible, and lets them delay the next."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_WAIT_SECONDS = 10.0
"""How long each side waits for the other before it goes on; the number then tells the search."""


class ContentVersions:
    """Shared by one publisher and many searches.

    A search that finds the number changed since it began may have seen neither the old nor the new
    version of a document, and has to ask again. A search to which that happens repeatedly keeps the
    next version waiting until it is done (`kept`). A version that waits admits no further searches
    of that kind, and all that waited for it to end begin before the next version does. So both
    sides make progress, even if the publisher never pauses.

    They cannot deadlock: while the publisher waits for searches to begin, no change holds them
    back; and the searches whose end it waits for have begun.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._number = 0
        self._keepers = 0
        """How many searches keep the next version waiting."""
        self._waiting = 0
        """How many searches wait for a change to end, or have yet to notice that it has."""
        self._changing = False

    @property
    def number(self) -> int:
        """Changes each time, after new chunks went into the indexes and before SQL shows them."""
        return self._number

    @contextmanager
    def changing(self) -> Iterator[None]:
        """In the block, SQL comes to show a new version. For one thread at a time."""
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
        """In the block, no new version becomes visible, unless it takes too long."""
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
