"""The laws of fusion, whatever the two sides found, and its formulas by example."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.fusion import BothSides, Fuse, Fusion, convex, coverage, rrf
from app.search.ranking import METHODS

every_method = pytest.mark.parametrize("fuse", METHODS.values(), ids=METHODS.keys())

COSINES = st.floats(-1, 1, width=32)
BM25 = st.one_of(st.just(0.0), st.floats(2**-10, 2**100, width=32))
CEILINGS = st.one_of(st.none(), st.floats(0, 2**100))


@st.composite
def candidates(draw: st.DrawFn, least: int = 0) -> BothSides:
    rows = draw(st.lists(st.tuples(COSINES, BM25, st.booleans()), min_size=least, max_size=12))
    numbers = st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))
    found = make(rows, draw(CEILINGS), draw(st.none() | numbers))
    return replace(found, guessed=draw(st.sampled_from((0.0, 0.0, 0.3, 1.0))))


def make(
    rows: list[tuple[float, float, bool]],
    ceiling: float | None = 10.0,
    documents: list[int] | None = None,
) -> BothSides:
    """Candidates of rows of cosine, BM25, and whether the dense side found it."""
    return BothSides(
        np.array([row[0] for row in rows], np.float32),
        np.array([row[1] for row in rows], np.float32),
        np.array([row[2] for row in rows], np.bool_),
        ceiling,
        None if documents is None else np.array(documents, np.int64),
    )


def keys(found: BothSides, fusion: Fusion) -> list[tuple[float, float, float]]:
    """What the order is settled by, in that order."""
    return [
        (float(fusion.scores[place]), float(found.cosines[place]), float(found.bm25[place]))
        for place in fusion.order
    ]


@every_method
@given(found=candidates())
def test_every_candidate_stands_in_the_order_once_and_best_first(
    fuse: Fuse, found: BothSides
) -> None:
    fusion = fuse(found)
    assert sorted(fusion.order) == list(range(len(found.cosines)))
    assert keys(found, fusion) == sorted(keys(found, fusion), reverse=True)


@every_method
@given(found=candidates())
def test_finite_input_gives_finite_scores_that_their_parts_add_up_to(
    fuse: Fuse, found: BothSides
) -> None:
    fusion = fuse(found)
    assert np.isfinite(fusion.scores).all()
    for place in range(len(found.cosines)):
        told = fusion.explain(place)
        assert told.score == told.dense_part + told.lexical_part == fusion.scores[place]


@every_method
@given(found=candidates(), data=st.data())
def test_the_order_in_which_candidates_are_given_changes_no_score(
    fuse: Fuse, found: BothSides, data: st.DataObject
) -> None:
    places = data.draw(st.permutations(range(len(found.cosines))))
    shuffled = BothSides(
        found.cosines[places],
        found.bm25[places],
        found.found_dense[places],
        found.bm25_ceiling,
        None if found.documents is None else found.documents[places],
        found.guessed,
    )
    before, after = fuse(found), fuse(shuffled)
    assert np.array_equal(before.scores[places], after.scores)
    assert keys(found, before) == keys(shuffled, after)


@every_method
@given(row=st.tuples(COSINES, BM25, st.booleans()), count=st.integers(1, 8))
def test_candidates_that_differ_in_nothing_keep_the_order_in_which_they_came(
    fuse: Fuse, row: tuple[float, float, bool], count: int
) -> None:
    assert fuse(make([row] * count)).order.tolist() == list(range(count))


@every_method
@given(found=candidates(least=1), data=st.data())
def test_a_higher_cosine_never_brings_a_candidate_nearer_to_those_behind_it(
    fuse: Fuse, found: BothSides, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(found.cosines) - 1))
    cosines = found.cosines.copy()
    cosines[place] = data.draw(st.floats(float(cosines[place]), 1, width=32))
    assert_not_nearer(fuse(found), fuse(replace(found, cosines=cosines)), place)


@every_method
@given(found=candidates(least=1), data=st.data())
def test_a_higher_bm25_never_costs_a_candidate_its_place(
    fuse: Fuse, found: BothSides, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(found.cosines) - 1))
    bm25 = found.bm25.copy()
    bm25[place] = data.draw(st.floats(float(bm25[place]), 2**101, width=32))
    before, raised = fuse(found), fuse(replace(found, bm25=bm25))
    behind = before.scores[place] >= before.scores
    assert (raised.scores[place] >= raised.scores)[behind].all()


def assert_not_nearer(before: Fusion, after: Fusion, place: int) -> None:
    """None that stood behind `place` has come nearer, but for rounding."""
    leads = before.scores[place] - before.scores
    rounding = 1e-12 * np.maximum(1.0, np.abs(before.scores).max())
    behind = leads >= 0
    assert ((after.scores[place] - after.scores)[behind] >= (leads - rounding)[behind]).all()


@every_method
@given(rows=st.lists(COSINES, max_size=12), ceiling=CEILINGS)
def test_without_lexical_hits_the_order_is_the_dense_one(
    fuse: Fuse, rows: list[float], ceiling: float | None
) -> None:
    fusion = fuse(make([(cosine, 0.0, True) for cosine in rows], ceiling))
    assert fusion.order.tolist() == sorted(range(len(rows)), key=lambda place: -rows[place])


@every_method
@given(rows=st.lists(st.floats(2**-10, 2**20, width=32), max_size=12), ceiling=CEILINGS)
def test_without_dense_hits_the_order_is_the_lexical_one(
    fuse: Fuse, rows: list[float], ceiling: float | None
) -> None:
    fusion = fuse(make([(0.0, bm25, False) for bm25 in rows], ceiling))
    assert fusion.order.tolist() == sorted(range(len(rows)), key=lambda place: -rows[place])


def test_rrf_adds_the_reciprocal_ranks_that_the_sides_gave() -> None:
    fusion = rrf(make([(0.9, 0.0, True), (0.8, 7.0, True), (0.2, 9.0, False)]))
    assert fusion.scores == pytest.approx([0.5 / 61, 0.5 / 62 + 0.5 / 62, 0.5 / 61])
    assert fusion.order.tolist() == [1, 0, 2]
    assert fusion.explain(2).dense_rank is None
    assert fusion.explain(2).lexical_rank == 1


def test_rrf_takes_another_constant_and_another_share() -> None:
    fusion = rrf(make([(0.9, 4.0, True), (0.8, 7.0, True)]), k=1, dense_share=0.75)
    assert fusion.scores == pytest.approx([0.75 / 2 + 0.25 / 3, 0.75 / 3 + 0.25 / 2])


def test_equal_scores_share_a_rank() -> None:
    fusion = rrf(make([(0.5, 3.0, True), (0.5, 2.0, True), (0.4, 2.0, True)]))
    assert fusion.candidates.dense_ranks.tolist() == [1, 1, 3]
    assert fusion.candidates.lexical_ranks.tolist() == [1, 2, 2]


def test_convex_scales_bm25_by_the_highest_of_the_query() -> None:
    fusion = convex(make([(0.5, 4.0, True), (0.6, 2.0, True)]))
    assert fusion.scores == pytest.approx([0.7 * 0.5 + 0.3, 0.7 * 0.6 + 0.3 / 2])


def test_coverage_weighs_words_by_what_they_cover_and_how_far_the_best_is_ahead() -> None:
    fusion = coverage(make([(0.5, 4.0, True), (0.6, 2.0, True)], ceiling=8.0))
    best, other = 0.6 * 0.85 * (0.3 + 0.7 * 0.5), 0.6 * 0.85 * 0.3 * 0.5
    assert fusion.lexical_parts == pytest.approx([best + 0.3 / 2**4, other + 0.3 / 4**4])
    assert fusion.scores == pytest.approx(fusion.lexical_parts + np.array([0.5, 0.6]))


def test_the_tenth_best_of_the_other_documents_says_how_far_the_best_is_ahead() -> None:
    rows = [(0.5, float(bm25), True) for bm25 in (20, 19, *range(18, 0, -1))]
    contrasts = make(rows).contrasts
    assert contrasts[:10] == pytest.approx(1 - 10 / 20)
    assert contrasts[10:] == pytest.approx(1 - 11 / 20)
    of_one = make(rows, documents=[1] * 9 + list(range(2, 13))).contrasts
    assert of_one == pytest.approx(1 - np.array([6] * 9 + [6] * 5 + [7] * 6) / 20)


def test_nobody_comes_near_what_alone_says_the_words() -> None:
    found = make([(0.6, 0.0, True), (0.5, 5.0, True), (0.4, 0.0, True)])
    assert found.contrasts.tolist() == [0.0, 1.0, 0.0]
    assert make([(0.6, 0.0, True)]).contrasts.tolist() == [0.0]


def test_what_was_guessed_proves_nothing_where_meaning_does_not_agree() -> None:
    """`brain`, which no text says, also looks for `trains`: one text that does is no answer."""
    far, near = [(0.1, 3.0, False), (0.3, 0.0, True)], [(0.3, 3.0, True), (0.1, 0.0, True)]
    for rows in (far, near):
        assert coverage(make(rows)).order.tolist() == [0, 1]
    assert coverage(replace(make(far), guessed=1.0)).order.tolist() == [1, 0]
    assert replace(make(near), guessed=1.0).contrasts[0] == make(near).contrasts[0] == 1.0
    half = replace(make(far), guessed=0.5).contrasts
    assert half == pytest.approx([1 - 0.25 * (1 - 1 / 9), 0.0])


def test_coverage_lends_a_chunk_half_of_its_documents_cosine() -> None:
    found = make([(0.4, 0.0, True), (0.8, 0.0, True), (0.5, 0.0, True)], 8.0, [7, 7, 9])
    fusion = coverage(found)
    assert fusion.scores == pytest.approx([0.6, 0.8, 0.5])
    assert fusion.explain(0).document_cosine == pytest.approx(0.8)


@given(cosines=st.lists(COSINES, min_size=1, max_size=12), data=st.data())
def test_without_lexical_hits_documents_stand_in_the_order_of_their_best_chunks(
    cosines: list[float], data: st.DataObject
) -> None:
    size = len(cosines)
    documents = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    fusion = coverage(make([(cosine, 0.0, True) for cosine in cosines], 8.0, documents))
    best = [
        max(c for c, d in zip(cosines, documents, strict=True) if d == own) for own in documents
    ]
    first_of_each = [
        place
        for rank, place in enumerate(fusion.order)
        if documents[place] not in [documents[earlier] for earlier in fusion.order[:rank]]
    ]
    assert [best[place] for place in first_of_each] == sorted(
        (best[place] for place in first_of_each), reverse=True
    )


def test_coverage_trusts_words_less_when_no_text_has_many_of_them() -> None:
    rows = [(0.8, 0.0, True), (0.3, 5.0, False)]
    assert coverage(make(rows, ceiling=6.0)).order.tolist() == [1, 0]
    assert coverage(make(rows, ceiling=30.0)).order.tolist() == [0, 1]


def test_coverage_trusts_words_less_when_many_documents_say_them() -> None:
    rows = [(0.6, 2.0, True), (0.4, 5.0, False)]
    assert coverage(make(rows, ceiling=20.0)).order.tolist() == [1, 0]
    others = [(0.0, 4.9, False)] * 20
    assert coverage(make([*rows, *others], ceiling=20.0)).order.tolist()[:2] == [0, 1]


@pytest.mark.parametrize("ceiling", [None, 0.0])
def test_coverage_without_a_ceiling_is_convex(ceiling: float | None) -> None:
    found = make([(0.5, 4.0, True), (0.6, 2.0, True)], ceiling)
    assert coverage(found).scores.tolist() == convex(found).scores.tolist()


def test_found_nothing_fuses_to_nothing() -> None:
    for fuse in METHODS.values():
        assert fuse(make([])).order.tolist() == []


def test_arrays_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        BothSides(np.zeros(2), np.zeros(3), np.zeros(2, np.bool_))
    with pytest.raises(ValueError, match="one length"):
        make([(0.5, 1.0, True)], 8.0, [1, 2])


@pytest.mark.parametrize(
    ("cosine", "bm25"), [(np.nan, 0.0), (np.inf, 0.0), (0.0, np.nan), (0.0, -1.0)]
)
def test_scores_that_cannot_be_are_refused(cosine: float, bm25: float) -> None:
    with pytest.raises(ValueError, match=r"finite|below 0"):
        make([(cosine, bm25, True)])
