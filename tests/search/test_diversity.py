"""Maximal marginal relevance by its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.diversity import DIVERSE_DEPTH, marginal_relevance


@st.composite
def candidates(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(1, 40))
    known = draw(st.integers(0, size))
    chance = np.random.default_rng(draw(st.integers(0, 10**6)))
    vectors = chance.standard_normal((known, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-6)
    scores = np.sort(chance.choice([0.0, 0.5, 1.0, 1.7, -0.2], size))[::-1]
    return scores.astype(np.float64), vectors


@given(candidates(), st.floats(0, 1))
def test_every_candidate_is_placed_once_and_the_values_never_rise(given_candidates, diversity):
    scores, vectors = given_candidates
    order, repetition = marginal_relevance(scores, vectors, diversity)
    assert sorted(order.tolist()) == list(range(len(scores)))
    values = ((1 - diversity) * scores - diversity * repetition)[order]
    assert (np.diff(values) <= 0).all()
    assert ((repetition >= 0) & (repetition <= 1)).all()


@given(candidates(), st.floats(0.01, 0.99))
def test_repetition_is_the_highest_cosine_to_anything_above(given_candidates, diversity):
    scores, vectors = given_candidates
    order, repetition = marginal_relevance(scores, vectors, diversity)
    placed = [place for place in order.tolist() if place < len(vectors)]
    for number, place in enumerate(placed):
        above = [float(vectors[place] @ vectors[other]) for other in placed[:number]]
        assert repetition[place] == pytest.approx(max([0.0, *above]), abs=1e-5)


@given(candidates())
def test_without_diversity_nothing_moves(given_candidates):
    scores, vectors = given_candidates
    order, _ = marginal_relevance(scores, vectors, 0.0)
    assert order.tolist() == list(range(len(scores)))


def test_what_repeats_gives_way_to_what_is_new() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    order, repetition = marginal_relevance(np.array([0.9, 0.8, 0.5]), vectors, 0.5)
    assert order.tolist() == [0, 2, 1]
    assert repetition.tolist() == [0, 1, 0]


def test_more_candidates_than_are_compared_keep_their_order_behind() -> None:
    vectors = np.tile(np.array([[1, 0]], np.float32), (DIVERSE_DEPTH, 1))
    scores = np.linspace(1, 0, DIVERSE_DEPTH + 50)
    order, _ = marginal_relevance(scores, vectors, 0.3)
    assert order[DIVERSE_DEPTH:].tolist() == list(range(DIVERSE_DEPTH, DIVERSE_DEPTH + 50))
