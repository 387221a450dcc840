"""Notices when somebody else replaces, cuts or deletes the files of a Chroma index in use."""

from contextlib import suppress
from pathlib import Path

from app.adapters.vector_index.chroma_files import FileStates, file_states


class IndexFileWatch:
    """Knows how the files stood when they were ours alone.

    Only writes change them, and only while their call runs (watched with chromadb 1.5.9): in
    between, any change is another's; across writes, a file that is another one is. The caller
    sees to it that no call is under way while it asks or tells.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._states: FileStates = {}
        self._written = True

    def remember(self) -> None:
        """Note which files are ours: those that are there when the index has just been opened."""
        with suppress(OSError):  # the next look will do
            self._states = file_states(self._directory)

    def note_write(self) -> None:
        """Our own write may change the files."""
        self._written = True

    def forget(self) -> None:
        """Its files are new ones from here on."""
        self._states = {}

    def foreign_change(self) -> str | None:
        """What somebody else has done to the files, as far as their states tell."""
        try:
            now = file_states(self._directory)
        except OSError as error:
            return f"The files of the vector index cannot be read: {error}"
        before, written = self._states, self._written
        self._states, self._written = now, False
        if not now or before.keys() - now.keys():
            return "Files of the vector index were deleted."
        replaced = any(now[name].inode != state.inode for name, state in before.items())
        if replaced or (not written and now != before):
            return "Files of the vector index were changed by another."
        return None
