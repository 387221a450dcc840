"""Cursors for keyset paging: opaque to clients, checked when they come back."""

import base64
import json
from dataclasses import dataclass

from app.errors import InvalidRequestError
from app.json_numbers import LARGEST_ID


@dataclass(frozen=True)
class Cursor:
    """The place after which a page starts: sort value and id of the last row of the page before."""

    list_name: str
    """Which list it belongs to, and in which order."""
    value: str | int
    row_id: int

    def encode(self) -> str:
        """The opaque text that clients send back."""
        # Not escaped: else a title of 500 emoji would not fit into a query.
        document = json.dumps(
            [self.list_name, self.value, self.row_id], separators=(",", ":"), ensure_ascii=False
        )
        return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, list_name: str) -> "Cursor":
        """Read a cursor back; raises InvalidRequestError unless we made it for this list."""
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            made_for, value, row_id = json.loads(raw)
            cursor = cls(made_for, value, row_id)
            # The decoder skips unknown characters; but only what we made encodes to the same again.
            ours = made_for == list_name and cursor.encode() == text and cursor.fits_database()
        except (ValueError, TypeError, RecursionError):
            ours = False
        if not ours:
            raise cls.refusal()
        return cursor

    def fits_database(self) -> bool:
        """Whether SQL can compare with the values: right types, numbers of 64 bits, no NUL."""
        if isinstance(self.value, str):
            fits = "\x00" not in self.value
        else:
            fits = type(self.value) is int and abs(self.value) <= LARGEST_ID
        return fits and type(self.row_id) is int and abs(self.row_id) <= LARGEST_ID

    @staticmethod
    def refusal() -> InvalidRequestError:
        """The error for a cursor that is not ours."""
        return InvalidRequestError(
            "Use next_cursor of the page before, of the same list with the same filters in the "
            "same order, or leave it out.",
            pointer="#/cursor",
        )
