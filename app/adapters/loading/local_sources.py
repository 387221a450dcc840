"""Sources on this machine's disk: a single file, and a folder of documents."""

import os
import time
from collections.abc import Collection

from app.adapters.loading.folder_scan import (
    FolderScan,
    modification_time,
    require_still_there,
    stamp_of,
)
from app.adapters.loading.path_guard import GuardedPath, PathGuard
from app.adapters.loading.text_document import document_from_bytes
from app.errors import SourceNotFoundError, SourceRefusedError, SourceUnreadableError
from app.protocols import LoadedDocument, SourceEntry, SourceListing


class FileSource:
    """One text file; its only entry has the file's name as its key."""

    def __init__(self, guard: PathGuard, file: GuardedPath, max_bytes: int) -> None:
        self._guard = guard
        self._file = file
        self._max_bytes = max_bytes

    def scan(self) -> SourceListing:
        """Look the file up; raises SourceNotFoundError("File not found: …") and the like."""
        status = self._guard.file_status(self._file)
        path = self._file.path
        stamp = stamp_of(status, str(path), time.time_ns())
        written = modification_time(status)
        return SourceListing((SourceEntry(path.name, str(path), stamp, written),))

    def read(self, entry: SourceEntry) -> LoadedDocument:
        """Read the file; raises SourceError."""
        data = self._guard.read_bytes(self._file, self._max_bytes)
        return document_from_bytes(
            data, name=self._file.path.name, document_id=entry.key, source_uri=entry.uri
        )


class FolderSource:
    """The text documents of a folder; keys are paths relative to it."""

    def __init__(self, guard: PathGuard, folder: GuardedPath, max_bytes: int) -> None:
        self._guard = guard
        self._folder = folder
        self._max_bytes = max_bytes

    def scan(self) -> SourceListing:
        """List the folder; raises SourceNotFoundError("Folder not found: …") and the like."""
        return FolderScan(self._guard, self._folder, self._max_bytes).run()

    def still_there(self, keys: Collection[str]) -> frozenset[str]:
        """See RelistingSource; raises SourceError.

        On tmpfs, 4 of 6 listings of a folder in which files were replaced by renaming others, as
        editors save them, lacked one that was there all the time; of 683 on ext4 none did.
        """
        if not any(os.path.lexists(f"{self._folder.path}/{key}") for key in keys):
            return frozenset()
        listing = self.scan()
        listed, hidden = {entry.key for entry in listing.entries}, tuple(listing.incomplete)
        return frozenset(key for key in keys if key in listed or key.startswith(hidden))

    def read(self, entry: SourceEntry) -> LoadedDocument:
        """Read one document.

        Raises SourceNotFoundError when it is gone, SourceUnavailableError when the folder is.
        """
        file = self._folder.below(entry.key)
        try:
            data = self._guard.read_bytes(file, self._max_bytes)
        except (SourceNotFoundError, SourceUnreadableError, SourceRefusedError):
            require_still_there(self._guard, self._folder)
            raise
        return document_from_bytes(
            data, name=file.path.name, document_id=entry.key, source_uri=entry.uri
        )
