"""Lets other documents have their say: of about equal results, those of one document come later."""

import dataclasses

import numpy as np

from app.search.fusion import Ranks
from app.search.profiles import Ranking
from app.search.ranking import RankedCandidates
from app.search.requests import SearchRequest

MOST_COUNTED = 4
"""Of better ones; from there on, a document's chunks lose no more. What follows keeps its order."""


def spread(ranked: RankedCandidates, request: SearchRequest, ranking: Ranking) -> RankedCandidates:
    """The candidates by their score less `document_penalty` for each better one of their document.

    Only where the request leaves the order to us, and not with diversity, which has repetition lose
    anyway. A document's chunks keep their order, and so do the best ones of all documents. Not for
    queries that exclude words: what they leave out would count, and is known only once texts are
    read.
    """
    documents = ranked.fused.candidates.documents
    may_lose = request.leaves_order_to_us and not ranking.diversity
    if not may_lose or documents is None or not ranking.document_penalty:
        return ranked
    better = _better_ones(documents[ranked.places])
    penalties = ranking.document_penalty * np.minimum(better, MOST_COUNTED)
    order = np.argsort(penalties - ranked.strengths(), kind="stable")
    return dataclasses.replace(ranked, penalties=penalties).in_order(order)


def _better_ones(documents: Ranks) -> Ranks:
    """For each, how many of the same document stand before it; shape (n,)."""
    grouped = np.argsort(documents, kind="stable")
    changes = np.flatnonzero(np.diff(documents[grouped])) + 1
    sizes = np.diff(np.concatenate(([0], changes, [len(documents)])))
    starts = np.repeat(np.concatenate(([0], changes)), sizes)
    better = np.empty(len(documents), np.int64)
    better[grouped] = np.arange(len(documents)) - starts
    return better
