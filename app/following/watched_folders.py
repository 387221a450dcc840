"""The folders of the items that are followed, as far as the system watches them for us."""

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Protocol

from app.adapters.loading.footprints import Change, Footprint, Identity
from app.adapters.watching.folder_notifier import MissedChangesError, WatchLimitError
from app.errors import UnavailableError

logger = logging.getLogger(__name__)


class Notifier(Protocol):
    """Tells what changes in the folders that it was opened with; FolderNotifier is one."""

    def wait(self, seconds: float, interrupted: Callable[[], bool]) -> Mapping[str, bool]:
        """The paths that changed, as soon as there are any; none when the time is over.

        With each, whether it came or went.
        """
        ...

    def close(self) -> None:
        """Watch no longer."""
        ...


class FootprintTaker(Protocol):
    """Finds the folders of an item; Footprints is one."""

    def take(self, uri: str, document_type: str) -> Footprint | None:
        """The footprint now; None for what does not lie on this machine's disk.

        May raise OSError.
        """
        ...


class WatchedFolders:
    """Knows which folders belong to which items, and passes on which items may have changed.

    `on_change` gets these items, at any call. Where folders cannot be watched it says so once.
    """

    def __init__(
        self,
        footprints: FootprintTaker,
        open_notifier: Callable[[Collection[str]], Notifier],
        on_change: Callable[[Collection[int]], object],
        interrupted: Callable[[], bool],
    ) -> None:
        """`interrupted` says whether whoever waits for changes is to do something else."""
        self._footprints = footprints
        self._open_notifier = open_notifier
        self._on_change = on_change
        self._interrupted = interrupted
        self._sources: Mapping[int, tuple[str, str]] = {}
        """Uri and document type of the items that are watched."""
        self._taken: dict[int, Footprint] = {}
        self._watched: dict[int, Mapping[str, Identity]] = {}
        """The folders of each item that the system watches for us now, as they were then …"""
        self._owners: dict[str, set[int]] = {}
        """… and the items that each of them belongs to."""
        self._notifier: Notifier | None = None
        self._unwatchable: set[int] = set()
        self._stale: set[int] = set()
        """Items whose folders may have changed."""
        self._complaint = ""

    @property
    def may_differ(self) -> bool:
        """Whether there may be other folders than those that are watched."""
        return bool(self._stale)

    def follows(self, item_id: int) -> bool:
        """Whether this item is among those that are followed."""
        return item_id in self._sources

    def follow(self, sources: Mapping[int, tuple[str, str]]) -> list[int]:
        """These items are followed from here on, by uri and document type; gives which went.

        What that means for the folders is seen to by the next `walk_and_watch`.
        """
        gone = [known for known in self._sources if known not in sources]
        for item_id in gone:
            self._taken.pop(item_id, None)
        if sources != self._sources:
            self._stale.update(gone)
            changed = {id_ for id_, now in sources.items() if self._sources.get(id_) != now}
            self._stale |= changed | self._unwatchable  # there may be room for these now
            self._unwatchable.clear()
            self._sources = sources
        return gone

    def walk_and_watch(self, *, anew: bool) -> set[int] | None:
        """Walk the folders that may have changed, all of them if `anew`, and watch what is there.

        Gives the items with folders that were not watched before, which are to be walked once
        more; None: nothing is different from what is watched. Raises UnavailableError.
        """
        if anew:
            self._stale |= self._sources.keys()
        fresh = self._walk(self._stale)
        self._stale.clear()
        # What is unmounted and mounted again may have its numbers again, but no watch.
        if fresh is None and self._notifier is not None and not anew:
            return None
        self._watch()
        fresh = fresh or set()
        # What came while the folders were walked and not yet watched is found by one more.
        self._stale |= fresh & self._taken.keys()
        return fresh

    def wait(self, seconds: float) -> None:
        """Wait for changes, as long as there is a watch; raises UnavailableError."""
        if self._notifier is not None:
            self._take_told(self._notifier, seconds)

    def close(self) -> None:
        """Watch no longer."""
        if self._notifier is not None:
            self._notifier.close()
            self._notifier = None

    # What is there -------------------------------------------------------------------------

    def _walk(self, item_ids: Collection[int]) -> set[int] | None:
        """Take footprints anew; gives the items with folders that are not watched yet.

        A folder that another has taken the place of is watched no longer, whatever its name.

        None: nothing is different from what is watched.
        """
        fresh, differs = set(), False
        for item_id in item_ids:
            before, known = self._watched.get(item_id, {}), self._taken.pop(item_id, None)
            footprint = self._footprint(item_id, known)
            if footprint is not None:
                self._taken[item_id] = footprint
            left_out = footprint is None or item_id in self._unwatchable
            after = {} if left_out else self._taken[item_id].identities
            # Links on the way may lead to another place, where everything is watched already.
            moved = bool(known and footprint and known.top != footprint.top)
            differs = differs or moved or after != before
            if after.items() - before.items() or moved:
                fresh.add(item_id)
        return fresh if differs else None

    def _footprint(self, item_id: int, known: Footprint | None) -> Footprint | None:
        """Its footprint now; as it was, until the next recheck, when the system refuses to say."""
        source = self._sources.get(item_id)
        try:
            return self._footprints.take(*source) if source else None
        except OSError as error:
            logger.warning("The folders of item %d are looked at later: %s", item_id, error)
            return known

    # What is watched -----------------------------------------------------------------------

    def _watch(self) -> None:
        """Watch the folders of all items; those of the largest are left out if it must be."""
        while True:
            watched = {
                item_id: footprint.watched
                for item_id, footprint in self._taken.items()
                if item_id not in self._unwatchable
            }
            owners = _owners(watched)
            try:
                opened = self._open_notifier(owners.keys())
            except WatchLimitError as error:
                if not watched:
                    raise
                if self._notifier is None:
                    self._leave_out_largest(watched, error)
                else:
                    # The folders of both counted. Changes may be missed until the next is open.
                    self.close()
                    self._on_change(watched.keys())
                continue
            break
        if self._notifier is not None:
            with suppress(UnavailableError):
                self._take_told(self._notifier, 0)  # what it has not told yet goes with it
        self.close()
        self._notifier, self._owners = opened, owners
        self._watched = {item_id: self._taken[item_id].identities for item_id in watched}
        self._complaint = ""

    def _leave_out_largest(
        self, watched: Mapping[int, frozenset[str]], error: WatchLimitError
    ) -> None:
        largest = max(watched, key=lambda item_id: len(watched[item_id]))
        self._unwatchable.add(largest)
        logger.warning(
            "Item %d is not watched, only looked at after its refresh_interval: %s",
            largest,
            error.detail,
        )

    # What is told --------------------------------------------------------------------------

    def _take_told(self, notifier: Notifier, seconds: float) -> None:
        try:
            told = notifier.wait(seconds, self._interrupted)
        except MissedChangesError as error:
            self._take_missed_changes(error)
        else:
            for path, came_or_went in told.items():
                self._take_change(path, came_or_went=came_or_went)

    def _take_missed_changes(self, error: MissedChangesError) -> None:
        """Any file of any item may have changed; new folders are found by the next recheck."""
        if error.detail != self._complaint:
            logger.warning("All that is watched is looked at, some changes are lost: %s", error)
        self._complaint = error.detail
        self._on_change(self._watched.keys())

    def _take_change(self, path: str, *, came_or_went: bool) -> None:
        folder = path.rpartition("/")[0]
        for item_id in self._owners.get(folder, set()) | self._owners.get(path, set()):
            footprint = self._taken.get(item_id)
            if footprint is None:
                continue
            change = footprint.meaning(path, came_or_went=came_or_went)
            if change is not Change.NONE:
                self._on_change((item_id,))
            if change in (Change.FOLDERS, Change.REPLACED):
                self._stale.add(item_id)
            if change is Change.REPLACED:
                self._watched[item_id] = {}  # so that all of it is watched anew


def _owners(watched: Mapping[int, frozenset[str]]) -> dict[str, set[int]]:
    """The items of each folder."""
    owners: dict[str, set[int]] = {}
    for item_id, folders in watched.items():
        for folder in folders:
            owners.setdefault(folder, set()).add(item_id)
    return owners
