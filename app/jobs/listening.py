"""Takes note of a running job's progress, and stops the job where it reports."""

import time
from collections.abc import Callable
from dataclasses import asdict

from app.database import Database
from app.errors import ItemStoppedError, WorkStoppedError
from app.fault_points import FaultPoint, reached
from app.jobs import running_queries
from app.jobs.bell import JobBell
from app.jobs.leases import Lease, LeaseLostError
from app.protocols import Progress, ProgressListener

PROGRESS_SECONDS = 0.5
"""How often progress is written down."""


class ServiceStopping(Exception):  # noqa: N818, no error: the job goes on after the restart
    """Raised out of a running job when the service stops; the job goes back into the queue."""


TAKEN_AWAY: tuple[type[Exception], ...] = (ServiceStopping, LeaseLostError)
"""What ends a run without a failure: the job goes on after the restart, or elsewhere."""


class JobListener:
    """A job's ProgressListener: writes not more often than every PROGRESS_SECONDS.

    But the first chunk that is embedded at once: by that an attempt is known not to be in vain.
    Raises ServiceStopping, WorkStoppedError when the job was cancelled, ItemStoppedError when its
    item was taken out, and LeaseLostError when it is not ours any more. `watcher` is told
    everything as well.
    """

    def __init__(
        self,
        database: Database,
        bell: JobBell,
        is_stopping: Callable[[], bool],
        lease: Lease,
        watcher: ProgressListener | None,
    ) -> None:
        self._database = database
        self._bell = bell
        self._is_stopping = is_stopping
        self._lease = lease
        self._watcher = watcher
        self._noted = float("-inf")
        self._gain_noted = False
        self.latest: Progress | None = None
        """What was reported last, written or not."""

    def __call__(self, progress: Progress) -> None:
        """Take note of the progress, and end the work where that is wanted."""
        self.latest = progress
        if self._is_stopping():
            raise ServiceStopping
        if self._lease.lost:
            raise LeaseLostError
        if self._watcher is not None:
            self._watcher(progress)
        is_first_gain = progress.chunks_embedded > 0 and not self._gain_noted
        if is_first_gain or time.monotonic() - self._noted >= PROGRESS_SECONDS:
            self._noted = time.monotonic()
            self._gain_noted = progress.chunks_embedded > 0
            self._note(progress)

    def _note(self, progress: Progress) -> None:
        job = self._lease.job
        with self._database.write() as session:
            cancelled = running_queries.note_progress(
                session, job.id, job.attempt_token, asdict(progress)
            )
            is_taken_out = bool(cancelled) and running_queries.is_taken_out(session, job.id)
        reached(FaultPoint.JOB_PROGRESS_NOTED)
        self._bell.ring(job.id)
        if cancelled is None:
            raise LeaseLostError
        if is_taken_out:
            raise ItemStoppedError
        if cancelled:
            raise WorkStoppedError("The job was cancelled.")
