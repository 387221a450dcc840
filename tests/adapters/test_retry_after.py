"""How long a server asks to be left alone is read from seconds and from dates."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from app.adapters.retry_after import retry_after_seconds

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (None, None),
        ("", None),
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("9" * 400, 999_999_999),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("Thu, 01 Jan 2026 12:02:00 GMT", 120),
        (format_datetime(NOON.replace(hour=13), usegmt=True), 3600),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
        ("Thu, 01 Jan 2026 12:02:00 -0000", 120),
        ("Thu, 99 Jan 2026 12:02:00 GMT", None),
        ("Thu, 01 Jan 99999999999 12:02:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(written, seconds):
    assert retry_after_seconds(written, NOON) == seconds
