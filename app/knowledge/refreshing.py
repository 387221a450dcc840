"""How often the source of an item is looked at by itself, and when next."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from app.knowledge.items import is_web_address

LOCAL_SECONDS = 300
"""Default for what lies on this machine. Changes are seen sooner where folders are watched."""

WEB_SECONDS = 86_400
"""Default for web pages: once a day."""

MOST_SECONDS = 31_536_000
"""The longest `refresh_interval`: a year."""

JITTER = 0.1
"""Part of a time by which it is made longer or shorter, so that items do not fall due at once."""

RETRY_SECONDS = 600
"""Longest wait after a first failure; it doubles with each further one …"""

LONGEST_RETRY_SECONDS = 3600
"""… up to this, or to the item's interval where that is longer."""

LONGEST_RETRY_AFTER_SECONDS = 7 * 86_400
"""A server that asks for more patience than a week is asked again after a week."""

DEFAULT_PORTS = {"http": 80, "https": 443}

FOLLOWED_STATUSES = ("active", "error")
"""What somebody has had indexed. Pending items wait to be asked for, archived ones rest."""


def host_of(uri: str) -> str | None:
    """Host and port of a web address, as it is compared; None for any other, or without a host."""
    if not is_web_address(uri):
        return None
    try:
        parts = urlsplit(uri.strip())
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
        name = (parts.hostname or "").rstrip(".")
        host = name if name.isascii() else name.encode("idna").decode("ascii")
    except ValueError:  # UnicodeError is one
        return None
    return f"{host}:{port}" if host and port else None


def interval_seconds(refresh_interval: int | None, uri: str) -> int | None:
    """Seconds between two looks at a source; None: it is never looked at by itself."""
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
    chance: Callable[[], float] = random.random,
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

    What lies further ahead was set before the clock was put back. The little more is for clocks
    that are put right by a moment, as happens all the time.
    """
    interval = interval_seconds(refresh_interval, uri) or 0
    asked = LONGEST_RETRY_AFTER_SECONDS if is_web_address(uri) else 0
    return max(interval, LONGEST_RETRY_SECONDS, asked) * (1 + 2 * JITTER)
