"""The connection to an embedded Chroma: its settings, and its errors turned into ours."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import cast

import chromadb
from chromadb.api.client import Client
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from chromadb.errors import ChromaError

from app.adapters.vector_index.chroma_files import DATABASE_NAME
from app.errors import VectorIndexError
from app.surviving import is_panic

RELEASE_TIMEOUT_SECONDS = 10.0


def open_client(directory: Path) -> Client:
    """Open the folder's Chroma database, or make one. Raises what `translated_errors` turns.

    Every setting that the environment or a `.env` file could change is given here.
    """
    _write_ahead(directory / DATABASE_NAME)
    settings = Settings(
        _env_file=None,
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        migrations="apply",
        anonymized_telemetry=False,
        allow_reset=False,
    )
    try:
        return cast("Client", chromadb.PersistentClient(path=str(directory), settings=settings))
    except BaseException:
        # Chroma keeps one system per path and process, and would hand out this one, half started.
        SharedSystemClient._identifier_to_system.pop(str(directory), None)
        SharedSystemClient._identifier_to_refcount.pop(str(directory), None)
        _wait_until_released(directory / DATABASE_NAME)
        raise


def close_client(client: Client, directory: Path) -> None:
    """Close the database, and wait until Chroma's threads have really let go of it.

    They do so a little later than `close` returns, and would delete the write-ahead log of a
    database that had been made in the same place meanwhile.
    """
    client.close()
    _wait_until_released(directory / DATABASE_NAME)


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
    except (ChromaError, sqlite3.Error, OSError, ValueError, TypeError, OverflowError) as error:
        raise VectorIndexError(f"The vector index could not {doing}: {error}") from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise VectorIndexError(f"The vector index could not {doing}: {error}") from error
