"""Other wordings change known words alone, and never what is quoted or excluded."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.wordings import GROUPS, MOST_WORDINGS, other_wordings
from tests.processor_speed import is_within


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How do I set up the DB?", ["How do I configure the database?"]),
        ("auth config", ["authentication configuration", "login settings"]),
        ('the "db" is -slow', []),
        ("\u201cthe db\u201d in k8s", ["\u201cthe db\u201d in kubernetes"]),
        ("\u201ethe db\u201c in k8s", ["\u201ethe db\u201c in kubernetes"]),
        ('db -"slow db query" k8s', ['database -"slow db query" kubernetes']),
        ("where does the harbour lie", []),
        ("config.py and db-config and get_db", []),
        ("AP\u0130 conf\u0131g doc\u017f", []),  # in no case an i, an i and an s
        ("AP\u0130 of the DB", ["AP\u0130 of the database"]),
        ("", []),
    ],
)
def test_known_words_are_replaced_and_nothing_else(query, expected):
    assert other_wordings(query) == expected


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from([w for g in GROUPS for w in g])).map(" ".join)
    | st.text(st.sampled_from("apiconfg \u0131\u0130\u017f\u212a"), max_size=40)
)
def test_there_are_few_wordings_and_each_is_another(query):
    wordings = other_wordings(query)
    assert len(wordings) <= MOST_WORDINGS
    assert len({query, *wordings}) == len(wordings) + 1


@pytest.mark.parametrize("sign", ['"', "\u201c", "\u201d", "\u201e", "-", " -", ' -"', "\u201ea"])
def test_a_query_of_nothing_but_signs_costs_no_more_than_one_of_words(sign):
    started = time.process_time()
    other_wordings((sign * 8000)[:8000])
    assert is_within(0.1, started)  # 0.01 s
