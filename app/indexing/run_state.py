"""How far one indexing of one item is: counted for its result, its history and who watches."""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from app.indexing.claims import StopSignal
from app.indexing.documents import PreparedDocument
from app.indexing.preparing import Survey
from app.indexing.results import Changes
from app.indexing.tally import RunTally
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

    def report(self) -> None:
        """Tell the listener how far the run is; stops the run if somebody asked for it."""
        self.signal.check()
        if self.progress is not None:
            survey = self.survey
            self.progress(
                Progress(
                    documents_found=self.found,
                    documents_done=survey.seen,
                    documents_skipped=len(survey.skipped),
                    chunks_embedded=self.embedded,
                    chunks_total=self.changes.added + self.changes.unchanged,
                    documents_loaded=survey.loaded,
                    documents_split=survey.split,
                    documents_stored=self.stored,
                    chunks_split=survey.chunks,
                    skipped=tuple(survey.skipped[:MOST_SKIPPED_SHOWN]),
                )
            )
