"""Follows the sources of items: the schedule and the watch, started and stopped together."""

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from app.adapters.loading.footprints import Footprints
from app.database import Database
from app.following import queries
from app.following.records import FollowedItem
from app.following.schedule import RefreshSchedule
from app.following.watch import SourceWatch
from app.jobs.kinds import INDEX_JOB, index_arguments
from app.jobs.service import JobService
from app.knowledge.service import ItemListener


class SourceFollower:
    """Has items indexed again: after their time, and when their files change.

    It adds ordinary `index` jobs for what is followed, items that are active or in error and do
    not refuse it, and does no work itself. Without `start` it does nothing.
    """

    def __init__(self, database: Database, jobs: JobService, footprints: Footprints) -> None:
        self._database = database
        self._jobs = jobs
        self._schedule = RefreshSchedule(database, self._add_job)
        self._watch = SourceWatch(
            items=self._watchable_items,
            footprints=footprints,
            add_job=self._add_job,
            look_soon=self._schedule.look_soon,
        )

    def start(self) -> None:
        """Begin; raises StorageError."""
        self._schedule.start()
        self._watch.start()

    def wake(self) -> None:
        """Items have come, changed or gone, or have been indexed."""
        self._schedule.wake()
        self._watch.wake()

    def stop(self) -> None:
        """Add no further jobs; waits for nothing."""
        self._schedule.stop()
        self._watch.stop()

    def close(self) -> None:
        """Stop, and wait for the threads."""
        self.stop()
        self._schedule.close()
        self._watch.close()

    def _add_job(self, item_id: int) -> object:
        # It may have been taken out of the index since it was chosen: that would undo it.
        return self._jobs.add_if(
            lambda session: queries.is_followed(session, item_id),
            INDEX_JOB,
            index_arguments(item_id, force=False),
        )

    def _watchable_items(self) -> Sequence[FollowedItem]:
        with self._database.read() as session:
            return queries.watchable_items(session)


class FollowedItems:
    """Passes the news of items on, and wakes whoever follows them; an ItemListener."""

    def __init__(self, listener: ItemListener, wake: Callable[[], None]) -> None:
        self._listener = listener
        self._wake = wake

    def deleting_item(self, session: Session, item_id: int) -> Callable[[], None]:
        """The item is about to go; gives what is to be called once that is committed."""
        when_deleted = self._listener.deleting_item(session, item_id)

        def tell() -> None:
            when_deleted()
            self._wake()

        return tell

    def index_changes_noted(self) -> None:
        """There are new rows in the outbox; items may have changed."""
        self._listener.index_changes_noted()
        self._wake()
