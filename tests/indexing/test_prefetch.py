"""Running ahead changes neither values nor errors, and leaves no thread behind."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.indexing.prefetch import prefetched


@given(st.lists(st.integers()), st.integers(1, 5))
def test_values_come_in_order_and_complete(values, depth):
    with prefetched(values, depth) as ahead:
        assert list(ahead) == values


def test_an_error_comes_where_its_value_would_have():
    def values():
        yield 1
        raise KeyError("two")

    with prefetched(values(), 4) as ahead:
        assert next(ahead) == 1
        with pytest.raises(KeyError, match="two"):
            next(ahead)


def test_what_is_made_ahead_is_bounded_by_weight():
    made = []

    def heavy():
        for number in range(50):
            made.append(number)
            yield number

    with prefetched(heavy(), 40, weigh=lambda _value: 10, most_weight=30) as ahead:
        for taken in ahead:
            # Taken, waiting, and the one that is being handed over.
            assert len(made) <= taken + 1 + 3 + 1
    assert made == list(range(50))


def test_leaving_early_stops_the_thread():
    made = []

    def endless():
        while True:
            made.append(len(made))
            yield made[-1]

    before = set(threading.enumerate())
    with prefetched(endless(), 2) as ahead:
        assert next(ahead) == 0
    assert set(threading.enumerate()) <= before
    assert len(made) <= 5
