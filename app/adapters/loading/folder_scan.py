"""Walks a folder and lists its text documents, and everything it leaves out with the reason."""

import os
import stat
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath

from app.adapters.loading.ignore_rules import IgnoreFile, deciding_file, parse_ignore_file
from app.adapters.loading.path_guard import GuardedPath, PathGuard, printable
from app.errors import SourceError, SourceUnavailableError
from app.protocols import SourceEntry, SourceListing, SourceNote

TEXT_SUFFIXES = {".md", ".markdown", ".mdx", ".txt", ".rst"}
MACHINE_MADE = {
    *("node_modules", "bower_components", "jspm_packages", "vendor"),
    *("__pycache__", "venv", "env", "site-packages", "htmlcov"),
    *("build", "dist", "target", "out", "_build", "coverage"),
}
"""Folders that tools fill. Hidden ones (.git, .venv, .tox, …) need no naming."""

GIT_IGNORE = ".gitignore"
OWN_IGNORE = ".ragignore"
IGNORE_FILE_MAX_BYTES = 512 * 1024
MAX_DEPTH = 64
SETTLING_NS = 2_000_000_000
"""Coarsest grain of a file system's clock: 2 s, on FAT."""
MAX_SKIPPED = 1000
"""Reports beyond this are only counted."""


@dataclass(frozen=True)
class _Folder:
    """A folder still to be listed, with the ignore files that hold for it, outermost first."""

    place: GuardedPath
    key: str
    """Path from the scanned folder with a final slash; empty for that folder itself."""
    git_rules: tuple[IgnoreFile, ...]
    own_rules: tuple[IgnoreFile, ...]


@dataclass
class _Found:
    """What the walk has gathered so far."""

    entries: list[SourceEntry] = field(default_factory=list)
    skipped: list[SourceNote] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    skipped_unreported: int = 0

    def skip(self, uri: str, reason: str) -> None:
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append(SourceNote(printable(uri), reason))
        else:
            self.skipped_unreported += 1


def stamp_of(status: os.stat_result, uri: str, now_ns: int) -> str | None:
    """Changes whenever a file may have: its place, its size, the times of content and inode.

    None for a file that changed just now: another change within the clock's grain would go unseen.
    """
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if abs(now_ns - changed_ns) < SETTLING_NS:
        return None
    place = zlib.crc32(uri.encode())
    return f"{place:08x}-{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"


def modification_time(status: os.stat_result) -> datetime | None:
    """When a file was last written, in UTC; None outside of the calendar."""
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (OverflowError, OSError, ValueError):
        return None


