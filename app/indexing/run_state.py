"""How far one indexing of one item is: counted for its result, its history and who watches."""

from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from app.errors import AppError
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
    """One indexing of one item while it goes on."""

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

    def take_stored(self) -> None:
        """Wait for the oldest group that is being stored, and count it."""
        future, documents = self.publishing.popleft()
        self.changes += future.result()
        self.tally.note_stored(documents)
        self.stored += len(documents)

    def count_what_was_stored(self) -> None:
        """The run ends early: wait for what is being stored, and count it.

        However a run ends, its claim on the item must outlast every write.
        """
        while self.publishing:
            future, _ = self.publishing[0]
            if future.exception() is None:
                self.take_stored()
            else:
                self.publishing.popleft()

    def report_the_end(self) -> None:
        """Tell the listener how far the run came; too late to stop it."""
        with suppress(AppError, *TAKEN_AWAY):
            self._tell()

    def report(self) -> None:
        """Tell the listener how far the run is; stops the run if somebody asked for it.

        Or if something could not be stored. What is stored counts at once: the next documents may
        take minutes to embed.
        """
        self.signal.check()
        while self.publishing and self.publishing[0][0].done():
            self.take_stored()
        self._tell()

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
