"""How slowly this processor runs Python just now, for bounds in seconds that were set on others."""

import time

ADDITIONS = 10_000_000
LOOP_SECONDS = 0.5
"""Of CPU for that many additions. An AMD processor of family 25, model 1, takes 0.52 to 0.68 s, as
the minutes go; a faster one is given no more time for that."""


def slowness() -> float:
    """How many times as long as LOOP_SECONDS a loop of ADDITIONS takes; at least 1."""
    started = time.process_time()
    total = 0
    for number in range(ADDITIONS):
        total += number
    return max(1.0, (time.process_time() - started) / LOOP_SECONDS)
