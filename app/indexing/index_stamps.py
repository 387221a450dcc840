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
        self._taken: dict[str, str] = {}

    def take(self) -> None:
        """Take the stamps out of SQL, before anything is changed there; raises StorageError.

        Whoever works on the database next finds none until this process has closed its indexes in
        order: after a kill, an index that lies in another data directory is not trusted either.
        """
        with self._database.write() as session:
            self._taken = maintenance_queries.take_index_stamps(session, self._seals.keys())

    def forget(self, name: str) -> None:
        """Let the next start distrust an index that is not kept up to date by this process."""
        self._taken.pop(name, None)

    def is_intact(self, name: str) -> bool:
        """Whether the index is as it was closed, beside the database that was closed with it."""
        return self._seals[name].holds(self._taken.get(name))

    def renew(self, names: Collection[str]) -> None:
        """Seal these indexes, which are closed and hold what SQL holds; raises StorageError.

        Those that rested all the time keep the stamp that was taken for them.
        """
        renewed = {name: self._seals[name].renew() or "" for name in sorted(names)}
        with self._database.write() as session:
            for name, stamp in (self._taken | renewed).items():
                maintenance_queries.put_index_stamp(session, name, stamp)
