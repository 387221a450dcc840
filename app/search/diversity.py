"""Maximal marginal relevance: of results that say the same, the first keeps its place."""

import numpy as np
import numpy.typing as npt

from app.search.fusion import Floats

DIVERSE_DEPTH = 128
"""The best candidates, among which repetition is looked for; the rest counts as repeating wholly,
and so comes after them in its own order."""


def marginal_relevance(
    scores: Floats, vectors: npt.NDArray[np.float32], diversity: float
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The order, and how far each candidate repeats one that stands above it (0 to 1).

    `scores` falls; `vectors` has a unit vector for each of the first of them (up to
    DIVERSE_DEPTH). Taken next is always the candidate with the highest
    `(1 - diversity) * score - diversity * repetition`, where repetition is its highest cosine to
    any that was taken before, at least 0; of equals, the one with the higher score. So these values
    fall from place to place. Carbonell and Goldstein, "The Use of MMR", 1998; λ = 1 - diversity.
    """
    depth = len(vectors)
    gains = (1.0 - diversity) * scores[:depth]
    nearest, values = np.zeros(depth), np.empty(depth)
    repetition = np.ones(len(scores))
    order = np.arange(len(scores))
    for place in range(depth):
        np.multiply(nearest, diversity, out=values)
        np.subtract(gains, values, out=values)
        taken = int(values.argmax())
        order[place] = taken
        repetition[taken] = nearest[taken]
        gains[taken] = -np.inf
        # Not `@`: on a busy machine it waits 20 ms for its threads.
        np.maximum(nearest, np.vecdot(vectors, vectors[taken]), out=nearest)
        np.minimum(nearest, 1.0, out=nearest)
    return order, repetition
