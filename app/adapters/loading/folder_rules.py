"""Decides what of a folder is left out: by ignore files, and by names of folders tools fill."""

import codecs
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from app.adapters.loading.ignore_rules import IgnoreFile, deciding_file, parse_ignore_file
from app.adapters.loading.path_guard import GuardedPath, PathGuard
from app.errors import SourceError, SourceNotFoundError, SourceUnavailableError

MACHINE_MADE = {
    *("node_modules", "bower_components", "jspm_packages", "vendor"),
    *("__pycache__", "venv", "env", "site-packages", "htmlcov"),
    *("build", "dist", "target", "out", "_build", "coverage"),
}
"""Folders that tools fill. Hidden ones (.git, .venv, .tox, …) need no naming."""

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""First bytes of a file in UTF-16, as some shells of Windows write it; git cannot follow it."""

GIT_FOLDER = ".git"
GIT_IGNORE = ".gitignore"
OWN_IGNORE = ".ragignore"
IGNORE_FILE_MAX_BYTES = 512 * 1024


class Telling(IntEnum):
    """How much it says of a folder that something in it is left out, from little to much."""

    HIDDEN = 0
    """`.git`, say, is in almost every folder."""
    ORDINARY = 1
    """As in most folders."""
    WISHED = 2
    """Somebody's rule says so. With the ones above, a tree of code has thousands."""
    UNEXPECTED = 3


class SkipReason(NamedTuple):
    """Why something in a folder is left out."""

    text: str
    telling: Telling = Telling.UNEXPECTED


Complaint = Callable[[str, str], None]
"""Told the path of an ignore file that cannot be followed, and why."""


def _unheard(path: str, reason: str) -> None:
    """Ignore the complaint."""


@dataclass(frozen=True)
class FolderRules:
    """The ignore files that hold in one folder, outermost first."""

    base: bytes
    """The folder's path below its root, with a final slash; empty for the root itself."""
    git: tuple[IgnoreFile, ...] = ()
    own: tuple[IgnoreFile, ...] = ()

    def excluded(self, name: str, is_folder: bool) -> SkipReason | None:
        """Why a file or folder in this folder is left out, or None."""
        path = self.base + os.fsencode(name)
        for files in (self.own, self.git):
            decided = deciding_file(files, path, is_folder)
            if decided:
                file, excluded = decided
                reason = SkipReason(f"excluded by {file.source}", Telling.WISHED)
                return reason if excluded else None
        if is_folder and name in MACHINE_MADE:
            return SkipReason(
                f"folder that tools fill; write !{name}/ into {OWN_IGNORE} to take it in",
                Telling.ORDINARY,
            )
        return None

    def inside(self, name: str) -> "FolderRules":
        """What holds in a folder of this folder, before its own ignore files are read."""
        return FolderRules(self.base + os.fsencode(name) + b"/", self.git, self.own)


class RuleReader:
    """Reads the ignore files of folders, through the path guard."""

    def __init__(self, guard: PathGuard) -> None:
        self._guard = guard

    def above(self, folder: GuardedPath) -> FolderRules:
        """The rules that hold in a folder by the ignore files of the folders above it.

        `.gitignore` counts within the git work tree that the folder lies in, as for git.
        `.ragignore` counts in every folder from the root that may be read down: whoever wrote one
        meant to hide texts. The folder itself was named by an item, and is read even if these rules
        exclude it.

        Raises SourceUnavailableError when one of the files cannot be read now.
        """
        parts = folder.parts
        base = b"".join(os.fsencode(part) + b"/" for part in parts)
        places = [GuardedPath(folder.root, parts[:n], "") for n in range(len(parts))]
        git = self._files(self._in_work_tree(folder, places), GIT_IGNORE)
        return FolderRules(base, git, self._files(places, OWN_IGNORE))

    def _in_work_tree(
        self, folder: GuardedPath, above: Sequence[GuardedPath]
    ) -> Sequence[GuardedPath]:
        """Those of the folders above that belong to the folder's git work tree."""
        tops = [place for place in above if self._guard.holds(place, GIT_FOLDER)]
        if not tops or self._guard.holds(folder, GIT_FOLDER):
            return ()
        return above[len(tops[-1].parts) :]

    def _files(self, places: Sequence[GuardedPath], name: str) -> tuple[IgnoreFile, ...]:
        """The ignore files of this name in these folders."""
        found: tuple[IgnoreFile, ...] = ()
        for place in places:
            if self._guard.holds(place, name):
                base = b"".join(os.fsencode(part) + b"/" for part in place.parts)
                found += self._read(place, name, base, _unheard)
        return found

    def within(
        self,
        rules: FolderRules,
        place: GuardedPath,
        names: Collection[str],
        complain: Complaint = _unheard,
    ) -> FolderRules:
        """The rules of a folder with these names in it, its own ignore files added.

        Raises SourceUnavailableError when one of them cannot be read now.
        """
        git, own = rules.git, rules.own
        if GIT_IGNORE in names:
            git += self._read(place, GIT_IGNORE, rules.base, complain)
        if OWN_IGNORE in names:
            own += self._read(place, OWN_IGNORE, rules.base, complain)
        return FolderRules(rules.base, git, own)

    def _read(
        self, place: GuardedPath, name: str, base: bytes, complain: Complaint
    ) -> tuple[IgnoreFile, ...]:
        file = GuardedPath(place.root, (*place.parts, name), f"{place.path}/{name}")
        try:
            data = self._guard.read_bytes(file, IGNORE_FILE_MAX_BYTES)
        except (SourceUnavailableError, SourceNotFoundError) as error:
            # It is there, or was a moment ago; without its rules what it hides would be published.
            raise SourceUnavailableError(
                f"What {name} leaves out is not known. {error.detail}"
            ) from error
        except SourceError as error:
            complain(file.written, f"its rules are not followed: {error.detail}")
            return ()
        if data.startswith(UTF16_MARKS):
            complain(file.written, "its rules are not followed: write it in UTF-8, not UTF-16")
            return ()
        return (parse_ignore_file(data, base, name),)
