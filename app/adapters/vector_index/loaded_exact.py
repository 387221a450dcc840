"""The exact scan as the only index: loaded from SQL at every start, nothing on disk."""

from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.status import VectorIndexStatus
from app.protocols import VectorSource


class LoadedExactIndex(ExactVectorIndex):
    """An exact index that fills itself when it is opened (VECTOR_INDEX=exact)."""

    def __init__(self, dimension: int, source: VectorSource) -> None:
        super().__init__(dimension)
        self._source = source

    def open(self, *, trusted: bool = True) -> None:  # noqa: ARG002, it trusts nothing but SQL
        """Load everything; before anybody writes."""
        for records in self._source():
            self.upsert(records)

    def rebuild(self) -> int:
        """There is nothing on disk that could be wrong: gives the number of records."""
        return self.count()

    @property
    def degraded_reason(self) -> None:
        """Nothing ever is."""
        return

    @property
    def status(self) -> VectorIndexStatus:
        """Ready as soon as it is loaded."""
        return VectorIndexStatus("exact", True, None, self.count())