class FolderScan:
    """Lists the text documents below a folder, without reading them.

    Taken in: `.md .markdown .mdx .txt .rst`. Left out and reported: what `.gitignore` and
    `.ragignore` files exclude (in every folder, with git's rules; `.ragignore` has the last
    word), folders that tools fill (unless an ignore file takes them in with `!name/`), hidden
    ones, symbolic links, other kinds of files, and files over `max_bytes`. In a git work tree
    the `.gitignore` files above the folder hold too. Unlike git, files that are tracked although
    a rule excludes them are left out, so that a copy of the tree is read like the tree; rules
    outside the tree (`.git/info/exclude`, the user's) are not read, so that every machine agrees.
    """

    def __init__(self, guard: PathGuard, folder: GuardedPath, max_bytes: int) -> None:
        self._guard = guard
        self._folder = folder
        self._max_bytes = max_bytes
        self._base = b"".join(os.fsencode(part) + b"/" for part in folder.parts)

    def run(self) -> SourceListing:
        """List the folder now; raises SourceError when it is not there or cannot be listed."""
        found = _Found()
        waiting = [_Folder(self._folder, "", tuple(self._rules_above()), ())]
        while waiting:
            folder = waiting.pop()
            try:
                waiting += self._list(folder, found)
            except SourceError as error:
                self._cannot_list(folder, error, found)
        if found.skipped_unreported:
            found.skipped.append(
                SourceNote(str(self._folder.path), f"and {found.skipped_unreported:,} more")
            )
        return SourceListing(
            entries=tuple(sorted(found.entries, key=lambda entry: entry.key)),
            skipped=tuple(found.skipped),
            incomplete=tuple(found.incomplete),
        )

    def _cannot_list(self, folder: _Folder, error: SourceError, found: _Found) -> None:
        if not folder.key:
            raise error
        # A listing that fails because everything is gone must not look like an emptied folder.
        require_still_there(self._guard, self._folder)
        found.incomplete.append(folder.key)
        found.skip(str(folder.place.path), error.detail)

    def _list(self, folder: _Folder, found: _Found) -> list[_Folder]:
        """List one folder into `found`; gives the folders in it that are to be listed too."""
        if folder.key.count("/") > MAX_DEPTH:
            found.incomplete.append(folder.key)
            found.skip(str(folder.place.path), f"nested more than {MAX_DEPTH} folders deep")
            return []
        with self._guard.open_folder(folder.place) as descriptor:
            try:
                with os.scandir(descriptor) as listing:
                    children = sorted(listing, key=lambda child: child.name)
                folder = self._with_rules(folder, {child.name for child in children}, found)
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
        reason = self._reason_to_skip(folder, child.name, status, is_folder)
        if reason:
            if child.name not in {GIT_IGNORE, OWN_IGNORE}:
                found.skip(uri, reason)
            return None
        key = folder.key + child.name
        place = GuardedPath(folder.place.root, (*folder.place.parts, child.name), uri)
        if is_folder:
            return _Folder(place, f"{key}/", folder.git_rules, folder.own_rules)
        stamp = stamp_of(status, uri, time.time_ns())
        found.entries.append(SourceEntry(key, uri, stamp, modification_time(status)))
        return None

    def _reason_to_skip(
        self, folder: _Folder, name: str, status: os.stat_result, is_folder: bool
    ) -> str | None:
        if printable(name) != name:
            return "its name is not UTF-8"
        if name.startswith("."):
            return "hidden"
        excluded = self._excluded(folder, name, is_folder)
        return excluded if excluded or is_folder else self._no_document(name, status)

    def _no_document(self, name: str, status: os.stat_result) -> str | None:
        if stat.S_ISLNK(status.st_mode):
            return "symbolic link; what it leads to is read only where it lies"
        if not stat.S_ISREG(status.st_mode):
            return "device, pipe or socket"
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in TEXT_SUFFIXES:
            return f"not a text document ({suffix or 'no extension'})"
        if status.st_size > self._max_bytes:
            return (
                f"too large: {status.st_size:,} bytes, "
                f"the limit (FILE_MAX_BYTES) is {self._max_bytes:,}"
            )
        return None

    def _excluded(self, folder: _Folder, name: str, is_folder: bool) -> str | None:
        path = self._base + os.fsencode(folder.key + name)
        for rules in (folder.own_rules, folder.git_rules):
            decided = deciding_file(rules, path, is_folder)
            if decided:
                file, excluded = decided
                return f"excluded by {file.source}" if excluded else None
        if is_folder and name in MACHINE_MADE:
            return f"folder that tools fill; write !{name}/ into {OWN_IGNORE} to take it in"
        return None

    def _with_rules(self, folder: _Folder, names: set[str], found: _Found) -> _Folder:
        """The folder with its own ignore files added."""
        base = self._base + os.fsencode(folder.key)
        git_rules, own_rules = folder.git_rules, folder.own_rules
        if GIT_IGNORE in names:
            git_rules += tuple(self._read_rules(folder.place, GIT_IGNORE, base, found))
        if OWN_IGNORE in names:
            own_rules += tuple(self._read_rules(folder.place, OWN_IGNORE, base, found))
        return _Folder(folder.place, folder.key, git_rules, own_rules)

    def _rules_above(self) -> Iterator[IgnoreFile]:
        """The rules of the folders above, up to the top of the git work tree, outermost first."""
        parts = self._folder.parts
        above = [GuardedPath(self._folder.root, parts[:n], "") for n in range(len(parts))]
        tops = [place for place in above if (place.path / ".git").exists()]
        if (self._folder.path / ".git").exists() or not tops:
            return
        for place in above[len(tops[-1].parts) :]:
            base = b"".join(os.fsencode(part) + b"/" for part in place.parts)
            yield from self._read_rules(place, GIT_IGNORE, base, None)

    def _read_rules(
        self, place: GuardedPath, name: str, base: bytes, found: _Found | None
    ) -> Iterator[IgnoreFile]:
        file = GuardedPath(place.root, (*place.parts, name), f"{place.path}/{name}")
        try:
            data = self._guard.read_bytes(file, IGNORE_FILE_MAX_BYTES)
        except SourceError as error:
            if found:
                found.skip(file.written, f"its rules are not followed: {error.detail}")
            return
        yield parse_ignore_file(data, base, name)


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
