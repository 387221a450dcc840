"""Walks a folder and lists its text documents, and everything it leaves out with the reason."""

import os
import stat
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath

from app.adapters.loading.folder_rules import (
    GIT_IGNORE,
    OWN_IGNORE,
    FolderRules,
    RuleReader,
    SkipReason,
    Telling,
)
from app.adapters.loading.path_guard import GuardedPath, PathGuard, printable
from app.errors import SourceError, SourceUnavailableError
from app.protocols import SourceEntry, SourceListing, SourceNote
from app.text_suffixes import TEXT_SUFFIXES

MAX_DEPTH = 64
SETTLING_NS = 2_000_000_000
"""Coarsest grain of a file system's clock: 2 s, on FAT."""
MAX_SKIPPED = 1000
"""Reports beyond this are only counted, first those of what nobody is surprised at."""


@dataclass(frozen=True)
class _Folder:
    """A folder still to be listed, with the rules of the folders above it."""

    place: GuardedPath
    key: str
    """Path from the scanned folder with a final slash; empty for that folder itself."""
    rules: FolderRules
    above: int | None = None
    """The device of the folder that it lies in; None for the scanned folder itself."""


@dataclass
class _Found:
    """What the walk has gathered so far."""

    entries: list[SourceEntry] = field(default_factory=list)
    skipped: list[SourceNote] = field(default_factory=list)
    skipped_as_expected: list[SourceNote] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    mounts: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    device: int | None = None
    """The scanned folder's own, as it was listed."""
    skipped_unreported: int = 0
    most_telling: tuple[Telling, SourceNote] | None = None
    """Of equally telling ones, the first."""

    def complain(self, uri: str, text: str) -> None:
        """Note what nobody expects."""
        self.skip(uri, SkipReason(text))

    def skip(self, uri: str, reason: SkipReason) -> None:
        is_expected = reason.telling < Telling.UNEXPECTED
        notes = self.skipped_as_expected if is_expected else self.skipped
        note = SourceNote(printable(uri), reason.text)
        if len(notes) < MAX_SKIPPED:
            notes.append(note)
        else:
            self.skipped_unreported += 1
        if self.most_telling is None or reason.telling > self.most_telling[0]:
            self.most_telling = reason.telling, note

    def reports(self) -> tuple[tuple[SourceNote, ...], int]:
        """At most MAX_SKIPPED reports, the unexpected ones first, and how many more there are."""
        notes = (*self.skipped, *self.skipped_as_expected)
        beyond = max(0, len(notes) - MAX_SKIPPED)
        return notes[:MAX_SKIPPED], beyond + self.skipped_unreported


def is_text_document(name: str) -> bool:
    """Whether a file of this name is one that folders are searched for."""
    return PurePosixPath(name).suffix.lower() in TEXT_SUFFIXES


FILE_READING_RULES = "17"
"""Raised whenever the same file would be read differently, for example in another encoding or under
another title: then files are read again."""


def stamp_of(status: os.stat_result, uri: str, now_ns: int) -> str | None:
    """A stamp that changes whenever a file, or the way it is read, may have changed.

    It is made of FILE_READING_RULES, the path, the inode, the size, and the times of content and
    inode. That one tells apart two files that changed within the clock's grain and then swapped
    names. Where a file system renumbers inodes (some network and FUSE ones do), files are read
    again.

    None for a file that changed just now: another change within the clock's grain would go unseen.
    """
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if abs(now_ns - changed_ns) < SETTLING_NS:
        return None
    place = zlib.crc32(uri.encode())
    times = f"{status.st_mtime_ns}-{status.st_ctime_ns}"
    return f"{FILE_READING_RULES}-{place:08x}-{status.st_ino:x}-{status.st_size}-{times}"


def modification_time(status: os.stat_result) -> datetime | None:
    """When a file was last written, in UTC; None outside of the calendar."""
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (OverflowError, OSError, ValueError):
        return None


