"""What only PostgreSQL needs: prepared connections, one writer at a time, one service a database.

psycopg itself is optional, so nothing here imports it: connections are used as it documents them.
"""

import secrets
import select
import threading
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, event
from sqlalchemy.exc import DBAPIError, InvalidatePoolError

from app import postgres_silence
from app.errors import DatabaseUnavailableError, StorageError
from app.sqlite import WRITES
from app.storage_errors import LOCK_NOT_AVAILABLE, NO_ANSWER, storage_error

LEAST_VERSION = 130000
"""The first with pg_current_snapshot; older ones are not maintained any more."""

POOL_SIZE = 8
MOST_MORE_CONNECTIONS = 24
"""32 at most: a server takes 100 unless it is told otherwise, and back-ups want some, too."""

CONNECT_OPTIONS = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
"""Unless the address says otherwise. A server that vanishes without a word is noticed after half a
minute: what waits for its answer would wait for a quarter of an hour at least. So is one that
freezes, see app.postgres_silence."""

HOLD_SECONDS = 5.0
"""How long to wait for a process that ends: the server may notice a little later."""

LOCK_FAMILY = 0x67_72_6F_75
"""The first number of our advisory locks, apart from those of whatever else uses the database."""
WRITING, SERVING = 1, 2

TAKE_WRITE_LOCK = f"SELECT pg_advisory_xact_lock({LOCK_FAMILY}, {WRITING})"
TAKE_HOLD = f"SELECT pg_advisory_lock({LOCK_FAMILY}, {SERVING})"
WHO_SERVES = f"""
SELECT coalesce(host(client_addr), 'the same machine'), backend_start
FROM pg_stat_activity WHERE pid = (
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
    AND classid = {LOCK_FAMILY} AND objid = {SERVING}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""  # noqa: S608, numbers of our own
SIGN = """
INSERT INTO index_stamps (index_name, stamp) VALUES ('service', %s)
ON CONFLICT (index_name) DO UPDATE SET stamp = excluded.stamp
"""
WHO_SIGNED = "SELECT stamp FROM index_stamps WHERE index_name = 'service'"
LOST = (
    "Another Groundwork has worked on the database that DATABASE_URL names since this one lost its "
    "hold on it, so what this one knows of it is out of date. Start this one again."
)
VERSION = "SELECT pg_current_snapshot()::text"
"""Which transactions a statement sees: as long as it is the same, so is all that can be read.

