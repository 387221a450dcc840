"""The data directory: made, locked for one process, and marked when it was left in order."""

import os
import stat
from pathlib import Path

from filelock import FileLock, Timeout

from app.errors import StartupError
from app.fault_points import FaultPoint, reached

LOCK_NAME = "groundwork.lock"
PROCESS_NAME = "groundwork.pid"
CLEAN_NAME = "stopped-cleanly"
OF_NO_SERVICE = {LOCK_NAME, PROCESS_NAME, "models", "lost+found"}
"""What may lie in a directory that nobody served from; `lost+found` comes with a disk."""


class DataDirectory:
    """One process's hold on the data directory; every failure is a StartupError that says why.

    The kernel drops the lock when the process ends, however it ends. A forked child that outlives
    its parent keeps it (a child started with `subprocess` does not).
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = FileLock(
            self.path / LOCK_NAME, blocking=False, thread_local=False, fallback_to_soft=False
        )

    def acquire(self) -> None:
        """Make the directory if it is missing, readable by its owner alone, and lock it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire()
        except Timeout as error:
            raise StartupError(self._in_use_message()) from error
        except OSError as error:
            raise StartupError(self._unusable_message(error)) from error
        try:
            self._write_durably(PROCESS_NAME, f"{os.getpid()}\n")
        except StartupError:
            self._lock.release()
            raise

    def release(self) -> None:
        """Let another process have the directory. Releasing again does nothing."""
        self._lock.release()

    def mark_open(self) -> bool:
        """Take away the mark of a clean stop, durably; whether it was there, or all is new.

        Call it before anything in the directory is changed.
        """
        mark = self.path / CLEAN_NAME
        try:
            fresh = {entry.name for entry in self.path.iterdir()} <= OF_NO_SERVICE
            if not mark.exists():
                return fresh
            mark.unlink()
            self._sync_directory()
        except OSError as error:
            raise StartupError(self._unusable_message(error)) from error
        reached(FaultPoint.MARKED_OPEN)
        return True

    def mark_clean(self) -> None:
        """Note durably that everything was closed in order: the last act of a graceful stop."""
        self._write_durably(CLEAN_NAME, "")
        reached(FaultPoint.MARKED_CLEAN)

    def _write_durably(self, name: str, text: str) -> None:
        try:
            with (self.path / name).open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            self._sync_directory()
        except OSError as error:
            raise StartupError(self._unusable_message(error)) from error

    def _sync_directory(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _in_use_message(self) -> str:
        try:
            holder = f"process {int((self.path / PROCESS_NAME).read_text(encoding='utf-8'))}"
        except (OSError, ValueError):
            holder = "another process"
        return (
            f"The data directory {self.path} is in use by {holder}. "
            "Stop it, choose another DATA_DIR, or talk to it with --url (commands that can)."
        )

    def _unusable_message(self, error: OSError) -> str:
        if self._is_no_folder():
            return (
                f"The data directory {self.path} cannot be written: it is no folder. Let DATA_DIR "
                "name one, or a place where one can be made."
            )
        return (
            f"The data directory {self.path} cannot be written: {error.strerror or error}. "
            "Free space, correct its permissions, or choose another DATA_DIR."
        )

    def _is_no_folder(self) -> bool:
        """Whether something else has its place; a link that leads to nothing is so, too."""
        try:
            return not stat.S_ISDIR(self.path.stat().st_mode)
        except FileNotFoundError:
            return self.path.is_symlink()
        except OSError:  # nobody can say what it is
            return False
