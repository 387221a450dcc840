"""An item is indexed soon after a change, and not all the time while it keeps changing."""

import pytest

from app.following.watch_pauses import BURST, FIRST_SECONDS, LONGEST_SECONDS, ItemPauses


def waits_of_a_file_that_always_changes(times: int) -> list[float]:
    pauses, moment, waits = ItemPauses(), 1000.0, []
    for _ in range(times):
        wait = pauses.seconds_left(1, moment)
        waits.append(wait)
        moment += wait
        pauses.note(1, moment)
    return waits


def test_the_first_change_does_not_wait() -> None:
    assert ItemPauses().seconds_left(1, 0.0) == 0.0


def test_what_changes_all_the_time_is_indexed_ever_more_rarely() -> None:
    waits = waits_of_a_file_that_always_changes(BURST + 12)
    assert waits[: BURST + 2] == [0, *[FIRST_SECONDS] * (BURST + 1)]
    assert waits[BURST + 2 : BURST + 4] == [2 * FIRST_SECONDS, 4 * FIRST_SECONDS]
    assert waits[-1] == LONGEST_SECONDS


@pytest.mark.parametrize("seconds", [3 * FIRST_SECONDS, 4.0])
def test_somebody_who_saves_every_few_seconds_never_waits(seconds: float) -> None:
    pauses = ItemPauses()
    for number in range(150):
        assert pauses.seconds_left(1, number * seconds) == 0.0
        pauses.note(1, number * seconds)


def test_after_a_quiet_time_it_counts_as_the_first_again() -> None:
    pauses, moment = ItemPauses(), 0.0
    for _ in range(BURST + 12):
        moment += pauses.seconds_left(1, moment)
        pauses.note(1, moment)
    moment += 5 * LONGEST_SECONDS
    pauses.note(1, moment)
    assert pauses.seconds_left(1, moment) == FIRST_SECONDS


def test_items_wait_each_for_themselves_and_are_forgotten() -> None:
    pauses = ItemPauses()
    pauses.note(1, 0.0)
    assert pauses.seconds_left(2, 0.0) == 0.0
    pauses.forget(1)
    assert pauses.seconds_left(1, 0.0) == 0.0
