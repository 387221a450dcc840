"""What a lexical index that heals rests on: a store, and indexes that can be filled in bulk."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.errors import LexicalIndexError
from app.protocols import LexicalIndex, LexicalRecord


class NoLexicalIndexError(LexicalIndexError):
    """There is none yet, or none by the rules of today: nothing that was there is damaged."""


@dataclass(frozen=True)
class LexicalIndexStatus:
    """How the index is doing."""

    name: str
    ready: bool
    """Whether searches are answered."""
    degraded_reason: str | None
    count: int
    """Records in the index that answers; 0 when none does."""


class FillableLexicalIndex(LexicalIndex, Protocol):
    """A lexical index that can be filled with less effort than by `upsert`."""

    def add(self, records: Sequence[LexicalRecord]) -> None:
        """Add records that it does not hold; they are found, and durable, after the next `keep`.

        Until then `upsert` and `remove` treat them as they treat all others.
        """
        ...

    def keep(self) -> None:
        """Make everything that was added durable, and let searches find it.

        To be called now and then beside that: where much was removed, it makes room.
        """
        ...


class LexicalStore(Protocol):
    """Where the index comes from. Failures raise LexicalIndexError."""

    @property
    def name(self) -> str:
        """What people know the index by."""
        ...

    def open(self) -> FillableLexicalIndex:
        """Open a complete index; raises when it is missing, incomplete or damaged.

        NoLexicalIndexError: it is to be made, and that is in order.
        """
        ...

    def open_unfinished(self) -> FillableLexicalIndex | None:
        """Open an index whose making was interrupted; None when there is none of any use."""
        ...

    def recreate(self) -> FillableLexicalIndex:
        """Throw away what is there, and make an empty index that counts as unfinished."""
        ...

    def mark_complete(self) -> None:
        """Note durably that the index holds what it should."""
        ...

    def mark_incomplete(self) -> None:
        """Note durably that the index lacks something, and is not worth to be finished."""
        ...

    def fault(self) -> str | None:
        """Why what lies on the disk is not what was opened or made last; None: it is."""
        ...

    def damage(self) -> str | None:
        """Why what lies on the disk is not what was written, every byte of it read; None: it is."""
        ...
