"""Grouping shows each document once, by its best hit, and counts the others."""

import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.search.grouping import (
    MOST_OTHER_HITS,
    RowHit,
    group_by_document,
    group_by_text,
    hits_to_group,
)
from app.search.queries import citation


def found(ranking: Sequence[tuple[int, str]]) -> list[RowHit]:
    """One hit for each pair of item and document key, in this order."""
    return [
        RowHit(item, key, f"c{n}", 1 / n, n, n + 2, citation(key, n, n + 2), content="")
        for n, (item, key) in enumerate(ranking, 1)
    ]


RANKINGS = st.lists(st.tuples(st.integers(1, 2), st.sampled_from(["a", "b#L1", "c"])), max_size=80)


@given(RANKINGS)
def test_every_hit_counts_for_its_document_and_the_ranking_keeps_its_order(
    ranking: list[tuple[int, str]],
) -> None:
    hits = found(ranking)
    groups = group_by_document(hits)
    assert sum(group.count for group in groups) == len(hits)
    documents = [(g.best.knowledge_id, g.best.document) for g in groups]
    assert documents == list(dict.fromkeys(ranking))
    for group, document in zip(groups, documents, strict=True):
        own = [hit for hit, place in zip(hits, ranking, strict=True) if place == document]
        assert group.best == own[0]
        assert group.count == len(own)
        assert [o.chunk_id for o in group.others] == [
            hit.chunk_id for hit in own[1 : 1 + MOST_OTHER_HITS]
        ]


def test_other_hits_say_where_they_stand():
    (group,) = group_by_document(found([(1, "a.md"), (1, "a.md")]))
    (other,) = group.others
    assert (other.start_line, other.end_line, other.citation) == (2, 4, "a.md#L2-L4")
    assert (other.chunk_id, other.score) == ("c2", 0.5)
    assert (other.knowledge_id, other.document) == (1, "a.md")


def test_equal_texts_are_one_group_wherever_they_stand():
    places = found([(1, "a.md"), (1, "copy.md"), (2, "b.md"), (2, "other.md")])
    texts = ("Same.", "Other.", "Same.", "same.")
    hits = [replace(hit, content=text) for hit, text in zip(places, texts, strict=True)]
    same, other, small = group_by_text(hits)
    assert (same.best, other.best, small.best) == (hits[0], hits[1], hits[3])
    assert [(o.knowledge_id, o.document) for o in same.others] == [(2, "b.md")]
    assert (same.count, other.count, small.count) == (2, 1, 1)


def test_a_document_that_was_chosen_before_stands_for_its_copies():
    places = found([(1, "a.md"), (1, "copy.md"), (1, "a.md"), (1, "other.md")])
    texts = ("One.", "Two.", "Two.", "Two.")
    hits = [replace(hit, content=text) for hit, text in zip(places, texts, strict=True)]
    one, two = group_by_text(hits)
    assert (one.best, two.best) == (hits[0], hits[2])
    assert [other.document for other in two.others] == ["copy.md", "other.md"]


@given(
    st.randoms(use_true_random=True), st.integers(1, 30), st.integers(1, 30), st.integers(2, 200)
)
def test_the_groups_of_a_search_for_more_begin_with_those_of_a_search_for_fewer(
    draw: random.Random, fewer: int, further: int, texts: int
) -> None:
    places = found([(draw.randint(1, 2), draw.choice("abcdefgh")) for _ in range(600)])
    hits = [replace(hit, content=f"text {draw.randrange(texts)}") for hit in places]
    few, many = (
        [group.best for group in group_by_text(hits[: hits_to_group(wanted)])][:wanted]
        for wanted in (fewer, fewer + further)
    )
    assert many[: len(few)] == few


def test_equal_keys_of_two_items_are_two_documents():
    assert [group.count for group in group_by_document(found([(1, "a"), (2, "a"), (1, "a")]))] == [
        2,
        1,
    ]


def test_enough_hits_are_looked_at_for_every_number_of_documents():
    assert hits_to_group(1) == hits_to_group(10) == 100
    assert hits_to_group(100) == 1000
