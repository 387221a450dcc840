"""The threads that blocking calls run on, so that the event loop never blocks."""

from collections.abc import Callable
from typing import TypeVar

from app.errors import OverloadedError
from app.thread_limiter import ThreadLimiter

MOST_THREADS = 16
"""For searches whose queries are embedded elsewhere, which mostly wait, and for all other calls."""

LEAST_SEARCHES = 2
"""If queries are embedded here, as many searches run as there are cores, but no fewer than this:
one query is embedded while Python works on another. More would compete for the interpreter.
Measured on two cores with 100,000 passages and 8 clients, in turns: 111 to 122 searches a second
with 2 threads and 98 to 101 with 4, p95 82 to 92 and 108 to 112 ms."""

Result = TypeVar("Result")


def searches_at_once(cores: int, *, embedded_here: bool) -> int:
    """How many searches run in parallel if this process may use so many cores."""
    return min(MOST_THREADS, max(LEAST_SEARCHES, cores)) if embedded_here else MOST_THREADS


class WorkerThreads:
    """Threads for searches, and others for everything else: neither waits for the other.

    Several event loops may share them.
    """

    def __init__(self, searches_at_once: int, most_waiting_searches: int) -> None:
        self._searches_at_once = searches_at_once
        self._most_waiting_searches = most_waiting_searches
        self._searching = ThreadLimiter(searches_at_once)
        self._working = ThreadLimiter(MOST_THREADS)

    @property
    def waiting_searches(self) -> int:
        """How many searches wait for a thread."""
        return self._searching.waiting

    @property
    def searches_must_wait(self) -> bool:
        """Whether no thread is free for a search."""
        return not self._searching.free

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run a call other than a search once a thread is free."""
        return await self._working.run(call)

    async def search(self, call: Callable[[], Result]) -> Result:
        """Search once a thread is free; raises OverloadedError when too many wait for one."""
        waiting = self.waiting_searches
        if waiting >= self._most_waiting_searches and self.searches_must_wait:
            raise OverloadedError(
                f"{self._searches_at_once} searches run and {waiting} wait already; try again in a "
                "moment (MOST_WAITING_SEARCHES)."
            )
        return await self._searching.run(call)
