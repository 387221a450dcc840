"""Frees disk space and erases for good what was deleted: rewrites the indexes and the database."""

import logging
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.database import Database
from app.errors import StorageError
from app.fault_points import FaultPoint, reached
from app.indexing import repair_queries
from app.indexing.maintenance import RebuildableLexicalIndex, RebuildableVectorIndex
from app.indexing.publisher import Publisher
from app.jobs.forgetting_queries import forget_what_has_gone

logger = logging.getLogger(__name__)

MEBIBYTE = 1 << 20

SLACK_BYTES = 64 * MEBIBYTE
"""Free space that is left for everything else on the disk."""

LOG_SUFFIX = "-wal"
PASSING_FILES = (LOG_SUFFIX, "-shm")

DATABASE_COPIES = 2
"""How often SQLite writes the database: once into a temporary file, and once into its log."""


@dataclass(frozen=True)
class StorageSizes:
    """Bytes on the disk."""

    database: int
    vector_index: int
    lexical_index: int

    @property
    def total(self) -> int:
        """All three."""
        return self.database + self.vector_index + self.lexical_index


@dataclass(frozen=True)
class CompactionReport:
    """What compacting has changed."""

    before: StorageSizes
    after: StorageSizes
    generations_dropped: int
    """Former generations that were kept: it is no longer possible to return to them."""
    embeddings_dropped: int
    """Vectors that were kept although no chunk had their text any more."""


class Compaction:
    """For a service that nobody else works with. A kill at any moment loses nothing:

    vectors are dropped in transactions, SQLite replaces its file through its log, and an index that
    is not finished is found out at the next start and filled again.
    """

    def __init__(
        self,
        *,
        database: Database,
        vector_index: RebuildableVectorIndex,
        lexical_index: RebuildableLexicalIndex,
        publisher: Publisher,
        data_dir: Path,
        index_folders: tuple[Path, Path],
        drop_leftovers: Callable[[], None] = lambda: None,
        drop_kept: Callable[[], int] = lambda: 0,
        free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        """`index_folders`: of the vector and of the lexical index.

        `drop_leftovers` deletes what an index that is not in use (any more) has left,
        `drop_kept` what is kept of former generations; it gives how many.
        """
        self._database = database
        self._index = vector_index
        self._lexical_index = lexical_index
        self._publisher = publisher
        self._data_dir = data_dir
        self._index_folders = index_folders
        self._drop_leftovers = drop_leftovers
        self._drop_kept = drop_kept
        self._free_bytes = free_bytes

    def run(self) -> CompactionReport:
        """Compact everything.

        Raises StorageError when the disk has too little room for that, or when the database's file
        is damaged: if an index of SQLite's lacks rows, texts in use would pass for unused ones.
        """
        self._require_sound_file()
        self._publisher.settled().result()
        before = self._sizes()
        self._require_space(before)
        with self._database.write() as session:
            forget_what_has_gone(session)
        generations = self._drop_kept()
        embeddings = self._drop_embeddings()
        reached(FaultPoint.EMBEDDINGS_DROPPED)
        self._database.vacuum()
        reached(FaultPoint.DATABASE_VACUUMED)
        self._drop_leftovers()
        self._lexical_index.rebuild()
        reached(FaultPoint.LEXICAL_REBUILT)
        self._index.rebuild()
        reached(FaultPoint.VECTORS_REBUILT)
        self._publisher.settled().result()
        return CompactionReport(before, self._sizes(), generations, embeddings)

    def _drop_embeddings(self) -> int:
        dropped, last = 0, ("", "")
        while True:
            with self._database.write() as session:
                some = repair_queries.drop_unreferenced_embeddings(session, last)
            if not some:
                return dropped
            dropped, last = dropped + len(some), some[-1]

    def _require_sound_file(self) -> None:
        damage = self._database.damage()
        if damage:
            raise StorageError(
                f"The database's file is damaged: {damage[0]}. Nothing was compacted; run "
                "`groundwork verify --repair` first, and restore a back-up if that does not help."
            )

    def _require_space(self, sizes: StorageSizes) -> None:
        database_files = DATABASE_COPIES * sizes.database if self._database.is_sqlite else 0
        needed = database_files + sizes.vector_index + sizes.lexical_index + SLACK_BYTES
        free = self._free_bytes(self._data_dir)
        if free < needed:
            raise StorageError(
                f"Compacting needs {needed // MEBIBYTE:,} MiB of free space for a while, and the "
                f"disk of {self._data_dir} has {free // MEBIBYTE:,}. Nothing was changed; free "
                "some space and try again."
            )

    def _sizes(self) -> StorageSizes:
        vectors, words = (_size(folder) for folder in self._index_folders)
        return StorageSizes(self._database.size_bytes(), vectors, words)


def _size(folder: Path) -> int:
    """Bytes of all files below a folder; files that vanish in the meantime do not count.

    Nor do SQLite's logs, which Chroma has while it is open: they go when it is closed, and what
    they say then stands in its database.
    """
    size = 0
    for path in folder.rglob("*"):
        if path.name.endswith(PASSING_FILES):
            continue
        try:
            if path.is_file():
                size += _database_size(path) or path.lstat().st_size
        except OSError:
            logger.debug("%s vanished while sizes were taken", path)
    return size


def _database_size(path: Path) -> int | None:
    """What a database of SQLite's takes once its log has gone into it; None if it has no log."""
    if not Path(f"{path}{LOG_SUFFIX}").exists():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            (pages,) = database.execute("PRAGMA page_count").fetchone()
            (page_bytes,) = database.execute("PRAGMA page_size").fetchone()
    except sqlite3.Error as error:
        logger.debug("%s cannot be asked for its size: %s", path, error)
        return None
    return int(pages * page_bytes)
