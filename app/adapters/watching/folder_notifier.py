"""Tells which paths in some folders change, through the operating system (watchfiles)."""

import logging
import os
import time
from collections.abc import Callable, Collection, Mapping

from watchfiles import Change
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from app.errors import UnavailableError

logger = logging.getLogger(__name__)

LONGEST_GROUPING_MS = 800
"""Changes that follow one another without a pause are told after this, at the latest."""

PAUSE_MS = 200
"""A pause of this length ends a group of changes: a file is rarely written in one go."""

SLICE_MS = 500
"""How often it is looked whether somebody wants to interrupt the waiting."""

ATTEMPTS = 3
"""Folders may vanish between being listed and being watched."""

UNTOLD_PATH = "Unable to decode path"
"""How watchfiles begins when a name is not UTF-8; whatever it would have told with it is lost."""


class WatchLimitError(UnavailableError):
    """The operating system lets us watch no more folders."""


class MissedChangesError(UnavailableError):
    """Something changed, and the library cannot say what; it goes on telling."""


class FolderNotifier:
    """Watches folders, each without what lies deeper; links in them are not followed.

    Raises WatchLimitError when there are too many for the system, UnavailableError when they
    cannot be watched at all. Folders that are not there, or may not be read, are left out.
    """

    def __init__(self, folders: Collection[str]) -> None:
        self._folders = frozenset(folders)
        self._notify = _watch(self._folders)

    def wait(self, seconds: float, interrupted: Callable[[], bool]) -> Mapping[str, bool]:
        """The paths that changed since the last call, as soon as there are any; else none.

        With each path, whether it came or went (or both), and did not merely change. Returns at the
        latest after so many seconds, or soon after `interrupted` gives True.

        Raises MissedChangesError when some of them cannot be told, UnavailableError when none can.
        """
        end = time.monotonic() + seconds
        while True:
            left_ms = max(0, int((end - time.monotonic()) * 1000))
            # Interrupting the library itself would make it forget what it has not told yet.
            changes = self._changes(min(left_ms, SLICE_MS))
            if changes or interrupted() or left_ms <= SLICE_MS:
                came_or_went = {path for kind, path in changes if kind != Change.modified}
                return {path: path in came_or_went for _, path in changes}

    def _changes(self, longest_ms: int) -> Collection[tuple[int, str]]:
        try:
            # 0 would stand for ever.
            told = self._notify.watch(LONGEST_GROUPING_MS, PAUSE_MS, max(1, longest_ms), None)
        except (WatchfilesRustInternalError, OSError) as error:
            if UNTOLD_PATH in str(error):
                self._begin_anew()  # it would try to tell the same again for ever
                raise MissedChangesError(str(error)) from error
            raise UnavailableError(f"Folders cannot be watched: {error}.") from error
        return () if isinstance(told, str) else told

    def _begin_anew(self) -> None:
        self._notify.close()
        self._notify = _watch(self._folders)

    def close(self) -> None:
        """Watch no longer."""
        self._notify.close()


def _watch(folders: Collection[str]) -> RustNotify:
    for attempt in range(ATTEMPTS):
        there = [folder for folder in folders if _can_be_watched(folder)]
        try:
            # Told to ignore what it may not read, it would ignore the system's limits as well.
            return RustNotify(there, False, False, 0, False, False)
        except (FileNotFoundError, PermissionError) as error:
            logger.debug("A folder cannot be watched any more (%d): %s", attempt, error)
        except (WatchfilesRustInternalError, OSError) as error:
            raise told_error(error, len(there)) from error
    raise UnavailableError("Folders come and go too fast to be watched.")


def told_error(error: Exception, count: int) -> UnavailableError:
    """The library's error as one of ours."""
    text = str(error)
    if "watch limit" in text or "os error 28" in text:
        return WatchLimitError(
            f"{count:,} folders cannot be watched: the system's limit is reached. On Linux raise "
            "it with `sysctl fs.inotify.max_user_watches=1048576` and restart."
        )
    if "os error 24" in text:
        return UnavailableError(
            "Folders cannot be watched: too many files are open, or too many programs watch some. "
            "On Linux raise `fs.inotify.max_user_instances`, or the limit of open files."
        )
    return UnavailableError(f"Folders cannot be watched: {text}.")


def _can_be_watched(path: str) -> bool:
    # A link that was put in a folder's place must not lead elsewhere.
    is_folder = os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114, 10,000 of them
    return is_folder and os.access(path, os.R_OK)
