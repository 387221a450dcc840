"""One service a file of SQLite: PostgreSQL has locks of its own for that."""

from pathlib import Path

from filelock import FileLock, Timeout

from app.errors import StorageError
from app.storage_errors import sqlite_advice


class SqliteHold:
    """This process's hold on a file of SQLite, wherever DATABASE_URL says that it lies.

    It is kept in a file of its own: whoever opens and closes the database's own file drops the
    locks that SQLite has on it. The kernel drops the hold when the process ends, however it ends.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._lock = FileLock(
            f"{self._path}.lock", blocking=False, thread_local=False, fallback_to_soft=False
        )

    def ensure(self) -> None:
        """Take the hold, unless it is taken; raises StorageError when somebody else has it."""
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

    def release(self) -> None:
        """Let another process have the database."""
        self._lock.release()
