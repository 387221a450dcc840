"""A store whose indexes are fakes that fail on demand."""

from app.errors import LexicalIndexError
from tests.contracts.fake_lexical_index import FakeLexicalIndex


class FlakyStore:
    """Keeps one fake index; what is set to `broken` fails."""

    name = "flaky"

    def __init__(self) -> None:
        self.broken = False
        self.complete = False
        self.unfinished = False
        self.exchanged: str | None = None
        self.rotten: str | None = None
        self.index: FakeLexicalIndex | None = None

    def open(self) -> FakeLexicalIndex:
        if self.broken or self.index is None or not self.complete:
            raise LexicalIndexError("Nothing usable is there.")
        return self.index

    def open_unfinished(self) -> FakeLexicalIndex | None:
        return self.index if self.unfinished and not self.broken else None

    def recreate(self) -> FakeLexicalIndex:
        if self.broken:
            raise LexicalIndexError("The disk is full.")
        self.complete, self.unfinished = False, True
        self.index = FakeLexicalIndex()
        return self.index

    def mark_complete(self) -> None:
        self.complete, self.unfinished = True, False

    def mark_incomplete(self) -> None:
        self.complete = self.unfinished = False

    def fault(self) -> str | None:
        return self.exchanged

    def damage(self) -> str | None:
        return self.rotten
