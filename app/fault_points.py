"""Named steps at which a test may have this process killed, to show that nothing is lost there.

The places are marked by `reached(FaultPoint.…)`. That does nothing, in some 50 ns, unless the
`groundwork` command was started with the environment variable of KILL_AT. It is no setting: it is
read once, from the environment alone, and nothing can set it in a process that runs.
"""

import logging
import os
import re
import signal
import threading
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from app.errors import StartupError

logger = logging.getLogger(__name__)

KILL_AT = "GROUNDWORK_TEST_KILL_AT"
"""For tests only: `<step>:<n>` kills the process, as `kill -9` does, when it passes the step for
the n-th time; with `@<file>` behind it, passings count only while there is such a file."""

_VALUE = re.compile(r"(?P<point>[a-z_]+):(?P<passing>[1-9]\d{0,5})(?:@(?P<file>.+))?")


class FaultPoint(StrEnum):
    """The steps, roughly in the order of their turn. Each is marked in one place."""

    # The start
    MARKED_OPEN = "marked_open"
    """The mark of the last clean stop is gone."""
    TABLES_MIGRATED = "tables_migrated"
    OUTBOX_SETTLED = "outbox_settled"
    """What the last process left in the outbox is done."""
    JOBS_REQUEUED = "jobs_requeued"
    """What the last process left running is queued again."""

    # Items
    ITEM_CREATED = "item_created"
    """Committed and not answered; so are the next two."""
    ITEM_CHANGED = "item_changed"
    ITEM_DELETED = "item_deleted"
    """Before the indexes are told."""
    ITEM_CLEARED = "item_cleared"
    """Taken out of the index, before the indexes are told."""

    # Jobs
    JOB_QUEUED = "job_queued"
    """Committed and not answered."""
    JOB_CLAIMED = "job_claimed"
    JOB_PROGRESS_NOTED = "job_progress_noted"
    JOB_DONE = "job_done"
    """Before its outcome is written down."""
    JOB_FINISHED = "job_finished"
    JOB_HANDED_BACK = "job_handed_back"
    """Queued again by a stop in order."""

    # Indexing
    TEXTS_EMBEDDED = "texts_embedded"
    """The vectors are in memory only."""
    EMBEDDINGS_STORED = "embeddings_stored"
    INTENT_COMMITTED = "intent_committed"
    """The outbox names the chunks that are to come."""
    VECTORS_UPSERTED = "vectors_upserted"
    WORDS_UPSERTED = "words_upserted"
    """Both indexes hold what SQL does not."""
    ROWS_SWAPPED = "rows_swapped"
    """SQL shows the new version, the indexes hold both."""
    DOCUMENTS_WITHDRAWN = "documents_withdrawn"
    """Gone from SQL, and not from the indexes."""
    VECTORS_EQUALISED = "vectors_equalised"
    INDEXES_EQUALISED = "indexes_equalised"
    """The outbox still names what was settled."""
    OUTBOX_CLOSED = "outbox_closed"
    ITEM_FINISHED = "item_finished"
    """The item says that it is indexed, its job does not."""
    ITEM_FAILED = "item_failed"

    # Another model or splitter
    GENERATION_DOCUMENTS_STORED = "generation_documents_stored"
    GENERATION_INDEXES_FILLED = "generation_indexes_filled"
    """The next generation holds everything, and the former one answers."""
    GENERATION_SWITCHED = "generation_switched"
    """SQL names the next one, the process does not know it yet."""
    GENERATION_EXCHANGED = "generation_exchanged"
    """The next one answers, the former one is still there."""

    # The lexical index
    WORDS_WRITTEN = "words_written"
    """Before tantivy commits."""
    WORDS_COMMITTED = "words_committed"
    LEXICAL_DELETED = "lexical_deleted"
    LEXICAL_RECREATED = "lexical_recreated"
    LEXICAL_BATCH_FILLED = "lexical_batch_filled"
    LEXICAL_FILLED = "lexical_filled"
    """Complete, and not marked as such."""
    LEXICAL_MARKED = "lexical_marked"

    # The vector index
    VECTORS_RECREATED = "vectors_recreated"
    VECTORS_COMPARED = "vectors_compared"
    VECTORS_BATCH_FILLED = "vectors_batch_filled"
    VECTORS_FILLED = "vectors_filled"
    """Complete, and not marked as such."""
    VECTORS_MARKED = "vectors_marked"

    # Compaction
    EMBEDDINGS_DROPPED = "embeddings_dropped"
    DATABASE_VACUUMED = "database_vacuumed"
    LEXICAL_REBUILT = "lexical_rebuilt"
    VECTORS_REBUILT = "vectors_rebuilt"

    # The stop
    INDEXES_CLOSED = "indexes_closed"
    SEAL_WRITTEN = "seal_written"
    """SQL does not know its stamp yet."""
    MARKED_CLEAN = "marked_clean"


class _Armed:
    """One step at which to die. Safe from many threads."""

    def __init__(self, point: FaultPoint, passing: int, while_there_is: Path | None) -> None:
        self.point = point
        self._passings_left = passing
        self._while_there_is = while_there_is
        self._lock = threading.Lock()

    def pass_by(self) -> None:
        if self._while_there_is is not None and not self._while_there_is.exists():
            return
        with self._lock:
            self._passings_left -= 1
            if self._passings_left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


_armed: _Armed | None = None


def reached(point: FaultPoint) -> None:
    """Die here, if a test wished so when it started this process."""
    if _armed is not None and _armed.point is point:
        _armed.pass_by()


def arm(environment: Mapping[str, str]) -> None:
    """Heed KILL_AT; does nothing without it. Raises StartupError for a step that there is not.

    Only for the start of the `groundwork` command, before it does anything.
    """
    global _armed  # noqa: PLW0603, marks stand everywhere, and one process is killed as one
    value = environment.get(KILL_AT)
    if value is None:
        return
    match = _VALUE.fullmatch(value)
    if match is None or match["point"] not in set(FaultPoint):
        raise StartupError(
            f"{KILL_AT} is for tests that kill the service and must not be set otherwise. It "
            f"says {value!r}, and would have to be <step>:<n> or <step>:<n>@<file> with one of "
            f"the steps {', '.join(FaultPoint)}."
        )
    path = Path(match["file"]) if match["file"] else None
    _armed = _Armed(FaultPoint(match["point"]), int(match["passing"]), path)
    logger.warning("%s=%s: a test has this process killed there.", KILL_AT, value)
