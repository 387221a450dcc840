"""Grouping shows each document once, by its best hit, and counts the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from app.search.grouping import (
    MOST_OTHER_HITS,
    group_by_document,
    hits_to_group,
)
from app.search.queries import citation


@dataclass(frozen=True)
class FoundChunk:
    knowledge_id: int
    chunk_id: str
    score: float
    start_line: int
    end_line: int
    document: str
    citation: str


def found(ranking: Sequence[tuple[int, str]]) -> list[FoundChunk]:
    """One hit for each pair of item and document key, in this order."""
    return [
        FoundChunk(item, f"c{n}", 1 / n, n, n + 2, key, citation(key, n, n + 2))
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


def test_equal_keys_of_two_items_are_two_documents():
    assert [group.count for group in group_by_document(found([(1, "a"), (2, "a"), (1, "a")]))] == [
        2,
        1,
    ]


def test_enough_hits_are_looked_at_for_every_number_of_documents():
    assert hits_to_group(1) == hits_to_group(10) == 100
    assert hits_to_group(100) == 1000
