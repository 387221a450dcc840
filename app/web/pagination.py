"""Cursors for keyset paging: opaque to clients, checked when they come back."""

import base64
import binascii
import json
from dataclasses import dataclass

from app.errors import InvalidRequestError

ROW_ID_LIMIT = 2**63


@dataclass(frozen=True)
class Cursor:
    """The place after which a page starts: the sort value and id of the last row seen."""

    sort: str
    value: str | int
    row_id: int

    def encode(self) -> str:
        """Turn into the opaque text that clients hand back."""
        document = json.dumps([self.sort, self.value, self.row_id], separators=(",", ":"))
        return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, sort: str) -> "Cursor":
        """Read a cursor back; raises InvalidRequestError unless we made it for this sorting."""
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            made_for, value, row_id = json.loads(raw)
        except (ValueError, binascii.Error, UnicodeError, TypeError, RecursionError):
            made_for, value, row_id = None, None, None
        well_formed = (
            made_for == sort
            and isinstance(value, str | int)
            and isinstance(row_id, int)
            and abs(row_id) < ROW_ID_LIMIT
            and not (isinstance(value, int) and abs(value) >= ROW_ID_LIMIT)
        )
        if not well_formed:
            raise cls.refusal()
        return cls(sort, value, row_id)

    @staticmethod
    def refusal() -> InvalidRequestError:
        """The error for a cursor that is not ours."""
        return InvalidRequestError(
            "Use next_cursor of the page before, with the same sort, or leave it out.",
            pointer="#/cursor",
        )
