"""Fuses what the dense and the lexical side found into one order that a person can recompute."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int64]

RRF_K = 60.0
"""Cormack, Clarke and Büttcher 2009, who found the choice not critical."""
RRF_DENSE_SHARE = 0.5
"""Weight of the dense side in `rrf`, of 1: both sides alike."""
CONVEX_DENSE_SHARE = 0.7
"""Weight of the cosine in `convex`, of 1."""
COVERAGE_WEIGHT = 1.0
"""What full coverage of the query's words is worth, in cosine. Flat between 0.8 and 1.5."""
COVERAGE_DOCUMENT_SHARE = 0.5
"""How much of a chunk's cosine is that of its document's best chunk. Less serves passages,
more serves whole files, by little: docs/adr/0010."""

LEAST_CEILING = 1e-9
"""A ceiling below this says nothing: the rarest word of even two texts is worth over 1."""


@dataclass(frozen=True)
class BothSides:
    """What the two sides found for one query, a chunk at each place; arrays of shape (n,)."""

    cosines: npt.NDArray[np.floating]
    """Cosine of query and chunk, known for every candidate; 0 throughout if there is no vector."""
    bm25: npt.NDArray[np.floating]
    """BM25 of the chunk, above 0; 0 where the lexical side did not find it."""
    found_dense: npt.NDArray[np.bool_]
    """Whether the dense side found it. Only ranks need this: every cosine counts."""
    bm25_ceiling: float | None = None
    """What BM25 would give a text that holds each word of the query as densely as BM25 rewards:
    (k1 + 1) times the sum of the words' inverse document frequencies. None: not known."""
    documents: npt.NDArray[np.int64] | None = None
    """A number for each candidate's document. None: not known, each counts as its own."""

    def __post_init__(self) -> None:
        """Refuse what would silently give a wrong order. Raises ValueError."""
        shapes = {self.cosines.shape, self.bm25.shape, self.found_dense.shape}
        if self.documents is not None:
            shapes.add(self.documents.shape)
        if len(shapes) != 1 or self.cosines.ndim != 1:
            raise ValueError(f"Candidates need arrays of one length, not {shapes}.")
        if not (np.isfinite(self.cosines).all() and np.isfinite(self.bm25).all()):
            raise ValueError("Candidates need finite cosines and BM25 scores.")
        if (self.bm25 < 0).any():
            raise ValueError("BM25 scores are never below 0.")

    @functools.cached_property
    def dense_ranks(self) -> Ranks:
        """1 is the best; 0 where the dense side did not find the candidate."""
        return _ranks_among(self.cosines, self.found_dense)

    @functools.cached_property
    def lexical_ranks(self) -> Ranks:
        """1 is the best; 0 where the lexical side did not find the candidate."""
        return _ranks_among(self.bm25, self.bm25 > 0)

    @functools.cached_property
    def document_cosines(self) -> Floats:
        """For each candidate the highest cosine among those of its document; shape (n,)."""
        cosines = self.cosines.astype(np.float64)
        if self.documents is None or cosines.size == 0:
            return cosines
        numbers, places = np.unique(self.documents, return_inverse=True)
        highest = np.full(numbers.shape, -np.inf)
        np.maximum.at(highest, places, cosines)
        return highest[places]


@dataclass(frozen=True)
class FusedParts:
    """How one candidate came by its score: `dense_part + lexical_part == score`."""

    score: float
    dense_part: float
    lexical_part: float
    dense_rank: int | None
    """1 is the best; equal scores share a rank. None: not found by that side."""
    lexical_rank: int | None
    document_cosine: float
    """The highest cosine among the candidates of its document; its own if that is not known."""


