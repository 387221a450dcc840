"""When a job that failed is tried again: by what kind of error it was, later each time."""

from collections.abc import Callable
from datetime import timedelta

from app.adapters.retry_after import LONGEST_RETRY_AFTER_SECONDS
from app.chance import draw
from app.jobs.records import Job, Outcome

MOST_RETRIES = 6
"""With the delays below: the last one about two hours after the first failure."""

FIRST_DELAY_SECONDS = 10.0
GROWTH = 4.0
LONGEST_DELAY_SECONDS = 3600.0
JITTER = 0.25
"""Each delay is longer or shorter by up to so much: what failed together returns one by one."""


def retry_delay(job: Job, outcome: Outcome, chance: Callable[[], float] = draw) -> timedelta | None:
    """How long to wait before the job is tried again; None when it is not.

    `chance` gives numbers from 0 to 1.
    """
    if outcome.state != "failed" or not (outcome.is_transient and job.retryable):
        return None
    if job.retries >= MOST_RETRIES:
        return None
    seconds = min(FIRST_DELAY_SECONDS * GROWTH**job.retries, LONGEST_DELAY_SECONDS)
    seconds *= 1 + JITTER * (2 * chance() - 1)
    asked = min(outcome.retry_after_seconds or 0.0, LONGEST_RETRY_AFTER_SECONDS)
    return timedelta(seconds=max(seconds, asked))
