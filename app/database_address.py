"""Makes an engine of DATABASE_URL, or says why it cannot be used."""

import os
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app import postgres
from app.errors import SettingError

MOST_PATH_BYTES = 504
"""SQLite takes names of up to 512 bytes (MAX_PATHNAME in its os_unix.c), and appends `-journal`:
of all lengths from 480 to 519, it opened those of up to 504."""


def engine_at(url: str, lock_timeout_seconds: float) -> Engine:
    """An engine that has not connected yet; raises SettingError when the URL cannot be used."""
    try:
        parsed = _parsed(url)
        # How long sqlite3 itself waits for a lock, or how long connecting may take.
        options: dict[str, float] = {
            name: value
            for name, value in postgres.CONNECT_OPTIONS.items()
            if name not in parsed.query
        }
        size, more = postgres.POOL_SIZE, postgres.MOST_MORE_CONNECTIONS
        if _is_sqlite(parsed):
            options, size, more = {"timeout": lock_timeout_seconds}, 16, 48
        if _is_sqlite(parsed):
            _require_file(parsed.database)
        return create_engine(
            parsed,
            pool_size=size,
            max_overflow=more,
            pool_timeout=30,
            pool_use_lifo=True,  # a few warm connections, not sixteen with a cache each
            connect_args=options,
        )
    except (ArgumentError, ImportError) as error:
        raise SettingError(
            f"DATABASE_URL cannot be used: {error}. Write sqlite:////folder/file.db, or "
            "postgresql+psycopg://user:password@host/name, for which psycopg must be installed: "
            "docs/operations.md says how."
        ) from error


def _parsed(url: str) -> URL:
    """Parse the URL; raises ArgumentError, which quotes nothing that may belong to a password."""
    try:
        parsed = make_url(url)
    except ValueError as error:
        raise ArgumentError("what stands in the place of its port is no number") from error
    if parsed.password and "@" in f"{parsed.host}/{parsed.database}":
        raise ArgumentError("an @ in a password is written %40")
    return parsed


def _require_file(name: str | None) -> None:
    if not name or name == ":memory:":
        raise SettingError("DATABASE_URL names no file; an in-memory database would lose data.")
    is_path = not name.startswith("file:")  # a URI of SQLite's may say more than where it lies
    if is_path and len(os.fsencode(Path(name).absolute())) > MOST_PATH_BYTES:
        raise SettingError(
            f"The path of the database has more than {MOST_PATH_BYTES} bytes, which SQLite does "
            "not open. Choose a shorter DATA_DIR, or name another place in DATABASE_URL."
        )


def _is_sqlite(url: URL) -> bool:
    return url.drivername.partition("+")[0] == "sqlite"
