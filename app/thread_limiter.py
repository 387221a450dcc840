"""Limits how many blocking calls run at a time, whatever event loops wait for them."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from app.errors import OverloadedError

Result = TypeVar("Result")


class _Call(Generic[Result]):
    """A call that waits for a thread, which finds nothing of it once its caller has left."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call: Callable[[], Result] | None = call

    def __call__(self) -> Result:
        call = self._call
        if call is None:
            raise CancelledError
        try:
            return call()
        except StopIteration as error:  # which no future takes
            raise RuntimeError("The call raised StopIteration.") from error

    def forget(self) -> None:
        """Let go of the call and of all that it refers to."""
        self._call = None


class ThreadLimiter:
    """Worker threads that make calls in the order in which they are asked for.

    Safe for many threads with an event loop each, as in a program that calls `asyncio.run` for
    every search. anyio's own limiters belong to one loop: waiters on another are never woken.

    A thread takes the next call by itself, without an event loop that would have to give it one:
    20 us of CPU a call for 8 clients instead of 61. The threads end once nothing refers to the
    limiter any more.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._threads = ThreadPoolExecutor(total)
        self._lock = threading.Lock()
        self._unfinished = 0

    @property
    def free(self) -> int:
        """How many threads have no call."""
        return max(self._total - self._unfinished, 0)

    @property
    def waiting(self) -> int:
        """How many callers wait for a thread."""
        return max(self._unfinished - self._total, 0)

    async def run(self, call: Callable[[], Result]) -> Result:
        """Make the call on a thread once one is free; it keeps that until it is done.

        So it does where the caller stops waiting for it: a thread cannot be stopped. A call whose
        caller goes away before its turn is not made. Raises OverloadedError where the system gives
        no thread.
        """
        made = _Call(functools.partial(contextvars.copy_context().run, call))
        del call  # the traceback of a cancellation keeps this frame
        with self._lock:
            self._unfinished += 1
        try:
            answer = self._threads.submit(made)
        except RuntimeError as error:
            self._finished(made)
            raise OverloadedError(f"No thread could be started ({error}); try again.") from error
        answer.add_done_callback(lambda _: self._finished(made))
        return await asyncio.wrap_future(answer)

    def _finished(self, made: _Call[Any]) -> None:
        made.forget()  # what its caller has left stands in the queue until a thread comes to it
        with self._lock:
            self._unfinished -= 1
