"""The SQL database: transactions, migrations, and the care of its files."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Dialect, PoolProxiedConnection, event, func, select
from sqlalchemy.orm import Session

from app import postgres, sqlite
from app.database_address import engine_at
from app.errors import StorageError
from app.fault_points import FaultPoint, reached
from app.models import Base, ItemRow
from app.sqlite_hold import SqliteHold
from app.sqlite_log import Folded, LogFolding
from app.storage_errors import LOCKED, sqlite_advice, storage_errors
from app.table_revisions import NEWEST, bring_to, present_revisions

LOCK_TIMEOUT_SECONDS = 30.0
"""How long a writer waits for another before it gives up."""

_OF_A_CELL = " value in "
"""Stands in SQLite's complaint about a cell that is NULL, or of another type than its column."""


class Database:
    """One engine; `read()` and `write()` are the only ways to a session.

    Application code never commits: a `write()` block commits when it ends and rolls back when
    an exception leaves it. Failures of the storage itself surface as StorageError.
    """

    def __init__(self, url: str, lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> None:
        self._engine = engine_at(url, lock_timeout_seconds)
        self.is_sqlite = self._engine.dialect.name == "sqlite"
        if self.is_sqlite:
            sqlite.prepare_engine(self._engine)
            event.listen(self._engine, "do_connect", self._open_held)
            self._reading_engine = self._engine
        else:
            postgres.prepare_engine(self._engine, lock_timeout_seconds)
            self._reading_engine = self._engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        self._asking_engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._hold: postgres.ServiceHold | SqliteHold | None = None
        self._writing_engine = self._engine.execution_options(**{sqlite.WRITES: True})
        self._watching: PoolProxiedConnection | None = None
        self._watching_lock = threading.Lock()
        self._turn = threading.Lock()
        self._log: LogFolding | None = None
        self._folding_lock = threading.Lock()
        self._lock_timeout_seconds = lock_timeout_seconds

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session on one consistent snapshot, for reading only."""
        with storage_errors(), Session(self._reading_engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection on one consistent snapshot, for reads where every 0.1 ms counts.

        The rows of a search cost 0.5 ms this way, and 1.6 ms through a session.
        """
        with storage_errors(), self._reading_engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that commits when the block ends.

        It holds the write lock from its start, so that what it has read stays true.
        """
        with self._in_turn():
            if self._hold is not None:
                self._hold.ensure()
            with (
                storage_errors(),
                Session(self._writing_engine, expire_on_commit=False) as session,
                session.begin(),
            ):
                yield session
                if isinstance(self._hold, SqliteHold):
                    self._hold.require_same_file()  # what is committed elsewhere is lost
        log = self._log
        if log is not None:
            log.note_write()

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """On SQLite, let this process's writers in one after the other; raises StorageError.

        Without this, SQLite lets a waiting writer look again only after pauses of up to 0.1 s.
        """
        if not self.is_sqlite:
            yield
            return
        if not self._turn.acquire(timeout=self._lock_timeout_seconds):
            raise StorageError(LOCKED)
        try:
            yield
        finally:
            self._turn.release()

    def version(self) -> int | str:
        """As long as this stays the same, so does everything in the database.

        SQLite has a number that changes for a connection when another one commits, so it is always
        read on the same connection, which never writes. It takes 15 microseconds, on PostgreSQL ten
        times as long.
        """
        if not self.is_sqlite:
            with storage_errors(), self._asking_engine.connect() as connection:
                return str(connection.exec_driver_sql(postgres.VERSION).scalar_one())
        with self._watching_lock, storage_errors():
            if self._watching is None:
                self._watching = self._raw_connection()
            try:
                row = self._watching.cursor().execute("PRAGMA data_version").fetchone()
            except sqlite3.Error as error:
                raise StorageError(sqlite_advice(str(error))) from error
        return int(row[0])

    def hold(self) -> None:
        """Keep this database for this process alone until `close`; raises StorageError."""
        if not self.is_sqlite:
            self._hold = postgres.ServiceHold(self._engine)
        elif self._file is not None:
            self._hold = SqliteHold(self._file)
        if self._hold is not None:
            self._hold.ensure()
        if self.is_sqlite and self._log is None:
            self._log = LogFolding(self._fold_log, self._in_turn)

    def _open_held(
        self, dialect: Dialect, _record: Any, arguments: list[Any], options: dict[str, Any]
    ) -> Any:
        """A connection to SQLite's file while that is held; None leaves it to SQLAlchemy."""
        if not isinstance(self._hold, SqliteHold):
            return None
        return self._hold.open(dialect.connect, *arguments, **options)

    def sign(self) -> None:
        """Mark the database, once migrated, as held by this process; raises StorageError."""
        if isinstance(self._hold, postgres.ServiceHold):
            self._hold.sign()

    @property
    def lost_because(self) -> str | None:
        """Why this process may no longer write until it is restarted; None: it may."""
        hold = self._hold
        return postgres.LOST if isinstance(hold, postgres.ServiceHold) and hold.is_lost else None

    @property
    def may_be_shared(self) -> bool:
        """Whether other processes may work on it now."""
        return not self.is_sqlite and self._hold is None

    def migrate(self, revision: str = NEWEST) -> None:
        """Bring the tables to a revision; `base` removes everything.

        Raises StorageError, even for tables that are up to date if they cannot be written.
        """
        self._require_writable_files()
        with storage_errors(), self._writing_engine.begin() as connection:
            bring_to(connection, revision)
        reached(FaultPoint.TABLES_MIGRATED)

    @property
    def _file(self) -> Path | None:
        """SQLite's file; None on PostgreSQL, or where the URL names a `file:` URI of SQLite's."""
        database = self._engine.url.database
        if not self.is_sqlite or not database or database.startswith("file:"):
            return None
        return Path(database)

    @property
    def _files(self) -> list[Path]:
        """That file and those that SQLite keeps beside it, some of which may not exist."""
        if self._file is None:
            return []
        return [self._file, *(Path(f"{self._file}{suffix}") for suffix in ("-wal", "-shm"))]

    def _require_writable_files(self) -> None:
        """Raise StorageError for a file that SQLite would open read-only.

        Call it before the file is opened: SQLite would leave read-only files beside it.
        """
        for path in self._files:
            if path.exists() and not os.access(path, os.W_OK):
                raise StorageError(
                    f"{path} is read-only. Nothing was changed; make it writable and try again."
                )

    def missing(self) -> str | None:
        """The name of this database if `migrate` would create it; raises StorageError.

        That is so where SQLite's file is missing or has 0 bytes, and where a database of PostgreSQL
        has none of our tables. Ask before anything is read: reading creates SQLite's file.
        """
        if self.is_sqlite:
            path = self._file
            return None if path is None or (path.exists() and path.stat().st_size) else str(path)
        with storage_errors(), self._asking_engine.connect() as connection:
            present = present_revisions(connection)
        return None if present else str(self._engine.url.database)

    def ping(self) -> None:
        """Raise StorageError when the database does not answer, or its file is gone."""
        path = self._file
        if path is not None and not path.exists():
            raise StorageError(f"The database {path} is gone; put it back and start again.")
        if self._hold is not None:
            self._hold.ensure()
        with self.read() as session:
            session.execute(select(ItemRow.id).limit(1))

    def size_bytes(self) -> int:
        """The space that the database takes: SQLite's files, or our tables with their indexes."""
        if not self.is_sqlite:
            sizes = [
                func.pg_total_relation_size(table.name) for table in Base.metadata.sorted_tables
            ]
            with self.read() as session:
                return sum(session.execute(select(*sizes)).one())
        return sum(file.stat().st_size for file in self._files if file.is_file())

    def vacuum(self) -> None:
        """Rewrite the database, so that nothing of what was deleted is left in its files.

        Nothing else may use it while this runs. On StorageError, it is left as it was.
        """
        if not self.is_sqlite:
            with storage_errors(), self._asking_engine.connect() as connection:
                for table in Base.metadata.sorted_tables:
                    connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {table.name}")
            return
        with self._folding_lock:
            with self._passing_files_beside():
                self._ask_sqlite("VACUUM")
            self._ask_sqlite("PRAGMA wal_checkpoint(TRUNCATE)")

    def damage(self) -> list[str]:
        """The first things that SQLite finds wrong with its pages and indexes; reads everything.

        Empty on PostgreSQL, which checks its own. For the contents of cells see `damaged_cells`.
        """
        if not self.is_sqlite:
            return []
        with storage_errors(), closing(self._raw_connection()) as pooled:
            cursor = pooled.cursor()
            try:
                found = [str(row[0]) for row in cursor.execute("PRAGMA integrity_check")]
            except sqlite3.Error as error:
                return [str(error)]
            finally:
                cursor.close()
        return [each for each in found if each != "ok" and _OF_A_CELL not in each]

    def reindex(self) -> None:
        """Rebuild SQLite's own indexes from its tables; raises StorageError."""
        if self.is_sqlite:
            with self._in_turn():
                self._ask_sqlite("REINDEX")

    @contextmanager
    def _passing_files_beside(self) -> Iterator[None]:
        """Put SQLite's temporary files, one as large as the database, on the database's own disk.

        By default they lie in /var/tmp or /tmp: on another disk than the one whose free space is
        checked, or in memory. They still do where the folder's name is not valid text.
        """
        folder = "" if self._file is None else str(self._file.absolute().parent).replace("'", "''")
        if not folder or folder.encode(errors="ignore").decode() != folder:
            yield
            return
        self._ask_sqlite(f"PRAGMA temp_store_directory = '{folder}'")
        try:
            yield
        finally:
            self._ask_sqlite("PRAGMA temp_store_directory = ''")

    def _fold_log(self) -> Folded:
        """Move what no reader needs from the log into the database; raises StorageError."""
        with self._folding_lock:
            answer = self._ask_sqlite("PRAGMA wal_checkpoint(PASSIVE)")
        return Folded.told_by(answer)

    def _ask_sqlite(self, statement: str) -> tuple[Any, ...]:
        """Run a statement outside of any transaction; returns its row, empty if it gives none."""
        with storage_errors(), closing(self._raw_connection()) as pooled:
            cursor = pooled.cursor()
            try:
                return tuple(cursor.execute(statement).fetchone() or ())
            except sqlite3.Error as error:
                raise StorageError(sqlite_advice(str(error))) from error
            finally:
                cursor.close()

    def _raw_connection(self) -> PoolProxiedConnection:
        """A connection outside of any transaction; SQLite's own errors become StorageError."""
        try:
            return self._engine.raw_connection()
        except sqlite3.Error as error:
            raise StorageError(sqlite_advice(str(error))) from error

    def close(self) -> None:
        """Close all connections; SQLite then folds its write-ahead log into the file."""
        if self._log is not None:
            self._log.close()
            self._log = None
        with self._watching_lock:
            if self._watching is not None:
                self._watching.close()
                self._watching = None
        self._engine.dispose()
        if self._hold is not None:
            self._hold.release()
            self._hold = None