class FolderScan:
    """Lists the text documents below a folder, without reading them.

    Taken in: files with one of TEXT_SUFFIXES. Left out and reported: what `.gitignore` and
    `.ragignore` files exclude (in every folder, with git's rules; `.ragignore` has the last
    word), folders that tools fill (unless an ignore file takes them in with `!name/`), hidden
    ones, symbolic links, other kinds of files, and files over `max_bytes`. In a git work tree
    the `.gitignore` files above the folder hold too; the `.ragignore` files above it always do,
    up to the root that may be read. Unlike git, files that are tracked although a rule excludes
    them are left out, so that a copy of the tree is read like the tree; rules outside the tree
    (`.git/info/exclude`, the user's) are not read, so that every machine agrees.
    """

    def __init__(
        self,
        guard: PathGuard,
        folder: GuardedPath,
        max_bytes: int,
        device_of: Callable[[os.stat_result], int] = lambda status: status.st_dev,
    ) -> None:
        self._guard = guard
        self._folder = folder
        self._max_bytes = max_bytes
        self._device_of = device_of
        self._rules = RuleReader(guard)

    def run(self) -> SourceListing:
        """List the folder now; raises SourceError when it is not there or cannot be listed."""
        found = _Found()
        waiting = [_Folder(self._folder, "", self._rules.above(self._folder))]
        while waiting:
            folder = waiting.pop()
            try:
                waiting += self._list(folder, found)
            except SourceError as error:
                self._cannot_list(folder, error, found)
        # Only now: what is mounted on demand is mounted by having been listed.
        found.mounts += self._mounts_above(found)
        skipped, unreported = found.reports()
        return SourceListing(
            entries=tuple(sorted(found.entries, key=lambda entry: entry.key)),
            skipped=skipped,
            skipped_unreported=unreported,
            telling=found.most_telling[1] if found.most_telling else None,
            incomplete=tuple(found.incomplete),
            mounts=tuple(found.mounts),
            left_out=tuple(found.left_out),
        )

    def _mounts_above(self, found: _Found) -> list[str]:
        """The mount points that the folder lies below: "" for itself, others as absolute paths."""
        path = self._folder.path
        if found.device != self._device_at(path):
            raise SourceUnavailableError(
                f"{path} was mounted or unmounted while it was read; nothing was removed."
            )
        devices = [found.device, *map(self._device_at, path.parents)]
        names = ["", *map(str, path.parents)]
        return [
            name
            for name, (inner, outer) in zip(names, pairwise(devices), strict=False)
            if inner != outer and None not in (inner, outer)
        ]

    def _device_at(self, path: Path) -> int | None:
        try:
            return self._device_of(path.stat())
        except OSError:
            return None

    def _cannot_list(self, folder: _Folder, error: SourceError, found: _Found) -> None:
        if not folder.key:
            raise error
        # A listing that fails because everything is gone must not look like an emptied folder.
        require_still_there(self._guard, self._folder)
        found.incomplete.append(folder.key)
        found.complain(str(folder.place.path), error.detail)

    def _list(self, folder: _Folder, found: _Found) -> list[_Folder]:
        """List one folder into `found`; gives the folders in it that are to be listed too."""
        if folder.key.count("/") > MAX_DEPTH:
            found.incomplete.append(folder.key)
            found.complain(str(folder.place.path), f"nested more than {MAX_DEPTH} folders deep")
            return []
        with self._guard.open_folder(folder.place) as descriptor:
            try:
                device = self._device_of(os.fstat(descriptor))
                with os.scandir(descriptor) as listing:
                    children = sorted(listing, key=lambda child: child.name)
                if folder.above not in (None, device):
                    found.mounts.append(folder.key)
                if not folder.key:
                    found.device = device
                names = {child.name for child in children}
                rules = self._rules.within(folder.rules, folder.place, names, found.complain)
                folder = _Folder(folder.place, folder.key, rules, device)
                inner = (self._take(folder, child, found) for child in children)
                return [deeper for deeper in inner if deeper]
            except OSError as error:
                raise SourceUnavailableError(
                    f"{printable(str(folder.place.path))} cannot be listed now: {error.strerror}"
                ) from error

    def _take(self, folder: _Folder, child: "os.DirEntry[str]", found: _Found) -> _Folder | None:
        """Judge one entry of a folder: list it, report it, or give it back to be descended."""
        uri = f"{folder.place.path}/{child.name}"
        try:
            status = child.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        is_folder = stat.S_ISDIR(status.st_mode)
        key = folder.key + child.name
        reason = self._reason_to_skip(folder, child.name, status, is_folder)
        if reason:
            if child.name not in {GIT_IGNORE, OWN_IGNORE}:
                found.skip(uri, reason)
            if is_folder:
                found.left_out.append(f"{key}/")
            return None
        place = GuardedPath(folder.place.root, (*folder.place.parts, child.name), uri)
        if is_folder:
            return _Folder(place, f"{key}/", folder.rules.inside(child.name), folder.above)
        stamp = stamp_of(status, uri, time.time_ns())
        found.entries.append(SourceEntry(key, uri, stamp, modification_time(status)))
        return None

    def _reason_to_skip(
        self, folder: _Folder, name: str, status: os.stat_result, is_folder: bool
    ) -> SkipReason | None:
        if printable(name) != name:
            return SkipReason("its name is not UTF-8")
        if name.startswith("."):
            return SkipReason("hidden", Telling.HIDDEN)
        excluded = folder.rules.excluded(name, is_folder)
        return excluded if excluded or is_folder else self._no_document(name, status)

    def _no_document(self, name: str, status: os.stat_result) -> SkipReason | None:
        if stat.S_ISLNK(status.st_mode):
            return SkipReason("symbolic link; what it leads to is read only where it lies")
        if not stat.S_ISREG(status.st_mode):
            return SkipReason("device, pipe or socket")
        if not is_text_document(name):
            suffix = PurePosixPath(name).suffix.lower() or "no extension"
            return SkipReason(f"not a text document ({suffix})", Telling.ORDINARY)
        if status.st_size > self._max_bytes:
            return SkipReason(
                f"too large: {status.st_size:,} bytes, "
                f"the limit (FILE_MAX_BYTES) is {self._max_bytes:,}"
            )
        return None


def require_still_there(guard: PathGuard, folder: GuardedPath) -> None:
    """Raise SourceUnavailableError when the folder itself can no longer be opened.

    What fails below it then says nothing about single documents.
    """
    try:
        with guard.open_folder(folder):
            return
    except SourceError as error:
        raise SourceUnavailableError(
            f"The folder went away while it was read; nothing was removed. {error.detail}"
        ) from error
