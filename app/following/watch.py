"""Watches the folders of items, and has an item indexed soon after its files change."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from app.adapters.loading.footprints import Change, Footprint, Identity
from app.adapters.watching.folder_notifier import (
    FolderNotifier,
    MissedChangesError,
    WatchLimitError,
)
from app.errors import AppError, UnavailableError
from app.following.pauses import ItemPauses
from app.following.records import FollowedItem

logger = logging.getLogger(__name__)

RECHECK_SECONDS = 300.0
"""How often all folders are walked again: a file system that is mounted tells nobody."""

FAILURE_SECONDS = 30.0
"""Pause after something failed: the database, or the watching itself."""

MOST_WALKS = 3
"""Walks after which folders that keep coming are left to the next look."""


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


class SourceWatch:
    """One thread that waits for changes. It adds jobs through `add_job` and indexes nothing.

    `add_job` gives None for an item that is not followed at that moment.

    What changed before it began it cannot tell: those items it passes to `look_soon`, once.
    Where folders cannot be watched it says so once; the schedule still looks at them.
    """

    def __init__(
        self,
        *,
        items: Callable[[], Sequence[FollowedItem]],
        footprints: FootprintTaker,
        add_job: Callable[[int], object],
        look_soon: Callable[[Collection[int]], object],
        open_notifier: Callable[[Collection[str]], Notifier] = FolderNotifier,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._items = items
        self._footprints = footprints
        self._add_job = add_job
        self._look_soon = look_soon
        self._open_notifier = open_notifier
        self._clock = clock
        self._sources: dict[int, tuple[str, str]] = {}
        """Uri and document type of the items that are watched."""
        self._taken: dict[int, Footprint] = {}
        self._watched: dict[int, Mapping[str, Identity]] = {}
        """The folders of each item that the system watches for us now, as they were then …"""
        self._owners: dict[str, set[int]] = {}
        """… and the items that each of them belongs to."""
        self._notifier: Notifier | None = None
        self._unwatchable: set[int] = set()
        self._complaint = ""
        self._changed: set[int] = set()
        self._begun: set[int] = set()
        """Items that may have changed before the watch began."""
        self._stale: set[int] = set()
        """Items whose folders may have changed."""
        self._pauses = ItemPauses()
        self._recheck_at = self._clock() + RECHECK_SECONDS
        self._woken = threading.Event()
        self._woken.set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="source-watch", daemon=True)

    def start(self) -> None:
        """Watch what is followed now, and have it looked at soon: it may have changed before."""
        self._thread.start()

    def wake(self) -> None:
        """Items have come, changed or gone."""
        self._woken.set()

    def stop(self) -> None:
        """Add no further jobs; waits for nothing."""
        self._stopped.set()
        self._woken.set()

    def close(self) -> None:
        """Stop, wait for the thread, and watch no longer."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()
        self._close_notifier()

    def _run(self) -> None:
        first = True
        while not self._stopped.is_set():
            try:
                self.look(catch_up=not first)
                first = False
                self.wait_and_dispatch()
            except AppError as error:
                if error.detail != self._complaint:
                    logger.warning("Watching folders pauses: %s", error.detail)
                self._complaint = error.detail
                self._recheck_at = self._clock()
                self._stopped.wait(FAILURE_SECONDS)

    # What is watched -----------------------------------------------------------------------

    def look(self, *, catch_up: bool = True) -> None:
        """Bring what is watched up to date with the items and their folders.

        Items with folders that were not watched before may have changed in between: with
        `catch_up` they are indexed once more, without they are looked at soon.
        """
        rechecks = self._clock() >= self._recheck_at
        if rechecks:
            self._recheck_at = self._clock() + RECHECK_SECONDS
            self._stale |= self._sources.keys()
            self._woken.set()
        if self._woken.is_set():
            self._woken.clear()
            if self._stopped.is_set():
                self._woken.set()  # it was said while this one began: not to be slept through
            self._take_items()
        for _ in range(MOST_WALKS):
            fresh = self._walk(self._stale)
            self._stale.clear()
            if fresh is None and self._notifier is not None and not rechecks:
                return
            # What is unmounted and mounted again may have its numbers again, but no watch.
            rechecks = False
            self._watch()
            fresh = fresh or set()
            if catch_up:
                self._changed |= fresh
            else:
                self._begun |= fresh
            # What came while the folders were walked and not yet watched is found by one more.
            self._stale |= fresh & self._taken.keys()

    def _take_items(self) -> None:
        wanted = {item.id: (item.uri, item.document_type) for item in self._items()}
        for item_id in [known for known in self._sources if known not in wanted]:
            self._taken.pop(item_id, None)
            self._pauses.forget(item_id)
            self._changed.discard(item_id)
            self._begun.discard(item_id)
        if wanted == self._sources:
            return
        self._stale |= self._sources.keys() - wanted.keys()
        self._stale |= {id_ for id_, source in wanted.items() if self._sources.get(id_) != source}
        self._stale |= self._unwatchable  # there may be room for them now
        self._unwatchable.clear()
        self._sources = wanted

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
                    self._close_notifier()
                    self._changed |= watched.keys()
                continue
            break
        if self._notifier is not None:
            with suppress(UnavailableError):
                self._take_told(self._notifier, 0)  # what it has not told yet goes with it
        self._close_notifier()
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

    def _close_notifier(self) -> None:
        if self._notifier is not None:
            self._notifier.close()
            self._notifier = None

    # What changes --------------------------------------------------------------------------

    def wait_and_dispatch(self) -> None:
        """Wait for changes, and add jobs for the items that they concern."""
        if self._notifier is not None:
            self._take_told(self._notifier, self._seconds_to_wait())
        if self._stale:
            self.look()  # first watch what is new, then index: nothing falls between the two
        self._dispatch()

    def _take_told(self, notifier: Notifier, seconds: float) -> None:
        try:
            told = notifier.wait(seconds, self._woken.is_set)
        except MissedChangesError as error:
            self._take_missed_changes(error)
        else:
            for path, came_or_went in told.items():
                self._take_change(path, came_or_went=came_or_went)

    def _seconds_to_wait(self) -> float:
        if self._begun:
            return 0.0
        moment = self._clock()
        pauses = [self._pauses.seconds_left(item_id, moment) for item_id in self._changed]
        return max(0.0, min([self._recheck_at - moment, *pauses]))

    def _take_missed_changes(self, error: MissedChangesError) -> None:
        """Any file of any item may have changed; new folders are found by the next recheck."""
        if error.detail != self._complaint:
            logger.warning("All that is watched is looked at, some changes are lost: %s", error)
        self._complaint = error.detail
        self._changed |= self._watched.keys()

    def _take_change(self, path: str, *, came_or_went: bool) -> None:
        folder = path.rpartition("/")[0]
        for item_id in self._owners.get(folder, set()) | self._owners.get(path, set()):
            footprint = self._taken.get(item_id)
            if footprint is None:
                continue
            change = footprint.meaning(path, came_or_went=came_or_went)
            if change is not Change.NONE:
                self._changed.add(item_id)
            if change in (Change.FOLDERS, Change.REPLACED):
                self._stale.add(item_id)
            if change is Change.REPLACED:
                self._watched[item_id] = {}  # so that all of it is watched anew

    def _dispatch(self) -> None:
        if self._stopped.is_set():
            return
        if self._begun:
            self._look_soon(self._begun)
            self._begun = set()
        moment = self._clock()
        for item_id in sorted(self._changed):
            if self._pauses.seconds_left(item_id, moment) == 0.0:
                job = self._add_job(item_id)
                self._pauses.note(item_id, moment)
                if job is not None or item_id not in self._sources:
                    self._changed.discard(item_id)  # else `_take_items` does, if it stays so


def _owners(watched: Mapping[int, frozenset[str]]) -> dict[str, set[int]]:
    """The items of each folder."""
    owners: dict[str, set[int]] = {}
    for item_id, folders in watched.items():
        for folder in folders:
            owners.setdefault(folder, set()).add(item_id)
    return owners
