"""Tells by `stat` whether a file has been written since."""

from pathlib import Path
from typing import NamedTuple


class FileState(NamedTuple):
    """What `stat` says of a file: changes whenever somebody writes it."""

    inode: int
    size: int
    changed_ns: int


def file_state(path: Path) -> FileState:
    """The state of a file as it is now; raises OSError."""
    status = path.stat()
    return FileState(status.st_ino, status.st_size, status.st_mtime_ns)
