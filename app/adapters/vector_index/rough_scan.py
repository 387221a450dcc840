"""Vectors in one byte a component, and a quick scan of them that misses none of the best.

A scan in float32 is bound by memory: 38 MB for 25,000 x 384, which also drives the model's weights
out of the cache. Codes of one byte are a quarter of that, and processors multiply them faster.
"""

from concurrent.futures import Executor
from dataclasses import dataclass

import numkong
import numpy as np
import numpy.typing as npt

from app.adapters.vector_index.scoring import Rows, Scores
from app.protocols import Vector, Vectors

Codes = npt.NDArray[np.int8]
Steps = npt.NDArray[np.float32]

LARGEST_CODE = 127

ERROR_DEVIATIONS = 6.0
"""Rounding errors of a product's components are as good as independent, so their sum is normally
distributed: one row in a billion errs by more than this many standard deviations. Measured: at
most 3.5 deviations in 100,000 rows of real vectors."""

LOWEST = float(np.finfo(np.float32).min)
"""A score below every score but -inf."""

LEAST_ROWS_BESIDE = 10_000
"""Rows that are worth another thread: to wake one takes as long as some 5,000."""

BLOCK_ROWS = 64
"""Rows of which only the best is looked at to find where to cut: a 64th of the sorting. They lie
far apart, so that blocks are compared side by side: 0.01 ms for 100,000 rows and not 0.1."""


@dataclass(frozen=True)
class RoughQuery:
    """A query in one byte a component."""

    codes: Codes
    """Of shape (1, dimension)."""
    step: float


def encode(vectors: Vectors) -> tuple[Codes, Steps]:
    """Codes of shape (n, dimension) and steps of shape (n,): `codes * step` is about the vector."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    steps = (np.maximum(largest, np.finfo(np.float32).tiny) / LARGEST_CODE).astype(np.float32)
    return np.rint(vectors / steps[:, None]).astype(np.int8), steps


def encode_query(query: Vector) -> RoughQuery:
    """The query as `rough_scores` takes it."""
    codes, steps = encode(query[None])
    return RoughQuery(codes, float(steps[0]))


def rough_scores(
    codes: Codes, steps: Steps, query: RoughQuery, beside: Executor | None = None
) -> Scores:
    """The cosine of every row but for rounding, shape (n,); a thread of `beside` does half of it.

    That takes 1.0 to 1.2 ms for 100,000 x 384 on two cores, and 1.8 on one.
    """
    products = np.empty((1, len(codes)), np.float32)
    middle = len(codes) // 2
    if beside is None or middle < LEAST_ROWS_BESIDE:
        _multiply(query.codes, codes, products)
    else:
        second = beside.submit(_multiply, query.codes, codes[middle:], products[:, middle:])
        _multiply(query.codes, codes[:middle], products[:, :middle])
        second.result()
    scores: Scores = products[0]
    # In place: each further array of 100,000 rows is 100 pages that the system has to clear.
    scores *= steps
    scores *= np.float32(query.step)
    return scores


def _multiply(query_codes: Codes, codes: Codes, products: Scores) -> None:
    """Needs the interpreter at its beginning and its end alone: two threads are in no one's way."""
    numkong.cdist(query_codes, codes, "dot", out=products)


def largest_error(steps: Steps, query: RoughQuery) -> float:
    """How far a rough score of unit vectors may be from the cosine.

    Rounding to steps of size s errs by s / sqrt(12) a component (standard deviation of a uniform
    distribution); weighed by the components of a unit vector, the sum errs by just as much. Both
    sides are rounded.
    """
    coarsest = float(steps.max(initial=0.0))
    deviation = float(np.hypot(coarsest, query.step)) / float(np.sqrt(12.0))
    return ERROR_DEVIATIONS * deviation


def rows_near_the_best(scores: Scores, limit: int, error: float) -> Rows:
    """All rows that can be among the `limit` best when each score may be wrong by `error`.

    The `limit` best by score have cosines of at least the last one's score less the error; so a
    row is out of the question if its score is lower than that by more than its own error. Scores
    of -inf never are in question.
    """
    floor = max(_lower_bound_of_the_cut(scores, limit) - 2 * error, LOWEST)
    rows: Rows = np.flatnonzero(scores >= floor)
    near = scores[rows]
    if len(near) > limit:
        cut = np.partition(near, len(near) - limit)[len(near) - limit]
        rows = rows[near >= cut - 2 * error]
    return rows


def _lower_bound_of_the_cut(scores: Scores, limit: int) -> float:
    """A score that at least `limit` rows reach, and not many more."""
    blocks = len(scores) // BLOCK_ROWS
    if blocks <= limit:
        return LOWEST
    best = scores[: blocks * BLOCK_ROWS].reshape(BLOCK_ROWS, blocks).max(axis=0)
    return float(np.partition(best, blocks - limit)[blocks - limit])
