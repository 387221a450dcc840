"""What only SQLite needs: prepared connections, and transactions that write from their start."""

import sqlite3
from typing import Any

from sqlalchemy import Connection, Engine, event

PAGES_LEFT_IN_LOG = 8000
"""Of 4 KiB. A writer that makes the write-ahead log this long folds it in before it goes on, and
had to at 1,000 by SQLite's default: that made one of 14 deletes of 20 chunks 0.1 s long, on a
disk that had just taken 100,000 vectors. LogFolding folds it in long before as a rule."""

LOG_BYTES_KEPT = 64 << 20
"""A longer log is cut to this when its next page is its first one again. A reader that takes
minutes, such as a back-up, lets it grow by all that is written meanwhile; SQLite by itself gives
that back when the last connection is closed, which may be in months."""

PRAGMAS = (
    "PRAGMA journal_mode = WAL",  # readers go on while one writes
    "PRAGMA synchronous = FULL",  # what was answered survives a power cut, not only a kill
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -2000",  # 2 MB a connection; the system caches the file anyway
    f"PRAGMA wal_autocheckpoint = {PAGES_LEFT_IN_LOG}",
    f"PRAGMA journal_size_limit = {LOG_BYTES_KEPT}",
)

WRITES = "groundwork_writes"
"""The option of an engine whose transactions write; PostgreSQL's go by it, too."""


def prepare_engine(engine: Engine) -> None:
    """Have new connections prepared, and transactions begun as they need to be."""
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves, see below
    # SQLite's own lower() knows ASCII alone: "whatever the case" must hold for É, too.
    connection.create_function("lower", 1, _lower, deterministic=True)
    for pragma in PRAGMAS:
        connection.execute(pragma)


def _lower(value: object) -> str | None:
    return None if value is None else str(value).lower()


def _begin(connection: Connection) -> None:
    # A deferred transaction that writes later can fail with "locked" whatever the time-out.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
