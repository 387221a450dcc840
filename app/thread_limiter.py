"""Limits how many blocking calls run at a time, whatever event loops wait for them."""

import asyncio
import functools
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

Result = TypeVar("Result")


class _Turn(Generic[Result]):
    """A call with a place, which is given up once: by its caller, or by a thread left alone.

    `asyncio.timeout` and whatever else cancels a task end the waiting for a thread, not the thread.
    """

    def __init__(self, call: Callable[[], Result], give_up: Callable[[], None]) -> None:
        self._call = call
        self._give_up = give_up
        self._lock = threading.Lock()
        self._is_running = False
        self._left = threading.Event()

    def take(self) -> Result:
        """Make the call, on its thread; raises CancelledError if its caller has left."""
        with self._lock:
            if self._left.is_set():
                raise CancelledError
            self._is_running = True
        try:
            return self._call()
        finally:
            with self._lock:
                self._is_running = False
                is_alone = self._left.is_set()
            if is_alone:
                self._give_up()

    def leave(self) -> None:
        """The caller waits no more, with the result or without."""
        with self._lock:
            self._left.set()
            is_running = self._is_running
        if not is_running:
            self._give_up()


class ThreadLimiter:
    """Places on worker threads, given out in the order in which they are asked for.

    Safe for many threads with an event loop each, as in a program that calls `asyncio.run` for
    every search. anyio's own limiters belong to one loop: waiters on another are never woken.
    """

    def __init__(self, total: int) -> None:
        self._lock = threading.Lock()
        self._free = total
        self._waiting: deque[Future[None]] = deque()

    @property
    def free(self) -> int:
        """How many places are free."""
        return self._free

    @property
    def waiting(self) -> int:
        """How many callers wait for a place."""
        return len(self._waiting)

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run the call on a worker thread once there is a place; it keeps that until it is done.

        So it does where the caller stops waiting for it: a thread cannot be stopped.
        """
        place = self._asked_for()
        turn = _Turn(call, functools.partial(self._given_up, place))
        try:
            if not place.done():
                await asyncio.wrap_future(place)
            own = anyio.CapacityLimiter(1)  # the loop's default one is for other calls
            return await anyio.to_thread.run_sync(turn.take, limiter=own)
        finally:
            turn.leave()

    def _asked_for(self) -> Future[None]:
        """A place: a future that is done once the caller has it."""
        place: Future[None] = Future()
        with self._lock:
            if self._free:
                self._free -= 1
                place.set_result(None)
            else:
                self._waiting.append(place)
        return place

    def _given_up(self, place: Future[None]) -> None:
        """Pass the place on, unless the caller went away before it got one."""
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
