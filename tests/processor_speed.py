"""Bounds in seconds of CPU, which heed how fast this processor runs Python just now."""

import time

ADDITIONS = 10_000_000
LOOP_SECONDS = 0.5
"""Of CPU for that many additions. An AMD processor of family 25, model 1, takes 0.52 to 0.68 s, as
the minutes go, and 1.6 s while both cores have more to do than they can; a faster one is given no
more time for that."""

MOST_SLOWNESS = 4.0
"""More than that machine has ever shown; a bound is not to grow without end."""


def slowness() -> float:
    """How many times as long as LOOP_SECONDS a loop of ADDITIONS takes; 1 to MOST_SLOWNESS."""
    started = time.process_time()
    total = 0
    for number in range(ADDITIONS):
        total += number
    seconds = time.process_time() - started
    return min(max(1.0, seconds / LOOP_SECONDS), MOST_SLOWNESS)


def is_within(bound: float, started: float) -> bool:
    """Whether less than `bound` seconds of CPU have passed since `started`.

    On a slow processor, they are as many times longer. `started` is of `time.process_time`.
    """
    seconds = time.process_time() - started
    return seconds < bound or seconds < bound * slowness()
