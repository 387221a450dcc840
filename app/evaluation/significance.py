"""How sure a figure is: bootstrap intervals, and a paired test of two systems."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.errors import UnavailableError
from app.evaluation.extra import HOW_TO_INSTALL

BOOTSTRAP_DRAWINGS, TEST_DRAWINGS = 2_000, 9_999
"""Enough that another seed moves an interval's ends by about a hundredth of its width, and that
a p-value under 0.001 can be told."""

SEED = 20_261_122
"""The same figures from the same answers, every time."""

CONFIDENCE = 0.95

PAIRED_TEST = "two-sided paired permutation test on the means, 9,999 drawings"
"""Recommended over Wilcoxon and sign test by Smucker, Allan and Carterette (CIKM 2007)."""


def require_statistics() -> None:
    """Raise UnavailableError if what intervals and tests are made with is not installed."""
    _scipy_stats()


def confidence_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % percentile bootstrap interval of the mean; None for fewer than two values.

    Questions are drawn, not documents: it says how much the mean depends on these questions.
    """
    if len(values) < 2:
        return None
    drawn = _scipy_stats().bootstrap(
        (np.asarray(values),),
        np.mean,
        n_resamples=BOOTSTRAP_DRAWINGS,
        confidence_level=CONFIDENCE,
        method="percentile",
        batch=500,
        rng=np.random.default_rng(SEED),
    )
    low, high = sorted(map(float, drawn.confidence_interval))  # of equal values, rounding may swap
    return low, high


def paired_p_value(values: Sequence[float], others: Sequence[float]) -> float:
    """How likely two systems that are equally good differ this much on the same questions."""
    differences = np.asarray(values) - np.asarray(others)
    if len(differences) < 2 or not differences.any():
        return 1.0
    # Of paired values, a permutation swaps some pairs: it flips the signs of differences.
    tested = _scipy_stats().permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=TEST_DRAWINGS,
        batch=500,
        rng=np.random.default_rng(SEED),
    )
    return float(tested.pvalue)


def _scipy_stats() -> Any:
    try:
        from scipy import stats  # type: ignore[import-untyped]  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise UnavailableError(
            f"Intervals and tests come from scipy, which is not installed: {HOW_TO_INSTALL}"
        ) from error
    return stats
