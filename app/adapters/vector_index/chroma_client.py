"""The connection to an embedded Chroma: its compiled core, and its errors turned into ours."""

import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb_rust_bindings

from app.adapters.vector_index.chroma_files import DATABASE_NAME
from app.errors import VectorIndexError
from app.surviving import is_panic

RELEASE_TIMEOUT_SECONDS = 10.0
PLACE = ("default_tenant", "default_database")
"""Tenant and database that Chroma's own clients use, and that it makes by itself."""
GRAPHS_KEPT_OPEN = 100
"""We use one of a database. Chroma's own clients take a fifth of RLIMIT_NOFILE, which may be -1."""


@dataclass(frozen=True)
class ChromaCollection:
    """A collection, as Chroma describes it."""

    id: str
    name: str
    metadata: Mapping[str, Any]
    space: str | None


class ChromaClient:
    """The Chroma database of a folder, which is made if there is none.

    It calls Chroma's compiled core, as `chromadb.api.rust` does. The layers above it are for
    servers, embedding functions and telemetry; importing them takes over 1 s of CPU and 45 MB at
    each start (ADR 11). The core itself imports them when it raises its first error, for the
    classes. Raises what `translated_errors` turns.
    """

    def __init__(self, directory: Path) -> None:
        self._database = directory / DATABASE_NAME
        _write_ahead(self._database)
        try:
            self._core = chromadb_rust_bindings.Bindings(
                allow_reset=False,
                sqlite_db_config=chromadb_rust_bindings.SqliteDBConfig(
                    hash_type=chromadb_rust_bindings.MigrationHash.MD5,
                    migration_mode=chromadb_rust_bindings.MigrationMode.Apply,
                    url=str(self._database),
                ),
                persist_path=str(directory),
                hnsw_cache_size=GRAPHS_KEPT_OPEN,
            )
        except BaseException:
            _wait_until_released(self._database)
            raise

    def close(self) -> None:
        """Close the database, and wait until Chroma's threads have really let go of it.

        They do so a little later than it is closed, and would delete the write-ahead log of a
        database that had been made in the same place meanwhile.
        """
        del self._core
        _wait_until_released(self._database)

    def collections(self) -> list[ChromaCollection]:
        """All that there are."""
        return [_collection(each) for each in self._core.list_collections(None, None, *PLACE)]

    def create_collection(
        self, name: str, metadata: Mapping[str, Any], hnsw: Mapping[str, Any]
    ) -> ChromaCollection:
        """Make an empty one, whose graph is configured by `hnsw` for life."""
        configuration = {"hnsw": hnsw, "spann": None, "embedding_function": {"type": "legacy"}}
        return _collection(
            self._core.create_collection(
                name, json.dumps(configuration), None, dict(metadata), False, *PLACE
            )
        )

    def upsert(
        self,
        collection: ChromaCollection,
        ids: list[str],
        vectors: list[list[float]],
        metadata: list[dict[str, Any]],
    ) -> None:
        """Add records, or replace vectors of those that are there and merge their metadata."""
        self._core.upsert(collection.id, ids, vectors, metadata, None, None, *PLACE)

    def update_metadata(
        self, collection: ChromaCollection, ids: list[str], metadata: list[dict[str, Any]]
    ) -> None:
        """Merge metadata into that of records that are there; None removes a key."""
        self._core.update(collection.id, ids, None, metadata, None, None, *PLACE)

    def delete(self, collection: ChromaCollection, ids: list[str]) -> None:
        """Remove records; unknown ids are no error."""
        self._core.delete(collection.id, ids, None, None, None, *PLACE)

    def ids(self, collection: ChromaCollection) -> list[str]:
        """The ids of all records."""
        return list(self._get(collection, None, []).ids)

    def vectors(self, collection: ChromaCollection, ids: list[str]) -> dict[str, Sequence[float]]:
        """The vectors held for these ids; unknown ids are left out."""
        held = self._get(collection, ids, ["embeddings"])
        return dict(zip(held.ids, held.embeddings, strict=True))

    def metadata(
        self, collection: ChromaCollection, ids: list[str]
    ) -> dict[str, Mapping[str, Any]]:
        """The metadata held for these ids; unknown ids are left out."""
        held = self._get(collection, ids, ["metadatas"])
        return {key: each or {} for key, each in zip(held.ids, held.metadatas, strict=True)}

    def query(
        self, collection: ChromaCollection, vector: list[float], limit: int
    ) -> list[tuple[str, float]]:
        """The ids of the (approximately) nearest records, and their distances, nearest first."""
        found = self._core.query(
            collection.id, None, [vector], limit, None, None, ["distances"], *PLACE
        )
        return list(zip(found.ids[0], found.distances[0], strict=True))

    def count(self, collection: ChromaCollection) -> int:
        """How many records there are."""
        return int(self._core.count(collection.id, *PLACE))

    def _get(self, collection: ChromaCollection, ids: list[str] | None, include: list[str]) -> Any:
        return self._core.get(collection.id, ids, None, None, 0, None, include, *PLACE)


def _collection(described: Any) -> ChromaCollection:
    return ChromaCollection(
        str(described.id),
        described.name,
        described.metadata or {},
        (described.configuration.get("hnsw") or {}).get("space"),
    )


def _wait_until_released(database: Path) -> None:
    deadline = time.monotonic() + RELEASE_TIMEOUT_SECONDS
    while _open_files() & _identities(database):
        if time.monotonic() > deadline:
            raise VectorIndexError(f"Chroma does not let go of {database}; restart the service.")
        time.sleep(0.002)


def _identities(database: Path) -> set[tuple[int, int]]:
    """Device and inode of the database and its write-ahead log, where they exist."""
    identities = set()
    for path in (database, Path(f"{database}-wal"), Path(f"{database}-shm")):
        with suppress(OSError):
            status = path.stat()
            identities.add((status.st_dev, status.st_ino))
    return identities


def _open_files() -> set[tuple[int, int]]:
    """Device and inode of every file that this process has open."""
    identities = set()
    for descriptor in Path("/dev/fd").iterdir():
        with suppress(OSError):
            status = os.fstat(int(descriptor.name))
            identities.add((status.st_dev, status.st_ino))
    return identities


def _write_ahead(database: Path) -> None:
    """Let SQLite keep a write-ahead log: one fsync a write instead of three (16 to 6 ms here)."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


@contextmanager
def translated_errors(doing: str) -> Iterator[None]:
    """Turn whatever Chroma, SQLite and their Rust core raise into VectorIndexError."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError, TypeError, OverflowError) as error:
        raise VectorIndexError(f"The vector index could not {doing}: {error}") from error
    except BaseException as error:
        if not (is_panic(error) or _is_of_chroma(error)):
            raise
        raise VectorIndexError(f"The vector index could not {doing}: {error}") from error


def _is_of_chroma(error: BaseException) -> bool:
    """Whether Chroma says so itself: its core imports the classes when it raises the first."""
    errors = sys.modules.get("chromadb.errors")
    return errors is not None and isinstance(error, errors.ChromaError)
