"""Groups hits by document or by text: the best of each stands for it, and the others are named."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from app.search.results import OtherHit

HITS_PER_GROUP = 10
LEAST_HITS = 100
"""How far down the ranking is read for each wanted group, and at least. Counts and other hits
speak of this part of the ranking, so that they do not depend on how the candidates came in."""

MOST_OTHER_HITS = 20
"""Named for one group; the count tells of all."""


@dataclass(frozen=True)
class RowHit(OtherHit):
    """What grouping has to know of a hit."""

    content: str


@dataclass(frozen=True)
class GroupedHits:
    """Hits of one document, or of one text."""

    best: RowHit
    """The hit that stands for the others."""
    count: int
    """Hits of the group, the best one included."""
    others: tuple[OtherHit, ...]
    """The next ones in the ranking's order, at most MOST_OTHER_HITS."""


def hits_to_group(n_groups: int) -> int:
    """How many hits of the ranking to look at for so many groups."""
    return max(LEAST_HITS, n_groups * HITS_PER_GROUP)


def group_by_document(hits: Sequence[RowHit]) -> list[GroupedHits]:
    """The documents of these hits, in the order of their best ones."""
    return [_grouped(group, group[0]) for group in _groups(hits, _document_of)]


def group_by_text(hits: Sequence[RowHit]) -> list[GroupedHits]:
    """The different texts of these hits, wherever they stand, in the order of their best ones.

    Copies of a document have the same texts: one that was chosen before is chosen again, so that
    what stands together in it is not shown from here and there. It is chosen among the first
    LEAST_HITS: how far the ranking is read beyond depends on how many groups are wanted, and the
    first of many are to be those of few.
    """
    grouped: list[GroupedHits] = []
    chosen: set[Hashable] = set()
    always_read = {hit.chunk_id for hit in hits[:LEAST_HITS]}
    for group in _groups(hits, lambda hit: hit.content):
        candidates = (hit for hit in group if hit.chunk_id in always_read)
        best = next((hit for hit in candidates if _document_of(hit) in chosen), group[0])
        chosen.add(_document_of(best))
        grouped.append(_grouped(group, best))
    return grouped


def _document_of(hit: RowHit) -> Hashable:
    return hit.knowledge_id, hit.document


def _groups(hits: Sequence[RowHit], key_of: Callable[[RowHit], Hashable]) -> Iterable[list[RowHit]]:
    groups: dict[Hashable, list[RowHit]] = {}
    for hit in hits:
        groups.setdefault(key_of(hit), []).append(hit)
    return groups.values()


def _grouped(group: Sequence[RowHit], best: RowHit) -> GroupedHits:
    others = [hit for hit in group if hit is not best]
    return GroupedHits(best=best, count=len(group), others=_others(others))


def _others(hits: Sequence[RowHit]) -> tuple[OtherHit, ...]:
    return tuple(
        OtherHit(
            knowledge_id=hit.knowledge_id,
            document=hit.document,
            chunk_id=hit.chunk_id,
            score=hit.score,
            start_line=hit.start_line,
            end_line=hit.end_line,
            citation=hit.citation,
        )
        for hit in hits[:MOST_OTHER_HITS]
    )
