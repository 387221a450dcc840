"""How long each stage of a search took."""

from itertools import chain

StageSeconds = tuple[tuple[str, float], ...]
"""Stages with their seconds; one that took no part is not among them."""


def added(*times: StageSeconds) -> StageSeconds:
    """The seconds of each stage in all of these together."""
    sums: dict[str, float] = {}
    for stage, seconds in chain(*times):
        sums[stage] = sums.get(stage, 0.0) + seconds
    return tuple(sums.items())
