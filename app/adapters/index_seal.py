"""Whether the files of an index are those that the last stop in order left behind."""

import json
import logging
import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

from app.fault_points import FaultPoint, reached

logger = logging.getLogger(__name__)

SEAL_NAME = "groundwork-sealed.json"


class IndexSeal:
    """A list of an index's files, under a stamp that SQL holds as well.

    The list notices what was cut, deleted or written since; the stamp notices an older copy of the
    whole folder, list included, and a database that was put back. Nothing but names, sizes and
    times is read, so it costs one `stat` a file. It cannot notice whoever means to deceive it.
    """

    def __init__(self, directory: Path, files: Callable[[Path], Iterable[Path]]) -> None:
        """`files` gives the paths below `directory` that belong to the index."""
        self._directory = directory
        self._files = files

    def renew(self) -> str | None:
        """List the files as they are now that nobody has them open; gives the stamp to remember.

        None when the list cannot be written: then the next start compares the index with SQL.
        """
        stamp = secrets.token_hex(16)
        try:
            listed = {"stamp": stamp, "files": self._listing()}
            with (self._directory / SEAL_NAME).open("w", encoding="utf-8") as file:
                json.dump(listed, file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            logger.warning("The next start compares the index in %s: %s", self._directory, error)
            return None
        reached(FaultPoint.SEAL_WRITTEN)
        return stamp

    def holds(self, stamp: str | None) -> bool:
        """Whether the list bears this stamp, and every file is as listed."""
        try:
            listed = json.loads((self._directory / SEAL_NAME).read_text(encoding="utf-8"))
            return bool(stamp) and listed == {"stamp": stamp, "files": self._listing()}
        except (OSError, ValueError):
            return False

    def _listing(self) -> dict[str, list[int]]:
        """Size and time of the last change of every file, by its path within the directory."""
        listing = {}
        for path in self._files(self._directory):
            status = path.lstat()
            name = path.relative_to(self._directory).as_posix()
            listing[name] = [status.st_size, status.st_mtime_ns]
        return listing
