"""One service a file of SQLite: PostgreSQL has locks of its own for that."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from app.errors import StorageError
from app.storage_errors import sqlite_advice


class SqliteHold:
    """This process's hold on a file of SQLite, wherever DATABASE_URL says that it lies.

    It is kept in a file of its own: whoever opens and closes the database's own file drops the
    locks that SQLite has on it. The kernel drops the hold when the process ends, however it ends.
    """

    def __init__(self, path: Path) -> None:
        self._file = path
        self._held = self._identity()
        """Device and inode of the file that it must stay; None: the first connection makes one."""
        self._path = path.resolve()
        self._lock = FileLock(
            f"{self._path}.lock", blocking=False, thread_local=False, fallback_to_soft=False
        )

    def ensure(self) -> None:
        """Take the hold, unless it is taken.

        Raises StorageError when somebody else has it, and when another file has taken the place of
        the one that is held.
        """
        self.require_same_file()
        if self._lock.is_locked:
            return
        if not self._path.parent.is_dir():  # FileLock would make it, wherever the address leads
            raise StorageError(sqlite_advice("unable to open"))
        try:
            self._lock.acquire()
        except Timeout as error:
            raise StorageError(
                f"Another Groundwork works on the database {self._path}. Stop it, or give this one "
                "a database of its own; commands can talk to the other one with --url."
            ) from error
        except OSError as error:
            raise StorageError(sqlite_advice("unable to open")) from error

    def open(self, connect: Callable[..., Any], address: str, **options: Any) -> Any:
        """What `connect` gives for the file that is held, which it makes if there was none.

        Where there was one, it never begins another: taken away between a look and the opening, it
        would leave an empty one in its place. Raises StorageError where another file is there now,
        or none.
        """
        if self._held is None:
            connection = connect(address, **options)
            self._held = self._identity()
            return connection
        self.require_same_file()
        existing = f"{Path(address).absolute().as_uri()}?mode=rw"
        try:
            connection = connect(existing, **{**options, "uri": True})
        except sqlite3.Error:
            self.require_same_file()
            raise
        try:
            self.require_same_file()
        except StorageError:
            connection.close()
            raise
        return connection

    def require_same_file(self) -> None:
        """Raise StorageError when the file was moved, deleted or replaced since it was held.

        SQLite says nothing of that: what is open goes on with a file that nobody finds any more,
        and a new connection takes whatever has the name now, or begins an empty one.
        """
        if self._held is None:
            return
        found = self._identity()
        if found != self._held:
            what = "is gone" if found is None else "was replaced by another file"
            raise StorageError(
                f"The database {self._file} {what} while the service has it open. Nothing was "
                "changed; stop the service and put the file back, or restore a back-up into an "
                "empty data directory."
            )

    def _identity(self) -> tuple[int, int] | None:
        """Of the file that has the name now, None if none has; raises StorageError."""
        try:
            status = self._file.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(sqlite_advice("unable to open")) from error
        return status.st_dev, status.st_ino

    def release(self) -> None:
        """Let another process have the database."""
        self._lock.release()
