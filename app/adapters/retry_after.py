"""How long a server asks to be left alone, in its header Retry-After."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_RETRY_AFTER_SECONDS = 7 * 86_400.0
"""A server that asks for more patience than a week is asked again after a week."""


def retry_after_seconds(written: str | None, moment: datetime) -> float | None:
    """What a Retry-After header asks for (RFC 9110, 10.2.3): seconds, or until a date.

    None when there is none, or none that can be read; a date that has passed is 0 seconds.
    """
    text = (written or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])  # thirty years are as good as for ever
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - moment).total_seconds())
