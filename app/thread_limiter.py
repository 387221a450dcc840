"""So many blocking calls at a time, on whatever event loops they are waited for."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.to_thread

Result = TypeVar("Result")


class ThreadLimiter:
    """Places on worker threads, given in the order in which they are asked for.

    Safe from many threads with an event loop each, as of a program that calls `asyncio.run` where
    it searches. anyio's limiters are of one loop: who waits on another is never woken.
    """

    def __init__(self, total: int) -> None:
        self._lock = threading.Lock()
        self._free = total
        self._waiting: deque[Future[None]] = deque()

    @property
    def free(self) -> int:
        """Places that nobody has."""
        return self._free

    @property
    def waiting(self) -> int:
        """Callers for whom there is none."""
        return len(self._waiting)

    async def run(self, call: Callable[[], Result]) -> Result:
        """Do it on a worker thread when there is a place, and keep the place until it is done."""
        place = self._asked_for()
        try:
            if not place.done():
                await asyncio.wrap_future(place)
            own = anyio.CapacityLimiter(1)  # the one of the loop is for others
            return await anyio.to_thread.run_sync(call, limiter=own)
        finally:
            self._given_up(place)

    def _asked_for(self) -> Future[None]:
        """A place, or the promise of one."""
        place: Future[None] = Future()
        with self._lock:
            if self._free:
                self._free -= 1
                place.set_result(None)
            else:
                self._waiting.append(place)
        return place

    def _given_up(self, place: Future[None]) -> None:
        """Pass the place on, unless whoever asked for it has gone before there was one."""
        with self._lock:
            with suppress(ValueError):
                self._waiting.remove(place)
            if place.cancel():
                return
            while self._waiting:
                following = self._waiting.popleft()
                if following.set_running_or_notify_cancel():
                    following.set_result(None)
                    return
            self._free += 1
