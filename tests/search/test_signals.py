"""Each signal by example and by law: numbers from 0 to 1, factors within their bounds."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.profiles import LEAST_BOOST, MOST_BOOST, Ranking
from app.search.signals import (
    SignalFacts,
    boost,
    boosted,
    completeness,
    file_importance,
    importance,
    recency,
)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
moments = st.datetimes(timezones=st.just(UTC))


def facts(**known: object) -> SignalFacts:
    fields = dict.fromkeys(("item_importance", "completeness", "category", "language"))
    return SignalFacts(**{"key": "a.md", "modified_at": NOW, "tags": (), **fields, **known})  # type: ignore[arg-type]


def test_recency_halves_with_every_half_life() -> None:
    for halves, expected in ((0, 1.0), (1, 0.5), (2, 0.25), (-3, 1.0)):
        moment = NOW - timedelta(days=30 * halves)
        assert recency(moment, NOW, 30) == pytest.approx(expected)


@given(moments, moments, st.floats(0.01, 36_500))
def test_recency_is_0_to_1_and_never_lower_for_what_is_later(some, other, half_life):
    earlier, later = sorted((some, other))
    values = [recency(moment, NOW, half_life) for moment in (earlier, later)]
    assert 0 <= values[0] <= values[1] <= 1


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("README.md", 1.0),
        ("docs/readme.rst", 1.0),
        ("guide/index.md", 1.0),
        ("app/__init__.py", 1.0),
        ("src/main.rs", 1.0),
        ("https://example.org/", 1.0),
        ("https://example.org/index.html", 1.0),
        ("https://example.org/?page=2", 1.0),
        ("https://example.org/index.html?v=2#top", 1.0),
        ("src/C#/README.md", 1.0),
        ("what?/tests/x.md", 0.2),
        ("guide/auth.md", 0.5),
        ("https://example.org/guide/auth", 0.5),
        ("mainline.md", 0.5),
        ("tests/README.md", 0.2),
        ("CHANGELOG.md", 0.2),
        ("LICENSE", 0.2),
        ("app/test_main.py", 0.2),
        ("web/button.spec.ts", 0.2),
        ("gate/FooTest.java", 0.2),
        ("test_plan.md", 0.5),
        ("Examples/one.md", 0.2),
    ],
)
def test_files_that_one_reads_first_are_important_and_tests_are_not(key, expected):
    assert file_importance(key) == expected


@given(st.text(max_size=200), st.none() | st.floats(0, 1))
def test_importance_is_0_to_1_whatever_a_key_is(key, of_item):
    assert 0 <= importance(key, of_item) <= 1


def test_an_item_that_says_how_important_it_is_counts_as_much_as_its_files() -> None:
    assert importance("README.md", 0.0) == 0.5
    assert importance("a.md", 1.0) == 0.75
    assert importance("a.md", None) == 0.5


def test_what_is_not_known_to_be_whole_is_between() -> None:
    assert (completeness(None), completeness(0.0), completeness(1.0)) == (0.5, 0, 1)


def test_a_boost_holds_however_its_accents_are_written() -> None:
    apart, together = "A\u0308pfel", "\u00c4pfel"
    ranking = Ranking(tag_boosts=((apart, 2.0),), category_boosts=((f"Obst/{apart}", 3.0),))
    assert boost(facts(tags=(together,), category=f"Obst/{together}"), ranking) == 6


def test_boosts_hold_for_tags_languages_and_categories_with_all_below() -> None:
    ranking = Ranking(
        tag_boosts=(("Rust", 1.3), ("web", 2.0)),
        category_boosts=(("Eng", 3.0), ("Eng/Security", 0.5)),
        language_boosts=(("EN", 1.1),),
    )
    assert boost(facts(tags=("rust", "other")), ranking) == pytest.approx(1.3)
    assert boost(facts(category="Eng/Security/Keys"), ranking) == pytest.approx(1.5)
    assert boost(facts(category="Engine"), ranking) == 1
    assert boost(facts(language="en", tags=("WEB",)), ranking) == pytest.approx(2.2)
    assert boost(facts(language="en_GB"), ranking) == pytest.approx(1.1)
    assert boost(facts(language="enm"), ranking) == 1
    assert boost(facts(language="en-us"), Ranking(language_boosts=(("en_US", 2.0),))) == 2
    assert boost(facts(), ranking) == 1


def test_a_boost_is_named_as_the_label_may_be_written() -> None:
    ranking = Ranking(
        tag_boosts=((" /etc ", 2.0), ("rust", 7.0), (" Rust", 1.5)),
        category_boosts=(("/Eng//Security/ ", 3.0),),
        language_boosts=((" en_US ", 1.1),),
    )
    assert boost(facts(tags=("/etc",)), ranking) == 2
    assert boost(facts(tags=("etc",)), ranking) == 1
    assert boost(facts(tags=("rust",)), ranking) == 1.5
    assert boost(facts(category="Eng/Security"), ranking) == 3
    assert boost(facts(language="en-us"), ranking) == 1.1


def test_a_boost_of_no_name_holds_for_nothing() -> None:
    ranking = Ranking(category_boosts=(("/", 5.0),), language_boosts=(("/", 5.0),))
    assert boost(facts(), ranking) == 1


@given(st.lists(st.floats(LEAST_BOOST, MOST_BOOST), max_size=50), st.floats(-1, 3))
def test_all_boosts_together_are_bounded_and_more_never_harms(factors, score):
    boosts = tuple((f"t{number}", factor) for number, factor in enumerate(factors))
    factor = boost(facts(tags=[name for name, _ in boosts]), Ranking(tag_boosts=boosts))
    assert LEAST_BOOST <= factor <= MOST_BOOST
    found = boosted(np.array([score]), np.array([factor]))[0]
    assert found >= score if factor >= 1 else found <= score
