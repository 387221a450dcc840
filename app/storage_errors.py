"""Turns failures of the database into StorageError, each with what to do about it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DatabaseError, DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.errors import DatabaseUnavailableError, StorageError

logger = logging.getLogger(__name__)

LOCK_NOT_AVAILABLE = "55P03"

_FULL = "The disk of the database is full. Nothing was changed; free some space and try again."
LOCKED = "The database is locked by another writer. Nothing was changed; try again."
_ADVICE_BY_STATE = {
    "25006": "The database is read-only, perhaps a standby. Nothing was changed; name its primary.",
    "40001": LOCKED,
    "40P01": LOCKED,
    "3F000": "The database has no schema for tables, or its search_path names none. Nothing was "
    "changed; make one: CREATE SCHEMA public AUTHORIZATION …",
    "53100": _FULL,
    LOCK_NOT_AVAILABLE: LOCKED,
    "57014": "The database broke off what it was asked, as it does after its statement_timeout. "
    "Nothing was changed; try again, or set none for its user: ALTER ROLE … SET statement_timeout "
    "= 0",
    "42501": "The database refuses its user what Groundwork needs. Nothing was changed; make "
    "that user the owner of the database: ALTER DATABASE … OWNER TO …",
}
"""By PostgreSQL's code, since its messages are in the language of its server."""

NO_ANSWER = (
    "The database does not answer: it is stopped, restarting or out of reach. Try again; if it "
    "stays so, look at DATABASE_URL and at the log of the database."
)
_TOO_MANY_CONNECTIONS = (
    "The database takes no more connections. Try again; if it stays so, raise its max_connections."
)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn failures of the storage (not of a statement) into StorageError."""
    try:
        yield
    except (IntegrityError, DataError):
        raise
    except ProgrammingError as error:
        if _state(error) not in _ADVICE_BY_STATE:
            raise
        raise storage_error(error) from error
    except DatabaseError as error:
        raise storage_error(error) from error
    except PoolTimeoutError as error:
        raise DatabaseUnavailableError(
            "Too many requests wait for the database; try again."
        ) from error


def storage_error(error: DBAPIError) -> StorageError:
    """The error for a statement that failed through no fault of its own."""
    state = _state(error)
    if state in _ADVICE_BY_STATE:
        return StorageError(_ADVICE_BY_STATE[state])
    if state == "53300":
        return DatabaseUnavailableError(_TOO_MANY_CONNECTIONS)
    if _is_sqlite(error):
        if getattr(error.orig, "sqlite_errorname", None) == _NOT_SYNCED:
            return StorageError(_UNCERTAIN)
        return StorageError(sqlite_advice(str(error.orig)))
    return DatabaseUnavailableError(NO_ANSWER)


def amid_a_run(error: StorageError) -> StorageError:
    """The same, said of a run that has stored something before the step that failed."""
    said = error.detail.replace("Nothing was changed", "What was indexed before stays as it is")
    return type(error)(said)


def _state(error: DBAPIError) -> str | None:
    """SQLSTATE; None on SQLite, and when no connection came about."""
    state = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else None


def _is_sqlite(error: DBAPIError) -> bool:
    return type(error.orig).__module__ == "sqlite3"


_FOLDER = "its folder (DATA_DIR, unless DATABASE_URL names another)"
_SQLITE_ADVICE = (
    (
        ("full",),
        _FULL,
    ),
    (
        ("readonly", "read-only"),
        f"The database is read-only. Nothing was changed; make {_FOLDER} writable and try again.",
    ),
    (
        ("locked", "busy"),
        "The database is locked by another process. Nothing was changed; try again.",
    ),
    (
        ("disk i/o", "unable to open"),
        (
            "The database cannot be opened, read or written. Nothing was changed; look at the "
            f"permissions, the free space and the disk of {_FOLDER}."
        ),
    ),
    (
        ("malformed", "not a database"),
        "The database is damaged. Stop the service and restore DATA_DIR from a backup.",
    ),
)
"""By the words of SQLite's own messages; the first that fits."""

_NOT_SYNCED = "SQLITE_IOERR_FSYNC"
_UNCERTAIN = (
    "The disk of the database did not confirm what was written. Nothing was changed for now, but "
    "if the service ends before its next change, this one may be there all the same. Look at the "
    f"disk of {_FOLDER}, and at what is there before you try again."
)

_UNREADABLE = (
    "The database holds something damaged that cannot be read. Nothing was changed; stop the "
    "service, and `groundwork verify` says where."
)


_NO_TEXT = "Could not decode to UTF-8"
"""How Python's driver says that what stands for a text is none; what stands there follows."""


def is_about_no_text(error: DBAPIError) -> bool:
    """Whether a text could not be read because its bytes are none."""
    return _NO_TEXT in str(error.orig)


def sqlite_advice(message: str) -> str:
    """What is wrong with SQLite's file, and what to do; what we know no advice for is logged."""
    if _NO_TEXT in message:  # first: what stands there is quoted, whatever it says
        logger.error("SQLite: %s", message.partition(" with text ")[0])
        return _UNREADABLE
    reason = message.lower()
    for words, advice in _SQLITE_ADVICE:
        if any(word in reason for word in words):
            return advice
    logger.error("SQLite: %s", message)
    return "The database does not answer. Nothing was changed; see the server's log."
