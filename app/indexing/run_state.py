"""How far one indexing of one item is: counted for its result, its history and who watches."""

import threading
from collections import deque
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field

from app.errors import AppError, WorkStoppedError
from app.indexing.claims import StopSignal
from app.indexing.documents import PreparedDocument
from app.indexing.preparing import Survey
from app.indexing.results import Changes
from app.indexing.tally import RunTally
from app.jobs.listening import TAKEN_AWAY
from app.knowledge.items import KnowledgeItem
from app.protocols import MOST_SKIPPED_SHOWN, Progress, ProgressListener


@dataclass
class IndexingRunState:
    """One indexing of one item while it goes on. Its groups are embedded on several threads."""

    item: KnowledgeItem
    signal: StopSignal
    progress: ProgressListener | None
    found: int = 0
    changes: Changes = field(default_factory=Changes)
    embedded: int = 0
    survey: Survey = field(default_factory=Survey)
    publishing: deque[tuple["Future[Changes]", list[PreparedDocument]]] = field(
        default_factory=deque
    )
    """What is being stored."""
    tally: RunTally = field(default_factory=RunTally)
    stored: int = 0
    """Documents whose new version is searchable."""
    mounts: tuple[str, ...] = ()
    ended: bool = False
    """Whether its end is written down."""
    _given_up: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)
    """Of what is counted; a listener is told by one thread at a time."""

    def note_embedded(self, texts: int) -> None:
        """Count texts that have a vector now, and report."""
        with self._lock:
            self.embedded += texts
            self.report()

    def note_publishing(
        self, stored: "Future[Changes]", documents: list[PreparedDocument], *, most: int
    ) -> None:
        """Documents are being stored; wait until this goes on for at most so many groups."""
        with self._lock:
            self.publishing.append((stored, documents))
        self.wait_for_stored(most)

    def wait_for_stored(self, most: int = 0) -> None:
        """Wait until at most so many groups are being stored; raises why one was not."""
        while True:
            with self._lock:
                self._count_stored()
                if len(self.publishing) <= most:
                    return
                oldest, _ = self.publishing[0]
            wait([oldest])

    def count_what_was_stored(self) -> None:
        """The run ends early: wait for what is being stored, and count it.

        However a run ends, its claim on the item must outlast every write.
        """
        while self.publishing:
            future, _ = self.publishing[0]
            if future.exception() is None:
                self._count_oldest()
            else:
                self.publishing.popleft()

    def give_up(self) -> None:
        """Let what is under way end soon: nobody waits for it."""
        self._given_up = True

    def check(self) -> None:
        """Raise the reason, once the run is to stop."""
        self.signal.check()
        if self._given_up:
            raise WorkStoppedError("The run was given up.")

    def report_the_end(self) -> None:
        """Tell the listener how far the run came; too late to stop it."""
        with suppress(AppError, *TAKEN_AWAY):
            self._tell()

    def report(self) -> None:
        """Tell the listener how far the run is; stops the run if somebody asked for it.

        Or if something could not be stored. What is stored counts at once: the next documents may
        take minutes to embed.
        """
        with self._lock:
            self.check()
            self._count_stored()
            self._tell()

    def _count_stored(self) -> None:
        while self.publishing and self.publishing[0][0].done():
            self._count_oldest()

    def _count_oldest(self) -> None:
        future, documents = self.publishing.popleft()
        self.changes += future.result()
        self.tally.note_stored(documents)
        self.stored += len(documents)

    def _tell(self) -> None:
        if self.progress is not None:
            survey = self.survey
            self.progress(
                Progress(
                    documents_found=self.found,
                    documents_done=survey.seen,
                    documents_skipped=survey.skipped_count,
                    chunks_embedded=self.embedded,
                    chunks_total=self.item.chunk_count + self._chunks_gained(),
                    documents_loaded=survey.loaded,
                    documents_split=survey.split,
                    documents_stored=self.stored,
                    chunks_split=survey.chunks,
                    skipped=tuple(survey.skipped[:MOST_SKIPPED_SHOWN]),
                )
            )

    def _chunks_gained(self) -> int:
        """How many chunks more the item has than before the run; below 0: fewer."""
        return self.changes.added - self.changes.removed - self.tally.removed_chunks
