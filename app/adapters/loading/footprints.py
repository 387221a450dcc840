"""Where on the disk the documents of an item lie: which folders to watch, and what counts there."""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from app.adapters.loading.folder_rules import GIT_IGNORE, OWN_IGNORE, FolderRules, RuleReader
from app.adapters.loading.folder_scan import MAX_DEPTH, is_text_document
from app.adapters.loading.path_guard import GuardedPath, PathGuard, printable
from app.adapters.loading.sources import is_web
from app.errors import SourceError


class Change(Enum):
    """What a changed path means for an item."""

    NONE = "none"
    DOCUMENTS = "documents"
    """A document came, changed or went."""
    FOLDERS = "folders"
    """The folders to watch may have changed, too."""
    REPLACED = "replaced"
    """A watched folder came or went: whoever watched it watches nothing now."""


Identity = tuple[int, int] | None
"""Device and inode, which tell a folder from another of its name; None: it cannot be seen."""


@dataclass(frozen=True)
class Footprint:
    """The folders in which documents of an item lie, as they were when it was taken."""

    top: str
    """The item's folder or file, an absolute path with links resolved; empty: out of bounds."""
    is_file: bool = False
    folders: Mapping[str, FolderRules] = field(default_factory=dict)
    """The folders that indexing lists, with what holds in them; none for a single file."""
    identities: Mapping[str, Identity] = field(default_factory=dict)
    """These folders, those above them and those of the links on the way to them, with what tells
    whether they are still the same."""
    links: frozenset[str] = frozenset()
    """Links on the way to the item's folder or file: where one leads may change."""

    @property
    def watched(self) -> frozenset[str]:
        """The folders to watch, each without what lies deeper.

        Those above, up to the root that may be read, are among them: they tell when one of them,
        or the item's own folder or file, is replaced.
        """
        return frozenset(self.identities)

    def meaning(self, path: str, *, came_or_went: bool) -> Change:
        """What it means that this absolute path came, went, or else changed somehow."""
        if path == self.top and self.is_file:
            return Change.DOCUMENTS
        if path in self.links or path == self.top or path in self.identities:
            is_another = came_or_went or path in self.links
            return self._meaning_of_folder(path, came_or_went=is_another)
        folder, _, name = path.rpartition("/")
        if name in {GIT_IGNORE, OWN_IGNORE} and folder in self.identities and not self.is_file:
            return Change.FOLDERS
        rules = self.folders.get(folder)
        if rules is None or name.startswith("."):
            return Change.NONE
        mode = _mode(path)
        is_folder = mode is not None and stat.S_ISDIR(mode)
        # A link is no document, but one that comes may have taken the place of one.
        is_document = came_or_went or not stat.S_ISLNK(mode or 0)
        wanted = is_folder or (is_text_document(name) and is_document)
        if not wanted or rules.excluded(name, is_folder):
            return Change.NONE
        return Change.FOLDERS if is_folder else Change.DOCUMENTS

    def _meaning_of_folder(self, path: str, *, came_or_went: bool) -> Change:
        if came_or_went:
            return Change.REPLACED
        # A folder that could not be listed may be listable now. One that no longer is listable is
        # left out from now on, and awaited in the folder above.
        listed = path if path in self.folders else self.top
        is_as_it_was = self.folders and os.access(listed, os.R_OK | os.X_OK)
        return Change.NONE if is_as_it_was else Change.FOLDERS


class Footprints:
    """Takes the footprints of items, without reading a single document."""

    def __init__(self, guard: PathGuard) -> None:
        self._guard = guard
        self._rules = RuleReader(guard)

    def take(self, uri: str, document_type: str) -> Footprint | None:
        """The footprint of an item now; None when it does not lie on this machine's disk.

        What cannot be listed now is left out, with all that lies deeper.
        """
        try:
            if is_web(uri.strip()):
                return None
            links = self._guard.links_on_the_way(uri.strip())
        except SourceError:
            return None
        names = frozenset(map(str, links))
        beside = _identities_of(link.parent for link in links)
        try:
            place = self._guard.locate(uri.strip())
        except SourceError:
            return Footprint("", identities=beside, links=names) if links else None
        above = {**_identities_above(place), **beside}
        if document_type != "folder":
            return Footprint(str(place.path), is_file=True, identities=above, links=names)
        folders = self._walk(place)
        identities = {path: identity for path, (_, identity) in folders.items()}
        return Footprint(
            str(place.path),
            folders={path: rules for path, (rules, _) in folders.items()},
            identities={**above, **identities},
            links=names,
        )

    def _walk(self, top: GuardedPath) -> Mapping[str, tuple[FolderRules, Identity]]:
        found: dict[str, tuple[FolderRules, Identity]] = {}
        try:
            waiting = [(top, self._rules.above(top), 0)]
        except SourceError:
            return found
        while waiting:
            place, rules, depth = waiting.pop()
            try:
                with self._guard.open_folder(place) as descriptor:
                    if not os.access(".", os.X_OK, dir_fd=descriptor):
                        continue  # its names can be listed, but nothing in it can be opened
                    inner, rules = self._list(descriptor, place, rules)
                    identity = _identity(os.fstat(descriptor))
            except (SourceError, OSError):
                continue
            found[str(place.path)] = rules, identity
            if depth < MAX_DEPTH:
                for name in inner:
                    deeper = GuardedPath(place.root, (*place.parts, name), "")
                    waiting.append((deeper, rules.inside(name), depth + 1))
        return found

    def _list(
        self, descriptor: int, place: GuardedPath, rules: FolderRules
    ) -> tuple[list[str], FolderRules]:
        """The folders in a folder that indexing descends into, and the rules of the folder."""
        with os.scandir(descriptor) as listing:
            children = [(child.name, child.is_dir(follow_symlinks=False)) for child in listing]
        try:
            rules = self._rules.within(rules, place, {name for name, _ in children})
        except SourceError:
            return [], rules  # watched all the same, to be told when its ignore file changes
        inner = [
            name
            for name, is_folder in children
            if is_folder
            and not name.startswith(".")
            and printable(name) == name
            and not rules.excluded(name, is_folder=True)
        ]
        return inner, rules


def _identities_above(place: GuardedPath) -> dict[str, Identity]:
    """The folders above a place up to its root, and one above it at least."""
    parts = place.parts
    above = [place.root.joinpath(*parts[:n]) for n in range(len(parts))] or [place.root.parent]
    return _identities_of(above)


def _identities_of(folders: Iterable[Path]) -> dict[str, Identity]:
    found: dict[str, Identity] = {}
    for path in folders:
        try:
            found[str(path)] = _identity(path.lstat())
        except OSError:
            found[str(path)] = None
    return found


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _mode(path: str) -> int | None:
    """What lies at a path, links not followed; None: nothing that can be seen."""
    try:
        return Path(path).lstat().st_mode
    except OSError:
        return None
