"""How sure figures are."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.evaluation.significance import confidence_interval, paired_p_value

VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=30)


@settings(max_examples=20, deadline=None)  # the first one imports scipy
@given(VALUES)
@example([0.5223109037352175] * 2)
@example([0.8079379768150344] * 5)
def test_an_interval_lies_within_the_values(values: list[float]) -> None:
    interval = confidence_interval(values)
    assert interval is not None
    low, high = interval
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_an_interval_narrows_with_more_questions() -> None:
    few, many = (confidence_interval([0.0, 1.0] * pairs) for pairs in (10, 200))
    assert few is not None
    assert many is not None
    # The mean of n tosses of a coin has a standard error of 0.5 / sqrt(n).
    assert few[1] - few[0] == pytest.approx(2 * 1.96 * 0.5 / 20**0.5, rel=0.15)
    assert many[1] - many[0] == pytest.approx(2 * 1.96 * 0.5 / 400**0.5, rel=0.15)


def test_one_value_has_no_interval() -> None:
    assert confidence_interval([0.5]) is None


def test_the_same_answers_give_the_same_figures() -> None:
    values, others = [0.1, 0.9, 0.4, 0.7], [0.2, 0.3, 0.5, 0.1]
    assert confidence_interval(values) == confidence_interval(values)
    assert paired_p_value(values, others) == paired_p_value(values, others)


@settings(max_examples=20, deadline=None)  # the first one imports scipy
@given(VALUES)
def test_a_system_does_not_differ_from_itself(values: list[float]) -> None:
    assert paired_p_value(values, values) == 1.0


def test_of_few_pairs_the_p_value_is_that_of_all_swaps() -> None:
    # 16 ways to swap 4 pairs; only none and all give a difference as large as this.
    assert paired_p_value([0.9, 0.8, 0.7, 0.6], [0.1, 0.2, 0.3, 0.1]) == pytest.approx(2 / 16)


def test_a_small_difference_that_every_question_shows_is_significant() -> None:
    values = [number / 100 for number in range(100)]
    assert paired_p_value([value + 0.01 for value in values], values) < 0.001
    mixed = [value + (0.01 if number % 2 else -0.01) for number, value in enumerate(values)]
    assert paired_p_value(mixed, values) > 0.5
