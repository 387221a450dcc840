"""Primaries that fail on demand."""

from app.adapters.vector_index.exact import ExactVectorIndex
from app.errors import VectorIndexError
from app.protocols import VectorIndex
from tests.contracts.vector_index_contract import DIMENSION


class NoStore:
    """A primary that can be neither opened nor made."""

    name = "none"

    def open(self) -> VectorIndex:
        raise VectorIndexError("There is no primary.")

    def recreate(self) -> VectorIndex:
        raise VectorIndexError("There is no primary.")

    def mark_complete(self) -> None: ...

    def mark_incomplete(self) -> None: ...


class FlakyStore:
    """Makes exact indexes that fail on demand."""

    name = "flaky"

    def __init__(self) -> None:
        self.broken = False
        self.complete = False
        self.index: VectorIndex | None = None

    def open(self) -> VectorIndex:
        if self.index is None or not self.complete:
            raise VectorIndexError("Nothing is there.")
        return self.index

    def recreate(self) -> VectorIndex:
        self.complete = False
        self.index = FlakyIndex(self)
        return self.index

    def mark_complete(self) -> None:
        self.complete = True

    def mark_incomplete(self) -> None:
        self.complete = False


class FlakyIndex(ExactVectorIndex):
    """An index whose every operation fails while its store is broken."""

    def __init__(self, store: FlakyStore) -> None:
        super().__init__(DIMENSION)
        self._store = store

    def _fail_if_broken(self) -> None:
        if self._store.broken:
            raise VectorIndexError("The primary is broken.")

    def upsert(self, records):
        self._fail_if_broken()
        super().upsert(records)

    def remove(self, chunk_ids):
        self._fail_if_broken()
        super().remove(chunk_ids)

    def search(self, vector, limit, item_ids=None):
        self._fail_if_broken()
        return super().search(vector, limit, item_ids)

    def chunk_ids(self):
        self._fail_if_broken()
        return super().chunk_ids()

    def clear(self):
        self._fail_if_broken()
        super().clear()
