"""The latest writes to the lexical index: SQL may not have committed them."""

from collections import OrderedDict
from collections.abc import Sequence

from app.protocols import LexicalRecord

UNSETTLED_RECORDS = 4096
"""How many are kept in memory: up to 10 MB with chunks of 1,000 characters."""


class UnsettledWrites:
    """The latest records that were written and not removed since. Used under the writers' lock."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, LexicalRecord] = OrderedDict()

    def note_upsert(self, records: Sequence[LexicalRecord]) -> None:
        """These records are written now; what was written long before them is forgotten."""
        for record in records:
            self._records.pop(record.chunk_id, None)
            self._records[record.chunk_id] = record
        while len(self._records) > UNSETTLED_RECORDS:
            self._records.popitem(last=False)

    def note_removal(self, chunk_ids: Sequence[str]) -> None:
        """These records are removed now."""
        for chunk_id in chunk_ids:
            self._records.pop(chunk_id, None)

    def forget(self) -> None:
        """Nobody will ask any more."""
        self._records.clear()

    def records(self) -> list[LexicalRecord]:
        """All that are kept, the oldest write first."""
        return list(self._records.values())
