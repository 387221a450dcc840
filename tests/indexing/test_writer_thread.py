"""The writer's thread ends all that it took, and takes nothing once it is closed."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress

import pytest

from app.errors import UnavailableError
from app.indexing.writer_thread import WriterThread
from tests.panics import panic
from tests.patience import PATIENCE_SECONDS

ROUNDS = 50


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_what_is_handed_in_as_it_closes_is_refused_or_done_and_never_awaited_for_ever() -> None:
    for _ in range(ROUNDS):
        assert all(future.done() for future in _handed_in_while_it_closes())


def test_a_panic_in_rust_ends_no_thread() -> None:
    writer = WriterThread("writer")
    writer.add(panic)
    after = writer.submit(lambda: "done")
    writer.start()
    assert after.result(PATIENCE_SECONDS) == "done"
    writer.close()


def _handed_in_while_it_closes() -> "list[Future[int]]":
    writer = WriterThread("writer")
    writer.start()
    accepted = [writer.submit(lambda: 0)]
    has_begun = threading.Event()

    def hand_in() -> None:
        with suppress(UnavailableError):
            while True:
                accepted.append(writer.submit(lambda: 1))
                has_begun.set()

    thread = threading.Thread(target=hand_in)
    thread.start()
    assert has_begun.wait(30)
    writer.close()
    thread.join()
    return accepted
