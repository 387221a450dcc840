"""What is exchanged is closed only when nobody uses it."""

import threading
from dataclasses import dataclass

import pytest

from app.errors import StorageError
from app.generations.in_use import InUse


@dataclass(eq=False)
class Parts:
    name: str
    searcher: None = None
    context: None = None


def test_a_borrower_keeps_what_it_has_and_the_next_gets_the_new():
    old, new = Parts("old"), Parts("new")
    in_use = InUse(old)
    with in_use.borrowed() as borrowed:
        assert in_use.exchange(new) is old
        assert borrowed is old
        assert in_use.current is new
        with in_use.borrowed() as second:
            assert second is new
        assert not in_use.wait_until_unused(old, timeout_seconds=0)
        assert in_use.wait_until_unused(new, timeout_seconds=0)
    assert in_use.wait_until_unused(old, timeout_seconds=0)


def test_waiting_ends_with_the_last_borrower():
    old = Parts("old")
    in_use = InUse(old)
    inside, leave = threading.Event(), threading.Event()

    def borrow() -> None:
        with in_use.borrowed():
            inside.set()
            assert leave.wait(10)

    threads = [threading.Thread(target=borrow) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert inside.wait(10)
    in_use.exchange(Parts("new"))
    assert not in_use.wait_until_unused(old, timeout_seconds=0)
    leave.set()
    assert in_use.wait_until_unused(old, timeout_seconds=10)
    for thread in threads:
        thread.join()


def test_who_was_overtaken_by_an_exchange_is_asked_again():
    old, new = Parts("old"), Parts("new")
    in_use = InUse(old)

    def ask(parts: Parts) -> str:
        if parts is old:
            in_use.exchange(new)
            raise StorageError("it was closed meanwhile")
        return parts.name

    assert in_use.asked(ask) == "new"


def test_a_failure_of_what_answers_is_told():
    def fail(_: Parts) -> str:
        raise StorageError("full")

    with pytest.raises(StorageError, match="full"):
        InUse(Parts("only")).asked(fail)
