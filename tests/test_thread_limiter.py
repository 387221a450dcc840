"""Places on worker threads are shared by whatever event loops ask for them."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future

import anyio
import pytest

from app.errors import OverloadedError
from app.thread_limiter import ThreadLimiter
from tests.patience import PATIENCE_SECONDS, run_in_time


class Held:
    """A call that ends when it is let."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.gate = threading.Event()

    def __call__(self) -> str:
        self.reached.set()
        assert self.gate.wait(PATIENCE_SECONDS)
        return "held"


def asked_on_a_loop_of_its_own(limiter: ThreadLimiter, call: Callable[[], str]) -> Future[str]:
    """What the call gives, awaited in a thread that runs an event loop just for it."""
    answer: Future[str] = Future()
    ask = threading.Thread(
        target=lambda: answer.set_result(asyncio.run(limiter.run(call))), daemon=True
    )
    ask.start()
    return answer


def test_who_waits_on_another_event_loop_gets_the_place_that_becomes_free() -> None:
    limiter, held = ThreadLimiter(1), Held()
    first = asked_on_a_loop_of_its_own(limiter, held)
    assert held.reached.wait(PATIENCE_SECONDS)
    others = [asked_on_a_loop_of_its_own(limiter, lambda: "called") for _ in range(3)]
    while limiter.waiting < len(others):
        assert not any(other.done() for other in others)
    held.gate.set()
    assert first.result(PATIENCE_SECONDS) == "held"
    assert [other.result(PATIENCE_SECONDS) for other in others] == ["called"] * 3
    assert run_in_time(lambda: limiter.run(lambda: "afterwards")) == "afterwards"
    assert (limiter.free, limiter.waiting) == (1, 0)


def test_a_call_whose_caller_goes_away_while_it_waits_is_not_made() -> None:
    limiter, held, made = ThreadLimiter(1), Held(), list[str]()

    async def main() -> None:
        first = asyncio.create_task(limiter.run(held))
        going = asyncio.create_task(limiter.run(lambda: made.append("gone")))
        staying = asyncio.create_task(limiter.run(lambda: made.append("stayed")))
        await anyio.wait_all_tasks_blocked()
        assert limiter.waiting == 2
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert limiter.waiting == 1
        held.gate.set()
        await first
        await staying

    run_in_time(main)
    assert made == ["stayed"]
    assert (limiter.free, limiter.waiting) == (1, 0)


def test_a_call_for_which_no_thread_can_be_started_costs_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As under a limit on processes, which count threads."""
    limiter, made = ThreadLimiter(1), list[str]()

    def failing(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", failing)
            for _ in range(3):
                with pytest.raises(OverloadedError, match="can't start new thread"):
                    await limiter.run(lambda: made.append("too early"))
        assert (limiter.free, limiter.waiting) == (1, 0)
        assert await limiter.run(lambda: "called") == "called"
        assert not made

    run_in_time(main)


def test_what_nobody_waits_for_is_let_go_while_the_threads_are_busy() -> None:
    limiter, held = ThreadLimiter(1), Held()

    async def main() -> None:
        first = asyncio.create_task(limiter.run(held))
        next_one = Held()
        forgotten = weakref.ref(next_one)
        going = asyncio.create_task(limiter.run(next_one))
        del next_one
        await anyio.wait_all_tasks_blocked()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        del going
        gc.collect()
        assert forgotten() is None
        held.gate.set()
        await first

    run_in_time(main)


def test_a_call_that_raises_stop_iteration_does_not_keep_its_caller_waiting() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        run_in_time(lambda: ThreadLimiter(1).run(lambda: next(iter(()))))


def test_a_call_keeps_its_place_when_its_caller_goes_away_meanwhile() -> None:
    """Or as many calls would run at a time as callers lose patience."""
    limiter, held, next_one = ThreadLimiter(1), Held(), Held()

    async def main() -> None:
        going = asyncio.create_task(limiter.run(held))
        await asyncio.to_thread(held.reached.wait, PATIENCE_SECONDS)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        staying = asyncio.create_task(limiter.run(next_one))
        await anyio.wait_all_tasks_blocked()
        assert (limiter.free, limiter.waiting) == (0, 1)
        assert not next_one.reached.is_set()
        held.gate.set()
        next_one.gate.set()
        assert await staying == "held"

    run_in_time(main)
    assert (limiter.free, limiter.waiting) == (1, 0)
