"""Keeps every local path that a `uri` names below the folders that may be read."""

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from app.errors import (
    SourceError,
    SourceNotFoundError,
    SourceRefusedError,
    SourceUnavailableError,
    SourceUnreadableError,
)

FILE_SCHEME = re.compile(r"file:", re.IGNORECASE)
OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
OPEN_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC

MOST_LINKS = 40
"""On the way to a file, as Linux follows at most."""


@dataclass(frozen=True)
class GuardedPath:
    """A path that the guard has allowed: below `root`, no link and nothing hidden in between."""

    root: Path
    """The root that it lies below, with links resolved."""
    parts: tuple[str, ...]
    """Names from the root down; empty for the root itself."""
    written: str
    """The path as the person wrote it, for messages."""

    @property
    def path(self) -> Path:
        """The absolute path, with links resolved."""
        return self.root.joinpath(*self.parts)

    def below(self, relative: str) -> "GuardedPath":
        """A file or folder below this folder, by its relative POSIX path.

        Raises SourceRefusedError when the relative path could leave the folder or is hidden.
        """
        names = tuple(relative.split("/"))
        written = f"{self.path}/{relative}"
        if "\0" in relative or any(name.startswith(".") or not name for name in names):
            raise _outside(written)
        return GuardedPath(self.root, self.parts + names, written)


class PathGuard:
    """Turns a `uri` into a path below one of the roots, and opens it without following links.

    `roots` are folders; below them nothing whose name starts with a dot can be reached, unless
    it (or a folder that holds it) is a root of its own. What lies outside is answered the same
    way whether it exists or not, so the guard tells nothing about the rest of the disk.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = [Path(os.path.realpath(root.expanduser())) for root in roots]

    def locate(self, uri: str) -> GuardedPath:
        """Find the allowed path that a plain path, `~/…` or `file://` address means.

        Relative paths start at the working directory. No file is opened. Raises
        SourceRefusedError for everything outside the roots, and what `read_bytes` raises where
        links cannot be followed.
        """
        written = path_as_written(uri)
        with _errors_told(written, "File"):
            resolved = Path(os.path.realpath(_expanded(written)))
        require_text(str(resolved), written)
        for root in self._roots:
            if resolved.is_relative_to(root):
                parts = resolved.relative_to(root).parts
                if not any(part.startswith(".") for part in parts):
                    return GuardedPath(root, parts, written)
        raise _outside(written)

    def links_on_the_way(self, uri: str) -> list[Path]:
        """The links below a root that are followed to what a path or address of a file means.

        Where one leads may change, also to where nothing may be read. Raises SourceRefusedError.
        """
        links = _links_on_the_way(_expanded(path_as_written(uri)))
        return [link for link in links if any(map(link.is_relative_to, self._roots))]

    def read_bytes(self, target: GuardedPath, max_bytes: int) -> bytes:
        """Read a regular file of at most `max_bytes` bytes.

        Raises SourceNotFoundError, SourceUnreadableError (too large, a folder, a device),
        SourceRefusedError (a link where none was) or SourceUnavailableError (permission denied,
        an error of the disk).
        """
        with _errors_told(target.written, "File"), _open_file(target) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > max_bytes:
                raise SourceUnreadableError(too_large(target.written, size, max_bytes))
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise SourceUnreadableError(too_large(target.written, len(data), max_bytes))
        return data

    def file_status(self, target: GuardedPath) -> os.stat_result:
        """Size and times of a regular file; raises what `read_bytes` raises."""
        with _errors_told(target.written, "File"), _open_file(target) as descriptor:
            return os.fstat(descriptor)

    def holds(self, folder: GuardedPath, name: str) -> bool:
        """Whether a folder has something of this name in it; a link need not lead anywhere.

        Raises SourceUnavailableError when that cannot be told now.
        """
        try:
            with _errors_told(str(folder.path), "Folder"):
                (folder.path / name).lstat()
        except SourceNotFoundError:
            return False
        return True

    @contextmanager
    def open_folder(self, target: GuardedPath) -> Iterator[int]:
        """Open a folder for listing; gives its descriptor.

        Raises SourceNotFoundError("Folder not found: …"), SourceUnreadableError for a file,
        SourceRefusedError for a link where none was, and SourceUnavailableError where permission
        is denied or the disk fails.
        """
        with _errors_told(target.written, "Folder"):
            opened = _open_folder(target)
        try:
            yield opened
        finally:
            os.close(opened)


def path_as_written(uri: str) -> str:
    """The path that a plain path or `file:` address spells; raises SourceRefusedError."""
    path = uri
    if FILE_SCHEME.match(uri):
        path = uri[len("file:") :]
        if path.startswith("//"):
            host, slash, rest = path[2:].partition("/")
            if host.lower() not in {"", "localhost"}:
                raise SourceRefusedError(
                    f"A file:// address names a file of this machine, not of {printable(host)!r}: "
                    "write file:///folder/file.md."
                )
            path = slash + rest
        path = os.fsdecode(unquote_to_bytes(path))
    if "\0" in path:
        raise SourceRefusedError("A path cannot contain a NUL character.")
    if not path:
        raise SourceRefusedError("The uri names no file or folder.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise SourceRefusedError("The path holds characters that no file name has.") from error
    return path


def require_text(path: str, written: str) -> None:
    """Raise SourceRefusedError for a path of the file system that is not valid UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise SourceRefusedError(
            f"The name {printable(written)} is not valid UTF-8, so it cannot be stored or cited; "
            "rename the file or folder."
        ) from error


