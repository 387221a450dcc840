"""Groups hits by document: the best hit of each stands for it, and the others are named."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

HITS_PER_DOCUMENT = 10
LEAST_HITS = 100
"""How far down the ranking is read for each wanted document, and at least. Counts and other hits
speak of this part of the ranking, so that they do not depend on how the candidates came in."""

MOST_OTHER_HITS = 20
"""Named for one document; the count tells of all."""


class Hit(Protocol):
    """What grouping has to know of a search result."""

    @property
    def knowledge_id(self) -> int: ...  # noqa: D102, the types say it
    @property
    def chunk_id(self) -> str: ...  # noqa: D102
    @property
    def score(self) -> float: ...  # noqa: D102
    @property
    def start_line(self) -> int: ...  # noqa: D102
    @property
    def end_line(self) -> int: ...  # noqa: D102
    @property
    def document(self) -> str: ...  # noqa: D102
    @property
    def citation(self) -> str: ...  # noqa: D102


AnyHit = TypeVar("AnyHit", bound=Hit)


@dataclass(frozen=True)
class OtherHit:
    """A further hit in the document of a result."""

    chunk_id: str
    score: float
    start_line: int
    end_line: int
    citation: str


@dataclass(frozen=True)
class DocumentHits(Generic[AnyHit]):
    """A document that answers."""

    best: AnyHit
    """The hit that the ranking puts first."""
    count: int
    """Hits of the document, the best one included."""
    others: tuple[OtherHit, ...]
    """The next ones in the ranking's order, at most MOST_OTHER_HITS."""


def hits_to_group(n_documents: int) -> int:
    """How many hits of the ranking to look at for so many documents."""
    return max(LEAST_HITS, n_documents * HITS_PER_DOCUMENT)


def group_by_document(hits: Sequence[AnyHit]) -> list[DocumentHits[AnyHit]]:
    """The documents of these hits, in the order of their best ones."""
    grouped: dict[tuple[int, str], list[AnyHit]] = {}
    for hit in hits:
        grouped.setdefault((hit.knowledge_id, hit.document), []).append(hit)
    return [
        DocumentHits(best=found[0], count=len(found), others=_others(found[1:]))
        for found in grouped.values()
    ]


def _others(hits: Sequence[Hit]) -> tuple[OtherHit, ...]:
    return tuple(
        OtherHit(
            chunk_id=hit.chunk_id,
            score=hit.score,
            start_line=hit.start_line,
            end_line=hit.end_line,
            citation=hit.citation,
        )
        for hit in hits[:MOST_OTHER_HITS]
    )
