"""Of about equal results those of other documents come first; nothing else changes its place."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search import fusion
from app.search.document_spread import MOST_COUNTED, spread
from app.search.profiles import PROFILES, Ranking
from app.search.ranking import RankedCandidates
from app.search.requests import SearchRequest

candidates = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), max_size=40)


def ranked(scores: Sequence[float], documents: Sequence[int] | None) -> RankedCandidates:
    """Candidates with these cosines, and nothing else that counts."""
    cosines = np.array(scores, np.float64)
    sides = fusion.BothSides(
        cosines=cosines,
        bm25=np.zeros(len(cosines)),
        found_dense=np.ones(len(cosines), np.bool_),
        documents=None if documents is None else np.array(documents, np.int64),
    )
    fused = fusion.convex(sides, dense_share=1.0)
    return RankedCandidates(
        retrieved_ids=[str(place) for place in range(len(cosines))],
        retrieved_cosines=cosines,
        places=fused.order,
        fused=fused,
    )


def order(found: RankedCandidates) -> list[int]:
    return found.places.tolist()


def spread_by(penalty: float, found: RankedCandidates, **wishes: Any) -> RankedCandidates:
    return spread(found, SearchRequest(query="?", **wishes), Ranking(document_penalty=penalty))


def test_an_about_equal_result_of_another_document_goes_before_the_second_of_one() -> None:
    found = ranked([0.90, 0.89, 0.885], documents=[1, 1, 2])
    assert order(spread_by(0.01, found)) == [0, 2, 1]
    assert order(spread_by(0.001, found)) == [0, 1, 2]


def test_a_clearly_better_result_stays_whatever_its_document() -> None:
    found = ranked([0.90, 0.89, 0.88, 0.5], documents=[1, 1, 1, 2])
    assert order(spread(found, SearchRequest(query="?"), PROFILES["default"])) == [0, 1, 2, 3]


@given(candidates, st.floats(0, 1))
def test_the_order_within_a_document_and_of_the_documents_best_stays(
    given_: list[tuple[float, int]], penalty: float
) -> None:
    documents = [document for _, document in given_]
    found = ranked([score for score, _ in given_], documents)
    after = spread_by(penalty, found)
    assert sorted(order(after)) == sorted(order(found))
    for document in set(documents):
        assert of(document, order(after), documents) == of(document, order(found), documents)
    assert firsts(order(after), documents) == firsts(order(found), documents)
    finals = [after.final_score(position) for position in range(len(given_))]
    assert all(some >= other - 1e-12 for some, other in itertools.pairwise(finals))
    for position in range(len(given_)):
        assert 0 <= after.penalty(position) <= MOST_COUNTED * penalty


def of(document: int, places: Sequence[int], documents: Sequence[int]) -> list[int]:
    return [place for place in places if documents[place] == document]


def firsts(places: Sequence[int], documents: Sequence[int]) -> list[int]:
    """The documents in the order of their best."""
    return list(dict.fromkeys(documents[place] for place in places))


@pytest.mark.parametrize(
    "wishes", [{"mode": "dense"}, {"mode": "lexical"}, {"fusion": "rrf"}, {"fusion": "convex"}]
)
def test_what_was_asked_for_by_name_is_given_as_it_is(wishes: dict[str, Any]) -> None:
    found = ranked([0.90, 0.89, 0.885], documents=[1, 1, 2])
    assert order(spread_by(0.5, found, **wishes)) == [0, 1, 2]


def test_with_diversity_and_without_known_documents_nothing_is_taken_off() -> None:
    request = SearchRequest(query="?")
    diverse = Ranking(document_penalty=0.5, diversity=0.2)
    found = ranked([0.90, 0.89, 0.885], documents=[1, 1, 2])
    assert order(spread(found, request, diverse)) == [0, 1, 2]
    unknown = ranked([0.90, 0.89, 0.885], documents=None)
    assert order(spread_by(0.5, unknown)) == [0, 1, 2]
    assert spread_by(0.5, unknown).penalty(1) == 0
