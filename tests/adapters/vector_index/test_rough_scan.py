"""The rough scan misses none of the best, whatever the vectors are."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.vector_index.rough_scan import (
    LEAST_ROWS_BESIDE,
    encode,
    encode_query,
    largest_error,
    rough_scores,
    rows_near_the_best,
)
from app.protocols import Vectors

DIMENSION = 48


def unit_vectors(rows: int, seed: int, spread: float) -> Vectors:
    """Vectors around a few centres; a small spread makes near twins, 0 makes equal ones."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((5, DIMENSION))
    vectors = centres[random.integers(0, 5, rows)]
    vectors = vectors + spread * random.standard_normal((rows, DIMENSION))
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)
    return unit


def axes(rows: int) -> Vectors:
    """Vectors with one component only, in turns: the coarsest codes there are."""
    return np.eye(DIMENSION, dtype=np.float32)[np.arange(rows) % DIMENSION]


@given(
    rows=st.integers(1, 700),
    seed=st.integers(0, 1000),
    spread=st.sampled_from([0.0, 1e-4, 0.05, 1.0]),
    limit=st.integers(1, 40),
    barred=st.floats(0, 1),
)
def test_the_best_by_cosine_are_all_in_question(
    rows: int, seed: int, spread: float, limit: int, barred: float
) -> None:
    vectors = unit_vectors(rows, seed, spread)
    query = unit_vectors(1, seed + 1, 1.0)[0]
    codes, steps = encode(vectors)
    rough_query = encode_query(query)
    scores = rough_scores(codes, steps, rough_query)
    allowed = np.random.default_rng(seed).random(rows) >= barred
    scores[~allowed] = -np.inf
    found = rows_near_the_best(scores, limit, largest_error(steps, rough_query))
    assert allowed[found].all()
    cosines = np.where(allowed, vectors @ query, -np.inf)
    worst_of_the_best = np.sort(cosines)[-min(limit, rows)]
    missed = np.setdiff1d(np.flatnonzero(cosines > worst_of_the_best), found)
    assert missed.size == 0
    assert len(found) >= min(limit, int(allowed.sum()))


@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.0, 0.05, 1.0]))
@settings(max_examples=50)
def test_no_score_errs_by_more_than_is_said(seed: int, spread: float) -> None:
    vectors = unit_vectors(300, seed, spread)
    query = unit_vectors(1, seed + 1, 1.0)[0]
    codes, steps = encode(vectors)
    rough_query = encode_query(query)
    errors = np.abs(rough_scores(codes, steps, rough_query) - vectors @ query)
    assert errors.max() <= largest_error(steps, rough_query)


@pytest.mark.parametrize("rows", [1, 2 * LEAST_ROWS_BESIDE - 1, 2 * LEAST_ROWS_BESIDE + 1])
def test_two_threads_give_the_scores_of_one(rows: int) -> None:
    codes, steps = encode(unit_vectors(rows, 1, 1.0))
    rough_query = encode_query(unit_vectors(1, 2, 1.0)[0])
    with ThreadPoolExecutor(1) as beside:
        scores = rough_scores(codes, steps, rough_query, beside)
    assert np.array_equal(scores, rough_scores(codes, steps, rough_query))


def test_vectors_of_one_component_keep_their_order() -> None:
    vectors = axes(200)
    codes, steps = encode(vectors)
    query = vectors[3]
    rough_query = encode_query(query)
    scores = rough_scores(codes, steps, rough_query)
    assert scores == pytest.approx(vectors @ query, abs=1e-6)


def test_few_rows_are_in_question_when_vectors_differ() -> None:
    vectors = unit_vectors(5000, 1, 1.0)
    codes, steps = encode(vectors)
    rough_query = encode_query(unit_vectors(1, 2, 1.0)[0])
    scores = rough_scores(codes, steps, rough_query)
    found = rows_near_the_best(scores, 50, largest_error(steps, rough_query))
    assert 50 <= len(found) < 500