@dataclass(frozen=True)
class Fusion:
    """The fused scores, each the sum of what the sides gave; arrays of shape (n,)."""

    dense_parts: Floats
    lexical_parts: Floats
    candidates: BothSides
    order: Ranks
    """Places of the candidates, best first. Of equal scores, the higher cosine comes first, then
    the higher BM25, then what stood first among the candidates."""

    @property
    def scores(self) -> Floats:
        """The fused scores, comparable within one query only."""
        return self.dense_parts + self.lexical_parts

    def explain(self, place: int) -> FusedParts:
        """What stands behind the score of the candidate at this place."""
        return FusedParts(
            score=float(self.dense_parts[place] + self.lexical_parts[place]),
            dense_part=float(self.dense_parts[place]),
            lexical_part=float(self.lexical_parts[place]),
            dense_rank=int(self.candidates.dense_ranks[place]) or None,
            lexical_rank=int(self.candidates.lexical_ranks[place]) or None,
            document_cosine=float(self.candidates.document_cosines[place]),
        )


Fuse = Callable[[BothSides], Fusion]


def rrf(candidates: BothSides, *, k: float = RRF_K, dense_share: float = RRF_DENSE_SHARE) -> Fusion:
    """Reciprocal rank fusion: `share / (k + dense rank) + (1 - share) / (k + lexical rank)`.

    A side that did not find a candidate gives it nothing. Cormack, Clarke and Büttcher,
    "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", 2009.
    """
    return _fusion(
        candidates,
        dense_share * _reciprocal(candidates.dense_ranks, k),
        (1 - dense_share) * _reciprocal(candidates.lexical_ranks, k),
    )


def convex(candidates: BothSides, *, dense_share: float = CONVEX_DENSE_SHARE) -> Fusion:
    """Convex combination: `share * cosine + (1 - share) * BM25 / highest BM25 of the query`.

    Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023.
    """
    highest = float(candidates.bm25.max(initial=0.0))
    return _fusion(
        candidates,
        dense_share * candidates.cosines.astype(np.float64),
        (1 - dense_share) * _share(candidates.bm25, highest),
    )


def coverage(candidates: BothSides) -> Fusion:
    """The default: `(1 - share) * cosine + share * document's cosine + weight * BM25 / ceiling`.

    Convex combination and RRF give the best lexical hit of every query the same, be it a text
    that holds each word or one that holds the two least telling words of ten. Divided by the
    ceiling, BM25 says which share of the query, each word weighed by its rarity, a text covers: a
    heading typed as it stands counts as much as the cosine or more, and a question in other words
    than the text's is left to the cosine. Words that no text holds raise the ceiling, as they
    should. Several fields may lift BM25 above the ceiling of one; that is not cut off.

    A document's cosine is the highest among its candidates. It tells documents apart by meaning
    and leaves more of the choice within one to the words; a document gains nothing by being long.

    Without a ceiling it falls back to `convex`. Scaling by a theoretical bound instead of what was
    seen: Bruch, Gai and Ingber 2023, who do so for the lower end. What it gives: docs/adr/0010.
    """
    ceiling = candidates.bm25_ceiling
    if ceiling is None or ceiling < LEAST_CEILING:
        return convex(candidates)
    own, share = candidates.cosines.astype(np.float64), COVERAGE_DOCUMENT_SHARE
    return _fusion(
        candidates,
        (1 - share) * own + share * candidates.document_cosines,
        COVERAGE_WEIGHT * _share(candidates.bm25, ceiling),
    )


# Inside ----------------------------------------------------------------------------------------


def _fusion(candidates: BothSides, dense_parts: Floats, lexical_parts: Floats) -> Fusion:
    order = np.lexsort((-candidates.bm25, -candidates.cosines, -(dense_parts + lexical_parts)))
    return Fusion(dense_parts, lexical_parts, candidates, order)


def _ranks_among(scores: npt.NDArray[np.floating], found: npt.NDArray[np.bool_]) -> Ranks:
    """1 and how many of those found score higher; 0 for what was not found."""
    falling = np.sort(-scores[found])
    return np.where(found, np.searchsorted(falling, -scores, side="left") + 1, 0)


def _reciprocal(ranks: Ranks, k: float) -> Floats:
    return np.where(ranks > 0, 1.0 / (k + np.maximum(ranks, 1)), 0.0)


def _share(bm25: npt.NDArray[np.floating], whole: float) -> Floats:
    """BM25 divided by what counts as whole; 0 throughout where nothing was found."""
    return bm25.astype(np.float64) / max(whole, LEAST_CEILING)
