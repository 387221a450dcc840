"""The SQL database: engine, pragmas, transactions, migrations."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

import migrations
from app.errors import StorageError

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",  # readers go on while one writes
    "PRAGMA synchronous = FULL",  # what was answered survives a power cut, not only a kill
    "PRAGMA foreign_keys = ON",
    "PRAGMA busy_timeout = 30000",
    "PRAGMA cache_size = -8000",  # 8 MB a connection
)


class Database:
    """One engine; `read()` and `write()` are the only ways to a session.

    Application code never commits: a `write()` block commits when it ends and rolls back when
    an exception leaves it. Failures of the storage itself surface as StorageError.
    """

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
            raise StorageError("DATABASE_URL names no file; an in-memory database would lose data.")
        self._engine = create_engine(parsed, pool_size=16, max_overflow=48, pool_timeout=30)
        self.is_sqlite = self._engine.dialect.name == "sqlite"
        if self.is_sqlite:
            event.listen(self._engine, "connect", _prepare_sqlite_connection)
            event.listen(self._engine, "begin", _begin_sqlite_transaction)
        self._writing_engine = self._engine.execution_options(groundwork_writes=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session on one consistent snapshot, for reading only."""
        with _storage_errors(), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that commits when the block ends.

        On SQLite it holds the write lock from its start, so that what it read stays true.
        """
        with (
            _storage_errors(),
            Session(self._writing_engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    def migrate(self, revision: str = "head") -> None:
        """Bring the tables to a revision; `base` takes everything down again."""
        config = Config()
        config.set_main_option("script_location", str(Path(migrations.__file__).parent))
        with _storage_errors(), self._writing_engine.begin() as connection:
            config.attributes["connection"] = connection
            if revision == "base":
                command.downgrade(config, revision)
            else:
                command.upgrade(config, revision)

    def ping(self) -> None:
        """Raise StorageError when the database does not answer."""
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections; SQLite then folds its write-ahead log into the file."""
        self._engine.dispose()


def _prepare_sqlite_connection(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves, see below
    for pragma in SQLITE_PRAGMAS:
        connection.execute(pragma)


def _begin_sqlite_transaction(connection: Connection) -> None:
    # A deferred transaction that writes later can fail with "locked" whatever the time-out.
    writes = connection.get_execution_options().get("groundwork_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _storage_errors() -> Iterator[None]:
    """Turn failures of the storage (not of a statement) into StorageError."""
    try:
        yield
    except OperationalError as error:
        raise StorageError(_storage_advice(error)) from error


def _storage_advice(error: DBAPIError) -> str:
    reason = str(error.orig).lower()
    if "full" in reason:
        return "The disk of DATA_DIR is full. Nothing was changed; free some space and try again."
    if "readonly" in reason or "read-only" in reason:
        return "DATA_DIR is read-only. Nothing was changed; make it writable and try again."
    if "locked" in reason or "busy" in reason:
        return "The database is locked by another process. Nothing was changed; try again."
    return "The database does not answer. Nothing was changed; see the server's log."
