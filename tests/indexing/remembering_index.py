"""A lexical index that shows what it was given."""

from collections.abc import Callable, Sequence

from app.protocols import LexicalRecord
from tests.contracts.fake_lexical_index import FakeLexicalIndex


class RememberingLexicalIndex(FakeLexicalIndex):
    """Shows what it was given; `meanwhile` happens while the first records are written."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[str, LexicalRecord] = {}
        self.meanwhile: Callable[[], object] | None = None

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        super().upsert(records)
        self.records |= {record.chunk_id: record for record in records}
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
