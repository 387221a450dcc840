"""An index is repaired soon, again and again, and never costs the whole processor."""

import pytest

from app.adapters.healing_pauses import (
    DATABASE_SECONDS,
    HEALED_AFTER_SECONDS,
    HEALING_PAUSES_SECONDS,
    LONGEST_REPAIR_PAUSE_SECONDS,
    RETRY_SECONDS,
    HealingPauses,
)
from app.errors import DatabaseUnavailableError, LexicalIndexError


class Clock:
    moment = 1000.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pauses(clock: Clock) -> HealingPauses:
    return HealingPauses(clock=clock)


def repair(pauses: HealingPauses, clock: Clock, seconds: float) -> float:
    """Wait as told, and repair; gives how long was waited."""
    waited = pauses.before_try()
    clock.moment += waited
    pauses.note_try()
    clock.moment += seconds
    pauses.note_repair()
    return waited


def test_each_failed_try_is_followed_by_a_longer_pause_and_the_last_by_giving_up(pauses):
    waited = []
    while not pauses.given_up:
        waited.append(pauses.before_try())
        pauses.note_try()
        pauses.note_failure()
    assert waited == list(HEALING_PAUSES_SECONDS)


def test_what_was_given_up_is_tried_now_and_then_for_ever(pauses, clock):
    for _ in HEALING_PAUSES_SECONDS:
        pauses.note_try()
        pauses.note_failure()
    for _ in range(20):
        clock.moment += RETRY_SECONDS - 1
        assert not pauses.retry_is_due
        clock.moment += 1
        assert pauses.retry_is_due
        pauses.note_try()
        pauses.note_failure()
    pauses.note_repair()
    assert not pauses.given_up


def test_while_only_the_database_is_away_every_pause_is_short(pauses, clock):
    for _ in HEALING_PAUSES_SECONDS:
        assert pauses.before_try() <= DATABASE_SECONDS
        pauses.note_try()
        pauses.note_failure(DatabaseUnavailableError("It does not answer."))
    assert (pauses.given_up, pauses.retry_seconds) == (True, DATABASE_SECONDS)
    clock.moment += DATABASE_SECONDS
    assert pauses.retry_is_due
    pauses.note_try()
    pauses.note_failure(LexicalIndexError("The disk is full."))
    clock.moment += DATABASE_SECONDS
    assert not pauses.retry_is_due


def test_however_often_it_was_repaired_it_is_never_given_up_and_the_pauses_have_an_end(
    pauses, clock
):
    waited = [repair(pauses, clock, seconds=4.0) for _ in range(2000)]
    assert waited[:8] == [0, 4, 8, 16, 32, 64, 128, 256]
    assert set(waited[8:]) == {LONGEST_REPAIR_PAUSE_SECONDS}
    assert not pauses.given_up


def test_a_repair_of_a_moment_is_waited_for_a_moment(pauses, clock):
    assert sum(repair(pauses, clock, seconds=0.05) for _ in range(7)) < 5


def test_after_it_held_for_long_it_is_repaired_at_once_again(pauses, clock):
    for _ in range(5):
        repair(pauses, clock, seconds=10.0)
    clock.moment += HEALED_AFTER_SECONDS + 1
    assert [repair(pauses, clock, seconds=10.0) for _ in range(2)] == [0, 10]


def test_a_repair_makes_failures_before_it_count_no_more(pauses, clock):
    for _ in range(4):
        pauses.note_try()
        pauses.note_failure()
    repair(pauses, clock, seconds=0.0)
    assert pauses.before_try() == 0
