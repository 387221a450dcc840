"""When a source is looked at next."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.retry_after import LONGEST_RETRY_AFTER_SECONDS
from app.knowledge.refreshing import (
    JITTER,
    LOCAL_SECONDS,
    LONGEST_RETRY_SECONDS,
    MOST_SECONDS,
    WEB_SECONDS,
    interval_seconds,
    longest_wait_seconds,
    next_refresh,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def seconds(*args, **options) -> float | None:
    moment = next_refresh(NOON, *args, **{"chance": lambda: 0.5} | options)
    return moment and (moment - NOON).total_seconds()


@pytest.mark.parametrize(
    ("given_seconds", "uri", "expected"),
    [
        (None, "/srv/docs", LOCAL_SECONDS),
        (None, "file:///srv/docs", LOCAL_SECONDS),
        (None, "https://example.com/", WEB_SECONDS),
        (None, " HTTP://example.com/", WEB_SECONDS),
        (7, "https://example.com/", 7),
        (0, "/srv/docs", None),
        (0, "https://example.com/", None),
    ],
)
def test_the_interval_is_the_given_one_or_that_of_the_kind_of_source(given_seconds, uri, expected):
    assert interval_seconds(given_seconds, uri) == expected
    assert seconds(given_seconds, uri) == expected


def test_failures_make_it_take_longer_up_to_an_hour_or_the_interval():
    local = [seconds(300, "/srv", failures=n) for n in range(7)]
    assert local == [300, 300, 600, 1200, 2400, LONGEST_RETRY_SECONDS, LONGEST_RETRY_SECONDS]
    web = [seconds(None, "http://x/", failures=n) for n in (1, 2, 3, 20, 10_000)]
    assert web == [600, 1200, 2400, WEB_SECONDS, WEB_SECONDS]


def test_a_source_that_asks_for_patience_gets_it_but_not_for_ever():
    assert seconds(10, "http://x/", failures=1, retry_after_seconds=500) == 500
    assert seconds(1000, "http://x/", retry_after_seconds=5) == 1000
    for_ever = seconds(10, "http://x/", failures=1, retry_after_seconds=1e12)
    assert for_ever == LONGEST_RETRY_AFTER_SECONDS


@given(
    interval=st.none() | st.integers(1, MOST_SECONDS),
    uri=st.sampled_from(["/srv", "https://x.example/"]),
    failures=st.integers(0, 1000),
    chance=st.floats(0, 1),
    retry_after=st.floats(0, 1e15),
)
def test_none_is_further_ahead_than_the_longest_wait(interval, uri, failures, chance, retry_after):
    asked = retry_after if uri.startswith("https") else None
    options = {"failures": failures, "retry_after_seconds": asked, "chance": lambda: chance}
    assert seconds(interval, uri, **options) < longest_wait_seconds(interval, uri)


@given(
    interval=st.integers(1, MOST_SECONDS),
    failures=st.integers(0, 1000),
    chance=st.floats(0, 1),
    retry_after=st.none() | st.floats(0, 1e15),
)
def test_it_is_always_later_and_jitter_moves_it_by_a_tenth_at_most(
    interval, failures, chance, retry_after
):
    options = {"failures": failures, "retry_after_seconds": retry_after}
    middle = next_refresh(NOON, interval, "/srv", chance=lambda: 0.5, **options) - NOON
    moved = next_refresh(NOON, interval, "/srv", chance=lambda: chance, **options) - NOON
    assert moved > timedelta()
    tolerance = timedelta(milliseconds=1)
    assert middle * (1 - JITTER) - tolerance <= moved <= middle * (1 + JITTER) + tolerance