def printable(path: str) -> str:
    """The path as text that can be stored and sent: bytes that are no UTF-8 become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def too_large(name: str, size: int, max_bytes: int) -> str:
    """The message for a file over the limit."""
    limit = f"the limit (FILE_MAX_BYTES) is {max_bytes:,}"
    return f"{printable(name)} is too large: {size:,} bytes, {limit}."


def _links_on_the_way(path: Path) -> Iterator[Path]:
    """Each link that is followed from here to what the path means, in the folder it lies in."""
    reached = Path.cwd()
    ahead = list(reversed(path.parts))
    links = 0
    while ahead and links < MOST_LINKS:
        part = ahead.pop()
        place = reached.parent if part == ".." else reached / part
        try:
            target = place.readlink()
        except OSError:  # most are no links
            reached = place
            continue
        yield place
        links += 1
        ahead += reversed(target.parts)


def _expanded(written: str) -> Path:
    if written != "~" and not written.startswith("~/"):
        return Path(written)
    try:
        return Path.home() / written[2:]
    except RuntimeError as error:
        raise SourceRefusedError(
            f"{printable(written)} is in a home folder, and the user who runs Groundwork has none. "
            "Give the path from / on."
        ) from error


def _outside(written: str) -> SourceRefusedError:
    # One answer for what exists and what does not; its beginning is the specification's.
    return SourceRefusedError(
        f"File not found: {printable(written)}. It is hidden or outside the folders that may be "
        "read; add its folder to SOURCE_ROOTS to allow it."
    )


@contextmanager
def _open_file(target: GuardedPath) -> Iterator[int]:
    """Open a regular file below its root; what is anything else is refused unopened."""
    if not target.parts:
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    folder = _open_folder(GuardedPath(target.root, target.parts[:-1], target.written))
    try:
        before = os.stat(target.parts[-1], dir_fd=folder, follow_symlinks=False)
        _require_regular(before.st_mode, target.written)
        descriptor = os.open(target.parts[-1], OPEN_FILE, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        # It may have been exchanged since it was looked at; the descriptor cannot be.
        _require_regular(os.fstat(descriptor).st_mode, target.written)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(target: GuardedPath) -> int:
    """Open folder by folder from the root, so that a link put in the way is never followed."""
    descriptor = os.open(target.root, OPEN_FOLDER)
    for part in target.parts:
        try:
            deeper = os.open(part, OPEN_FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def _require_regular(mode: int, written: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "is a symbolic link")
    if not stat.S_ISREG(mode):
        raise SourceUnreadableError(
            f"{printable(written)} is a device, pipe or socket, not a file with text."
        )


@contextmanager
def _errors_told(written: str, kind: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _told(error, printable(written), kind) from error


def _told(error: OSError, name: str, kind: str) -> SourceError:
    """The operating system's error as one of ours; `kind` is what was expected there."""
    match error.errno:
        case errno.ENOTDIR if kind == "Folder" and Path(name).is_file():
            return SourceUnreadableError(
                f"{name} is a file, not a folder: index it with document_type 'markdown'."
            )
        case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG:
            return SourceNotFoundError(f"{kind} not found: {name}")
        case errno.EISDIR:
            return SourceUnreadableError(
                f"{name} is a folder, not a file: index it with document_type 'folder'."
            )
        case errno.EACCES | errno.EPERM:
            # Not "unreadable": its text is still there, so what is known of it must stay.
            return SourceUnavailableError(
                f"Permission denied: {name}. Let the user that runs the service read it."
            )
        case errno.ELOOP:
            return SourceRefusedError(
                f"{name} is or became a symbolic link that leads nowhere or round in a circle."
            )
        case _:
            return SourceUnavailableError(f"{name} cannot be read now: {error.strerror or error}")
