"""The threads that blocking calls run on, so that the event loop never waits."""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from app.errors import OverloadedError

SEARCH_THREADS = 16
"""Searches that run side by side; further ones wait their turn, up to `most_waiting_searches`."""

Result = TypeVar("Result")


class WorkerThreads:
    """Threads for searches, and as many for everything else: neither waits for the other."""

    def __init__(self, most_waiting_searches: int) -> None:
        self._most_waiting_searches = most_waiting_searches
        self._searching = anyio.CapacityLimiter(SEARCH_THREADS)
        self._working = anyio.CapacityLimiter(SEARCH_THREADS)

    @property
    def waiting_searches(self) -> int:
        """Searches for which no thread is free."""
        return self._searching.statistics().tasks_waiting

    async def run(self, call: Callable[[], Result]) -> Result:
        """Do what is no search when a thread is free."""
        return await anyio.to_thread.run_sync(call, limiter=self._working)

    async def search(self, call: Callable[[], Result]) -> Result:
        """Search when a thread is free; raises OverloadedError when too many wait for one."""
        waiting = self.waiting_searches
        if waiting >= self._most_waiting_searches and not self._searching.available_tokens:
            raise OverloadedError(
                f"{SEARCH_THREADS} searches run and {waiting} wait already; try again in a moment "
                "(MOST_WAITING_SEARCHES)."
            )
        return await anyio.to_thread.run_sync(call, limiter=self._searching)
