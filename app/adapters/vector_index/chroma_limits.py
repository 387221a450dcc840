"""Bounds for the process that opens Chroma's files: damaged ones make it grow without end."""

import resource
import signal
from pathlib import Path

from app.adapters.child_limits import implausible_size, lower_limit
from app.adapters.vector_index.chroma_files import DATABASE_NAME
from app.errors import VectorIndexError

MEMORY_SLACK_BYTES = 8 << 30
"""Address space beyond four times the index's size at its opening: chromadb and its thread pools
reserve about 1 GiB, the rest is room to grow."""
FILE_SLACK_BYTES = 4 << 30
"""How large a file may become beyond twice the index's size at its opening. Past either bound the
process fails, is started again, and gets bounds that fit the index as it is then."""


def limit_this_process(directory: Path) -> None:
    """Bound file sizes, memory and core dumps; signals to the whole service pass it by.

    The service ends it in order when it has written the last of what it has to write.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    size = sum(path.lstat().st_size for path in directory.rglob("*"))
    lower_limit(resource.RLIMIT_FSIZE, 2 * size + FILE_SLACK_BYTES)
    lower_limit(resource.RLIMIT_AS, 4 * size + MEMORY_SLACK_BYTES)
    lower_limit(resource.RLIMIT_CORE, 0)


def end_this_process_after(seconds: float) -> None:
    """From now, unless this is called again; needs neither Python nor its lock to work."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def refuse_implausible_files(directory: Path) -> None:
    """Raise VectorIndexError for an index that no sound process has left behind."""
    if not (directory / DATABASE_NAME).is_file():
        raise VectorIndexError("The vector index has no database.")
    for path in directory.rglob("*"):
        message = implausible_size(path)
        if message is not None:
            raise VectorIndexError(f"The vector index is damaged: {message}.")
