"""Has an item indexed soon after its files change: one thread that waits for notifications."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from app.adapters.watching.folder_notifier import FolderNotifier
from app.errors import AppError
from app.following.records import FollowedItem
from app.following.watch_pauses import ItemPauses
from app.following.watched_folders import FootprintTaker, Notifier, WatchedFolders
from app.surviving import survive

logger = logging.getLogger(__name__)

RECHECK_SECONDS = 300.0
"""How often all folders are walked again: nothing notifies us of a file system being mounted."""

FAILURE_SECONDS = 30.0
"""Pause after something failed: the database, or the watching itself."""

MOST_WALKS = 3
"""How many walks in a row may find new folders; the rest is left to the next look."""


class SourceWatch:
    """One thread that waits for changes. It adds jobs through `add_job` and indexes nothing itself.

    `add_job` returns None for an item that is not followed at that moment.
    It cannot know what changed before it began, so it passes those items to `look_soon`, once.
    If folders cannot be watched, it logs that once; the schedule still looks at them.
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
        self._add_job = add_job
        self._look_soon = look_soon
        self._clock = clock
        self._changed: set[int] = set()
        self._begun: set[int] = set()
        """Items that may have changed before the watch began."""
        self._complaint = ""
        self._pauses = ItemPauses()
        self._recheck_at = self._clock() + RECHECK_SECONDS
        self._woken = threading.Event()
        self._woken.set()
        self._stopped = threading.Event()
        self._folders = WatchedFolders(
            footprints, open_notifier, self._changed.update, self._woken.is_set
        )
        self._thread = threading.Thread(target=self._run, name="source-watch", daemon=True)

    def start(self) -> None:
        """Watch what is followed now, and have it looked at soon: it may have changed already."""
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
        self._folders.close()

    def _run(self) -> None:
        has_looked = False

        def look_and_wait() -> bool:
            nonlocal has_looked
            self.look(catch_up=has_looked)
            has_looked = True
            self.wait_and_dispatch()
            return True

        while not self._stopped.is_set():
            try:
                has_gone_well = survive(
                    look_and_wait, "Watching folders pauses after an unexpected error", (AppError,)
                )
            except AppError as error:
                has_gone_well = False
                if error.detail != self._complaint:
                    logger.warning("Watching folders pauses: %s", error.detail)
                self._complaint = error.detail
            if not has_gone_well:
                self._recheck_at = self._clock()
                self._stopped.wait(FAILURE_SECONDS)

    def look(self, *, catch_up: bool = True) -> None:
        """Bring what is watched up to date with the items and their folders.

        Items with folders that were not watched before may have changed in between: with
        `catch_up` they are indexed once more, without they are looked at soon.
        """
        rechecks = self._clock() >= self._recheck_at
        if rechecks:
            self._recheck_at = self._clock() + RECHECK_SECONDS
            self._woken.set()
        if self._woken.is_set():
            self._woken.clear()
            if self._stopped.is_set():
                self._woken.set()  # it was said while this one began: not to be slept through
            self._take_items()
        for _ in range(MOST_WALKS):
            fresh = self._folders.walk_and_watch(anew=rechecks)
            if fresh is None:
                return
            rechecks = False
            self._complaint = ""
            (self._changed if catch_up else self._begun).update(fresh)

    def _take_items(self) -> None:
        sources = {item.id: (item.uri, item.document_type) for item in self._items()}
        for item_id in self._folders.follow(sources):
            self._pauses.forget(item_id)
            self._changed.discard(item_id)
            self._begun.discard(item_id)

    def wait_and_dispatch(self) -> None:
        """Wait for changes, and add jobs for the items that they concern."""
        self._folders.wait(self._seconds_to_wait())
        if self._folders.may_differ:
            self.look()  # first watch what is new, then index: nothing falls between the two
        self._dispatch()

    def _seconds_to_wait(self) -> float:
        if self._begun:
            return 0.0
        moment = self._clock()
        pauses = [self._pauses.seconds_left(item_id, moment) for item_id in self._changed]
        return max(0.0, min([self._recheck_at - moment, *pauses]))

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
                if job is not None or not self._folders.follows(item_id):
                    self._changed.discard(item_id)
                # Else it is not followed at this moment. What is followed is looked at anew soon,
                # and what is no longer among it is forgotten then.
