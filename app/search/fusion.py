"""Fuses what the dense and the lexical side found into one order that can be recomputed by hand."""

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
WORDS_WEIGHT = 0.6
"""What the best hit by words is worth in `coverage`, as a cosine, if it says all of the query and
no other document comes near it."""
LEAST_COVERED = 0.7
"""The share of WORDS_WEIGHT that is left if it says next to nothing of the query."""
LEAST_CONTRAST = 0.3
"""The share of WORDS_WEIGHT that is left if ten other documents come as near as can be: a word that
many say still counts for those that say it."""
CONTRAST_DOCUMENTS = 10
"""How near the others come is read off the document at this place among them."""
EXACT_WEIGHT = 0.3
"""What saying all of the query is worth on top of that."""
EXACT_POWER = 4
"""So high that saying half of it is worth next to nothing: this is for a heading typed in full."""
COVERAGE_DOCUMENT_SHARE = 0.5
"""How much of a chunk's cosine is that of its document's best chunk. Less serves passages,
more serves whole files, by little: docs/adr/0010."""

LEAST_CEILING = 1e-9
"""A ceiling below this means nothing: even among two texts, the rarest word is worth over 1."""


@dataclass(frozen=True)
class BothSides:
    """What the two sides found for one query, a chunk at each place; arrays of shape (n,)."""

    cosines: npt.NDArray[np.floating]
    """Cosine of query and chunk, known for every candidate; all 0 if the query has no vector."""
    bm25: npt.NDArray[np.floating]
    """BM25 of the chunk, more for words in the order in which they were typed; 0 if the lexical
    side did not find it."""
    found_dense: npt.NDArray[np.bool_]
    """Whether the dense side found the chunk. Only ranks need this: every cosine counts."""
    bm25_ceiling: float | None = None
    """The BM25 of a text that says each word of the query as densely as BM25 rewards: (k1 + 1)
    times the sum of the words' inverse document frequencies. None: not known."""
    documents: npt.NDArray[np.int64] | None = None
    """The number of each candidate's document. None: not known, each counts as a document."""
    guessed: float = 0.0
    """The share of the ceiling of words that no text says, and others were looked for instead."""

    def __post_init__(self) -> None:
        """Raise ValueError for what would silently give a wrong order."""
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
        return self._highest_of_documents(self.cosines)[self._document_places]

    @functools.cached_property
    def highest_bm25(self) -> float:
        """The BM25 of the best by words; 0 if there is none."""
        return float(self.bm25.max(initial=0.0))

    @functools.cached_property
    def contrasts(self) -> Floats:
        """How far the best by words is ahead of the other documents, 0 to 1; shape (n,).

        This is 1 minus the share that the tenth best document has of the highest BM25. The
        candidate's own document is left out, so that it never counts against itself. Of fewer than
        twenty documents, the one half-way down is taken. 1 if that one says none of the words.

        What was guessed counts for less where meaning does not agree: the contrast is less by the
        square of the share of the query that was guessed, times what the square of the candidate's
        cosine lacks of that of the nearest. One mistyped word of many changes little.
        """
        highest = self._highest_of_documents(self.bm25)
        if not self.highest_bm25:
            return np.zeros(len(self.bm25))
        nth = min(CONTRAST_DOCUMENTS, max(len(highest) // 2, 1))
        falling = np.append(np.sort(highest)[::-1], (0.0, 0.0))
        others = np.where(highest >= falling[nth - 1], falling[nth], falling[nth - 1])
        contrasts: Floats = (1 - others / self.highest_bm25)[self._document_places]
        if self.guessed:
            contrasts *= 1 - self.guessed**2 * (1 - self._nearness**2)
        return contrasts

    @property
    def _nearness(self) -> Floats:
        """The cosine of each as a share of the highest, 0 to 1; shape (n,)."""
        cosines: Floats = np.maximum(self.cosines, 0.0).astype(np.float64)
        return cosines / max(float(cosines.max(initial=0.0)), LEAST_CEILING)

    @functools.cached_property
    def _document_places(self) -> Ranks:
        """The document of each candidate, numbered from 0; shape (n,)."""
        if self.documents is None:
            return np.arange(len(self.cosines))
        places: Ranks = np.unique(self.documents, return_inverse=True)[1]
        return places

    def _highest_of_documents(self, scores: npt.NDArray[np.floating]) -> Floats:
        """The highest score in each document; shape (documents,)."""
        places = self._document_places
        highest = np.full(int(places.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(highest, places, scores)
        return highest


@dataclass(frozen=True)
class FusedParts:
    """How one candidate got its score: `dense_part + lexical_part == score`."""

    score: float
    dense_part: float
    lexical_part: float
    dense_rank: int | None
    """1 is the best; equal scores share a rank. None: not found by that side."""
    lexical_rank: int | None
    document_cosine: float
    """The highest cosine among the candidates of its document; its own if none is known."""
    contrast: float
    """See BothSides.contrasts; counts in `coverage`."""


@dataclass(frozen=True)
class Fusion:
    """The fused scores, each the sum of what both sides gave; arrays of shape (n,)."""

    dense_parts: Floats
    lexical_parts: Floats
    candidates: BothSides
    order: Ranks
    """Places of the candidates, best first. Of equal scores, the higher cosine comes first, then
    the higher BM25, then the candidate that stood first."""

    @property
    def scores(self) -> Floats:
        """The fused scores, comparable only within one query."""
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
            contrast=float(self.candidates.contrasts[place]),
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
    return _fusion(
        candidates,
        dense_share * candidates.cosines.astype(np.float64),
        (1 - dense_share) * _share(candidates.bm25, candidates.highest_bm25),
    )


def coverage(candidates: BothSides) -> Fusion:
    """The default: `(1 - share) * cosine + share * document's cosine + words`, where `words` is

    `0.6 * (0.7 + 0.3 * best coverage) * (0.3 + 0.7 * contrast) * BM25 / highest BM25
    + 0.3 * coverage ** 4`, and coverage is `BM25 / ceiling`, at most 1.

    How much words are worth beside the cosine is read off the query's own hits. If one document is
    far ahead of the others by words (contrast 1), as for a name, an error message or a rare term,
    it is most likely what is meant. If ten others say about as much (contrast 0), as for a question
    in everyday words, the words tell little, and the cosine decides.

    Divided by the ceiling, BM25 tells which share of the query a text covers, each word weighed by
    its rarity; a text that says it as it was typed gets up to three times that. If even the best
    covers little, words count for less. A heading typed in full counts for more, whatever else
    comes near.

    A document's cosine is the highest among its candidates. It tells documents apart by meaning,
    and leaves more of the choice within a document to the words. A document gains nothing by being
    long.

    Without a ceiling, this falls back to `convex`. Scaling by a theoretical bound instead of by
    what was observed: Bruch, Gai and Ingber 2023, who do so for the lower end. What it gives:
    docs/adr/0022.
    """
    ceiling = candidates.bm25_ceiling
    if ceiling is None or ceiling < LEAST_CEILING:
        return convex(candidates)
    own, share = candidates.cosines.astype(np.float64), COVERAGE_DOCUMENT_SHARE
    covered = np.minimum(_share(candidates.bm25, ceiling), 1.0)
    weights = (
        WORDS_WEIGHT
        * (LEAST_COVERED + (1 - LEAST_COVERED) * covered.max(initial=0.0))
        * (LEAST_CONTRAST + (1 - LEAST_CONTRAST) * candidates.contrasts)
    )
    return _fusion(
        candidates,
        (1 - share) * own + share * candidates.document_cosines,
        weights * _share(candidates.bm25, candidates.highest_bm25)
        + EXACT_WEIGHT * covered**EXACT_POWER,
    )


# Inside ----------------------------------------------------------------------------------------


def _fusion(candidates: BothSides, dense_parts: Floats, lexical_parts: Floats) -> Fusion:
    order = np.lexsort((-candidates.bm25, -candidates.cosines, -(dense_parts + lexical_parts)))
    return Fusion(dense_parts, lexical_parts, candidates, order)


def _ranks_among(scores: npt.NDArray[np.floating], found: npt.NDArray[np.bool_]) -> Ranks:
    """1 plus how many of those found score higher; 0 for those not found."""
    falling = np.sort(-scores[found])
    return np.where(found, np.searchsorted(falling, -scores, side="left") + 1, 0)


def _reciprocal(ranks: Ranks, k: float) -> Floats:
    return np.where(ranks > 0, 1.0 / (k + np.maximum(ranks, 1)), 0.0)


def _share(bm25: npt.NDArray[np.floating], whole: float) -> Floats:
    """BM25 as a share of the whole; all 0 if nothing was found."""
    return bm25.astype(np.float64) / max(whole, LEAST_CEILING)
