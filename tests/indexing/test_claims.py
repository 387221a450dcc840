"""One piece of work an item at a time, and a deletion stops it."""

import threading

import pytest

from app.errors import UnavailableError, WorkStoppedError
from app.indexing.claims import ItemClaims


def test_two_never_hold_the_same_item_at_once():
    claims, inside, most = ItemClaims(), [], []

    def work() -> None:
        for _ in range(200):
            with claims.claim(7):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 800
    assert set(most) == {1}


def test_different_items_do_not_wait_for_each_other():
    claims = ItemClaims()
    with claims.claim(1), claims.claim(2) as signal:
        signal.check()


def test_stop_reaches_the_holder_and_nobody_after_it():
    claims = ItemClaims()
    with claims.claim(1) as signal:
        claims.stop(1)
        with pytest.raises(WorkStoppedError):
            signal.check()
    claims.stop(1)
    with claims.claim(1) as next_signal:
        next_signal.check()


def test_closing_stops_the_work_waits_for_it_and_lets_none_begin():
    claims, begun, ended = ItemClaims(), threading.Event(), threading.Event()

    def work() -> None:
        with claims.claim(1) as signal:
            begun.set()
            while True:
                try:
                    signal.check()
                except UnavailableError:
                    ended.set()
                    return

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    claims.close()
    assert ended.is_set()
    with pytest.raises(UnavailableError), claims.claim(2):
        pass
    thread.join()