It changes with every transaction of the server that writes, in other databases as well.
"""

# A machine that vanishes without a word holds its locks until the server asks after it: here
# half a minute, by default two hours. The rest is for the defaults that a server, a database or a
# user may have: psycopg reads times in style ISO alone, and none that its zone puts before year 1.
PREPARE = """
SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
SET lock_timeout = '{lock_milliseconds}ms';
SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET datestyle = 'ISO';
SET extra_float_digits = 1; SET default_transaction_isolation = 'read committed'
"""
STAY = """
SET statement_timeout = 0;
SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'
"""
"""No defaults end the connection of the hold, nor its wait; servers before 14 know no such end."""


def prepare_engine(engine: Engine, lock_timeout_seconds: float) -> None:
    """Have new connections prepared, dead ones replaced, and writers follow one another."""

    def prepare(connection: Any, _record: Any) -> None:
        _require_suitable(connection)
        connection.autocommit = True
        connection.execute(PREPARE.format(lock_milliseconds=int(lock_timeout_seconds * 1000)))
        connection.autocommit = False

    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "connect", prepare, insert=True)  # before SQLAlchemy asks anything
    event.listen(engine, "checkout", _replace_if_dead)
    event.listen(engine, "begin", _take_write_lock)


def _connect(dialect: Dialect, _record: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
    return postgres_silence.connect(dialect, arguments, options)


def _require_suitable(connection: Any) -> None:
    """Raise StorageError for a server that is too old, or a database of another encoding."""
    if connection.info.server_version < LEAST_VERSION:
        raise StorageError("DATABASE_URL names an old PostgreSQL; Groundwork needs 13 or newer.")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StorageError(
            f"The database that DATABASE_URL names is encoded in {encoding}, which cannot hold "
            "every text. Create one with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8'."
        )


def _replace_if_dead(connection: Any, _record: Any, _proxy: Any) -> None:
    """Have the pool connect anew after a restart of the server; asks the system, not the server."""
    if _has_something_to_say(connection):
        raise InvalidatePoolError


def _has_something_to_say(connection: Any) -> bool:
    """Whether there is something to read though nothing was asked: its end, as a rule."""
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _take_write_lock(connection: Connection) -> None:
    # As on SQLite one writer follows the other, so that what it has read stays true until it
    # commits; readers wait for nobody.
    if connection.get_execution_options().get(WRITES, False):
        connection.exec_driver_sql(TAKE_WRITE_LOCK)


class ServiceHold:
    """This process's hold on a database: a lock of the server that ends with its connection.

    Two services would each keep indexes of their own and not see what the other writes.
    """

    def __init__(self, engine: Engine, wait_seconds: float = HOLD_SECONDS) -> None:
        self._engine = engine
        self._wait_milliseconds = int(wait_seconds * 1000)
        self._lock = threading.Lock()
        self._connection: Any = None
        self._signature: str | None = None
        self.is_lost = False
        """Somebody else has worked on the database meanwhile: only a new start may write again."""

    def sign(self) -> None:
        """Note in the database that this process works on it from now on; raises StorageError.

        Its tables must be there, and the hold taken. A hold that was lost is not taken again once
        somebody else has signed.
        """
        signature = secrets.token_hex(16)
        with self._lock:
            try:
                self._connection.execute(SIGN, (signature,))
            except self._driver_error as error:
                raise storage_error(DBAPIError(SIGN, None, error)) from error
            self._signature = signature

    def ensure(self) -> None:
        """Take the hold, or have it again after the server was away; costs 3 µs while it lasts.

        Raises StorageError when somebody else has it, and when the server does not answer.
        """
        with self._lock:
            if self.is_lost:
                raise StorageError(LOST)
            if self._connection is not None:
                if not _has_something_to_say(self._connection):
                    return
                self._let_go()
            self._connection = self._connected_and_locked()

    def release(self) -> None:
        """Let another process have the database."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected_and_locked(self) -> Any:
        dialect = self._engine.dialect
        arguments, options = dialect.create_connect_args(self._engine.url)
        try:
            connection = postgres_silence.connect(
                dialect, arguments, {**CONNECT_OPTIONS, **options}
            )
        except self._driver_error as error:
            raise DatabaseUnavailableError(f"{NO_ANSWER} It says: {_last_line(error)}") from error
        try:
            _require_suitable(connection)
            connection.autocommit = True
            connection.execute(PREPARE.format(lock_milliseconds=self._wait_milliseconds))
            connection.execute(STAY)
            self._take(connection)
            self._require_own_signature(connection)
        except self._driver_error as error:
            connection.close()
            raise storage_error(DBAPIError(TAKE_HOLD, None, error)) from error
        except StorageError:
            connection.close()
            raise
        return connection

    def _take(self, connection: Any) -> None:
        try:
            connection.execute(TAKE_HOLD)
        except self._driver_error as error:
            if getattr(error, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                raise
            self._require_own_signature(connection)
            raise _already_served(connection.execute(WHO_SERVES).fetchone()) from error

    def _require_own_signature(self, connection: Any) -> None:
        """Raise StorageError, from now on always, when somebody else has signed since we did."""
        if self._signature is None:
            return
        row = connection.execute(WHO_SIGNED).fetchone()
        self.is_lost = row is None or row[0] != self._signature
        if self.is_lost:
            raise StorageError(LOST)

    @property
    def _driver_error(self) -> type[Exception]:
        return self._engine.dialect.loaded_dbapi.Error


def _already_served(holder: tuple[str, Any] | None) -> StorageError:
    who = f" (from {holder[0]}, since {holder[1]:%Y-%m-%d %H:%M})" if holder else ""
    return StorageError(
        f"Another Groundwork works on the database that DATABASE_URL names{who}. Stop it, or give "
        "this one a database of its own; commands can talk to the other one with --url."
    )


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
