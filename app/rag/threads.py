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

LONG_QUERY_CHARACTERS = 1000
"""A longer query may fill several windows of the model, 8,000 Chinese characters 32 of them, which
are embedded one after the other. Long ones have threads of their own: no short one waits for
them."""

Result = TypeVar("Result")


def searches_at_once(cores: int, *, embedded_here: bool) -> int:
    """How many searches, long ones aside, run in parallel if this process may use so many cores."""
    return min(MOST_THREADS, max(LEAST_SEARCHES, cores)) if embedded_here else MOST_THREADS


class WorkerThreads:
    """Threads for searches, others for long ones, and others for everything else.

    None of them waits for another kind. Several event loops may share them.
    """

    def __init__(self, searches_at_once: int, most_waiting_searches: int) -> None:
        self._most_waiting_searches = most_waiting_searches
        self._searching = ThreadLimiter(searches_at_once)
        self._searching_long = ThreadLimiter(max(searches_at_once // 2, 1))
        self._working = ThreadLimiter(MOST_THREADS)

    def must_wait(self, query: str) -> bool:
        """Whether no thread is free for a search for this query."""
        return not self._threads_for(query).free

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run a call other than a search once a thread is free."""
        return await self._working.run(call)

    async def search(self, query: str, call: Callable[[], Result]) -> Result:
        """Search for the query once a thread is free.

        Raises OverloadedError when too many wait for one.
        """
        limiter = self._threads_for(query)
        waiting = limiter.waiting
        if waiting >= self._most_waiting_searches and not limiter.free:
            raise OverloadedError(
                f"{waiting} searches wait already; try again in a moment (MOST_WAITING_SEARCHES)."
            )
        return await limiter.run(call)

    def _threads_for(self, query: str) -> ThreadLimiter:
        return self._searching_long if len(query) > LONG_QUERY_CHARACTERS else self._searching
