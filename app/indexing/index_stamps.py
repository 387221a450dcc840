"""Which index on disk may be trusted at a start: the one whose seal bears the stamp in SQL."""

from collections.abc import Collection, Mapping

from app.adapters.index_seal import IndexSeal
from app.database import Database
from app.indexing import maintenance_queries


class IndexStamps:
    """The seals of the indexes, by name, and their stamps in SQL."""

    def __init__(self, database: Database, seals: Mapping[str, IndexSeal]) -> None:
        self._database = database
        self._seals = seals

    def is_intact(self, name: str) -> bool:
        """Whether the index is as it was closed, beside the database that was closed with it."""
        with self._database.read() as session:
            stamp = maintenance_queries.index_stamp(session, name)
        return self._seals[name].holds(stamp)

    def renew(self, names: Collection[str]) -> None:
        """Seal these indexes, which are closed and hold what SQL holds; raises StorageError."""
        stamps = {name: self._seals[name].renew() for name in sorted(names)}
        with self._database.write() as session:
            for name, stamp in stamps.items():
                maintenance_queries.put_index_stamp(session, name, stamp or "")
