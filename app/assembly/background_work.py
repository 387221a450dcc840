"""What runs besides requests: the jobs, their worker, and the following of sources."""

from collections.abc import Mapping
from typing import Any

from app.adapters.loading.footprints import Footprints
from app.adapters.loading.path_guard import PathGuard
from app.database import Database
from app.following.service import SourceFollower
from app.indexing.indexer import Indexer
from app.jobs.bell import JobBell
from app.jobs.records import JobHandler, Outcome
from app.jobs.service import JobService
from app.jobs.watching import JobWatch
from app.jobs.worker import JobWorker
from app.protocols import ProgressListener
from app.settings import Settings

EXPRESS_THREADS = 1
"""Threads kept free for single items that a client waits for, whatever else goes on."""


class BackgroundWork:
    """Jobs can be added at any time; from `start` to `stop` they are run, and due ones are added.

    Nothing here belongs to one generation: what a job is about is up to its handler.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        indexer: Indexer,
        handlers: Mapping[str, JobHandler],
    ) -> None:
        """`handlers` run the jobs, by kind; `indexer` tells which of them would have to wait."""
        self._follows_sources = not settings.disable_auto_indexing
        self._bell = JobBell()
        self._worker = JobWorker(
            database,
            handlers,
            threads=settings.index_threads,
            items_in_use=indexer.items_in_use,
            may_begin=indexer.runs_may_begin,
            express_threads=EXPRESS_THREADS,
            bell=self._bell,
        )
        self.jobs = JobService(
            database,
            on_queued=self._worker.wake,
            bell=self._bell,
            most_queued=settings.most_queued_jobs,
        )
        self.job_watch = JobWatch(self.jobs, self._bell)
        self._follower = SourceFollower(database, self.jobs, Footprints(PathGuard(settings.roots)))

    def start(self) -> None:
        """Start running jobs, then following sources; raises StorageError."""
        self._worker.start()
        if self._follows_sources:
            self._follower.start()

    def item_freed(self) -> None:
        """Call when an item is no longer worked on: jobs that waited for it can run."""
        self._worker.wake()
        self._follower.wake()

    def items_changed(self) -> None:
        """Call when items have been added, changed or deleted."""
        self._follower.wake()

    def run_here(
        self, kind: str, arguments: Mapping[str, Any], watcher: ProgressListener
    ) -> Outcome:
        """Run a job in the calling thread, beside those of the worker."""
        return self._worker.run_here(kind, arguments, watcher)

    def stop(self) -> None:
        """Take no new jobs, and release those who watch one; returns at once."""
        self._follower.stop()
        self._worker.stop()
        self._bell.stop()

    def close(self) -> None:
        """Wait until all of it has stopped."""
        self._follower.close()
        self._worker.close()
