"""How often the schedule looks at the source of an item, and when it does so next."""

from collections.abc import Callable
from datetime import datetime, timedelta

from app.adapters.retry_after import LONGEST_RETRY_AFTER_SECONDS
from app.chance import draw
from app.knowledge.items import is_web_address

LOCAL_SECONDS = 300
"""Default for sources on this machine. Where folders are watched, changes are seen sooner."""

WEB_SECONDS = 86_400
"""Default for web pages: once a day."""

MOST_SECONDS = 31_536_000
"""The longest `refresh_interval`: a year."""

JITTER = 0.1
"""The share by which times are varied, so that items do not all fall due at once."""

RETRY_SECONDS = 600
"""Longest wait after a first failure; it doubles with each further one …"""

LONGEST_RETRY_SECONDS = 3600
"""… up to this, or to the item's interval where that is longer."""

FOLLOWED_STATUSES = ("active", "error")
"""Items that have been indexed on request. Pending ones still wait for that; archived ones rest."""


def interval_seconds(refresh_interval: int | None, uri: str) -> int | None:
    """Seconds between two looks at a source; None: the schedule never looks at it."""
    if refresh_interval is None:
        return WEB_SECONDS if is_web_address(uri) else LOCAL_SECONDS
    return refresh_interval or None


def next_refresh(
    moment: datetime,
    refresh_interval: int | None,
    uri: str,
    *,
    failures: int = 0,
    retry_after_seconds: float | None = None,
    chance: Callable[[], float] = draw,
) -> datetime | None:
    """When a source is to be looked at after a run that ended at `moment`; None: never.

    `failures` counts the runs that failed one after the other, this one included;
    `retry_after_seconds` is what the source asked for; `chance` gives 0 to 1.
    """
    interval = interval_seconds(refresh_interval, uri)
    if interval is None:
        return None
    seconds = float(interval)
    if failures:
        first = min(interval, RETRY_SECONDS)
        longest = max(interval, LONGEST_RETRY_SECONDS)
        seconds = min(first * 2.0 ** min(failures - 1, 30), longest)
    seconds *= 1 - JITTER + 2 * JITTER * chance()
    asked = min(retry_after_seconds or 0.0, LONGEST_RETRY_AFTER_SECONDS)
    return moment + timedelta(seconds=max(seconds, asked))


def longest_wait_seconds(refresh_interval: int | None, uri: str) -> float:
    """The most that `next_refresh` puts between a run and the next, and a little more.

    A time further ahead was set before the clock was put back. The margin is for small corrections
    of the clock, which happen all the time.
    """
    interval = interval_seconds(refresh_interval, uri) or 0
    asked = LONGEST_RETRY_AFTER_SECONDS if is_web_address(uri) else 0
    return max(interval, LONGEST_RETRY_SECONDS, asked) * (1 + 2 * JITTER)
