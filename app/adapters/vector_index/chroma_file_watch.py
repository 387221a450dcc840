"""Notices when somebody else replaces, cuts or deletes the files of a Chroma index in use."""

import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from app.adapters.open_files import is_out_of_files
from app.adapters.vector_index.chroma_files import (
    DATABASE_NAME,
    FileStates,
    file_states,
    write_ahead_log_bytes,
)

LOG_MOVE_SECONDS = 1.0
"""How long SQLite may take to delete its log after it began to write what is in it elsewhere."""
LOG_LOOK_SECONDS = 0.05


class Look(NamedTuple):
    """How the files stand."""

    log_bytes: int
    """Of the database's write-ahead log, looked at before the files that it is moved to."""
    states: FileStates

    @classmethod
    def at(cls, directory: Path) -> Self:
        """Raises OSError."""
        return cls(write_ahead_log_bytes(directory), file_states(directory))

    def others_than(self, before: "Look") -> set[str]:
        """The names of the files that are not as they were."""
        changed = self.states.items() ^ before.states.items()
        return {Path(path).name for path, _ in changed}


class IndexFileWatch:
    """Knows how the files stood when they were ours alone.

    Only writes change them, and only while their call runs (watched with chromadb 1.5.9): in
    between, any change is another's; across writes, a file that is another one is. The caller
    sees to it that no call is under way while it asks or tells.

    With one exception: SQLite moves its write-ahead log into the database and deletes it when the
    last connection is closed, and Chroma closes all of them when nobody has used them for long
    (every 20 minutes of an idle server, watched with the same version).
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._last = Look(0, {})
        self._written = True

    def remember(self) -> None:
        """Note which files are ours: those that are there when the index has just been opened."""
        with suppress(OSError):  # the next look will do
            self._last = Look.at(self._directory)

    def note_write(self) -> None:
        """Our own write may change the files."""
        self._written = True

    def forget(self) -> None:
        """Its files are new ones from here on."""
        self._last = Look(0, {})

    def foreign_change(self) -> str | None:
        """What somebody else has done to the files, as far as their states tell.

        Waits a moment when it may be SQLite that is at work.
        """
        before, written = self._last, self._written
        try:
            now = Look.at(self._directory) if written else self._settled()
        except OSError as error:
            if is_out_of_files(error):
                return None  # the next look will do
            return f"The files of the vector index cannot be read: {error}"
        self._last, self._written = now, False
        if not now.states or before.states.keys() - now.states.keys():
            return "Files of the vector index were deleted."
        replaced = any(now.states[name].inode != was.inode for name, was in before.states.items())
        log_moved = now.others_than(before) == {DATABASE_NAME} and now.log_bytes < before.log_bytes
        if replaced or not (written or log_moved or now.states == before.states):
            return "Files of the vector index were changed by another."
        return None

    def _settled(self) -> Look:
        """How the files stand once SQLite is not in the middle of moving its log."""
        before, now = self._last, Look.at(self._directory)
        deadline = time.monotonic() + LOG_MOVE_SECONDS
        while (
            now.others_than(before) == {DATABASE_NAME}
            and 0 < before.log_bytes <= now.log_bytes
            and time.monotonic() < deadline
        ):
            time.sleep(LOG_LOOK_SECONDS)
            now = Look.at(self._directory)
        return now
