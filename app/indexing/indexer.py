"""Indexes items and takes them out, one piece of work an item at a time; stops work under way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy.orm import Session

from app.clock import now
from app.database import Database
from app.errors import ItemStoppedError
from app.fault_points import FaultPoint, reached
from app.indexing import item_queries
from app.indexing.claims import ItemClaims
from app.indexing.generation import Generation
from app.indexing.pipeline import IndexingPipeline
from app.indexing.publisher import Publisher
from app.indexing.results import IndexingResult
from app.indexing.run_state import IndexingRunState
from app.jobs.forgetting_queries import is_left_out, leave_out
from app.jobs.queries import cancel_jobs_of_item
from app.knowledge import history_queries
from app.knowledge.existing_items import require_item
from app.knowledge.history_records import IndexingRun
from app.knowledge.queries import existing_item
from app.metrics import Metrics
from app.protocols import Embedder, Progress, ProgressListener, TextSplitter

TAKEN_OUT = "The item was deleted or removed from the index before this job was done."


class Indexer:
    """Safe to call from many threads; one item is worked on by one thread at a time.

    `on_item_freed` is called whenever an item is no longer worked on, and whenever runs may begin
    again after they were held back.
    """

    def __init__(
        self,
        *,
        database: Database,
        pipeline: IndexingPipeline,
        publisher: Publisher,
        metrics: Metrics,
        on_item_freed: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._metrics = metrics
        self._pipeline = pipeline
        self._claims = ItemClaims(on_item_freed)

    def index(
        self,
        item_id: int,
        *,
        force: bool = False,
        progress: ProgressListener | None = None,
        with_all: bool = False,
    ) -> IndexingResult:
        """Bring the index of an item up to date with its source.

        `with_all`: the run belongs to a job that indexes all items. If the item was taken out since
        that job was promised, it is left out.

        A source that cannot be read, a model that fails, or an unexpected failure gives a result
        with `error`. What was searchable stays so, except for what is known to be gone at the
        source.

        Raises NotFoundError, WorkStoppedError, StorageError.
        """
        started = time.perf_counter()

        def still_wanted() -> None:
            if progress is not None:
                progress(Progress())  # the listener raises if the work was cancelled

        with self._claims.claim(item_id, while_waiting=still_wanted) as signal:
            # Read only now: the item may have changed while this waited for its turn.
            with self._database.read() as session:
                item = existing_item(session, item_id)
                if with_all and is_left_out(session, item_id):
                    raise ItemStoppedError(TAKEN_OUT)
            run = IndexingRunState(item, signal, progress)
            result = self._pipeline.run(run, force=force)
        self._metrics.observe_indexing("success" if result.success else "failure")
        milliseconds = (time.perf_counter() - started) * 1000
        return replace(result, duration_ms=round(milliseconds, 1))

    def remove(self, item_id: int) -> bool:
        """Take all chunks of an item out; False if it had none. Raises NotFoundError.

        When this returns, no search shows them, and all work on the item, under way or waiting,
        has stopped or will do nothing.
        """
        with self._claims.take_over(item_id), self._database.write() as session:
            require_item(session, item_id)
            documents, chunks = item_queries.clear_item(session, item_id)
            if documents:
                # The history names documents, so it goes too; only the numbers of what went stay.
                history_queries.forget_runs(session, item_id)
                removal = IndexingRun(
                    "removed", now(), now(), documents_removed=documents, chunks_removed=chunks
                )
                history_queries.add_run(session, item_id, removal)
            cancel_jobs_of_item(session, item_id, TAKEN_OUT)
            leave_out(session, item_id)
        reached(FaultPoint.ITEM_CLEARED)
        self._publisher.settle_soon()
        return documents > 0

    def items_in_use(self) -> frozenset[int]:
        """The items that are being indexed or removed."""
        return self._claims.items_in_use()

    def runs_may_begin(self) -> bool:
        """Whether runs may begin: neither `paused` nor `beginning_nothing` holds them back."""
        return self._claims.runs_may_begin()

    def stop(self) -> None:
        """Ask all runs to stop, without waiting."""
        self._claims.stop_all()

    def close(self) -> None:
        """Stop all runs at their next step, and wait for them; what they stored stays."""
        self._claims.close()

    def deleting_item(self, session: Session, item_id: int) -> Callable[[], None]:
        """Cancel the jobs of an item that is about to be deleted.

        Returns what to call once the deletion is committed: it stops all other work on the item,
        and has both indexes cleaned.
        """
        cancel_jobs_of_item(session, item_id, TAKEN_OUT)
        stop_work = self._claims.stopper(item_id)

        def when_deleted() -> None:
            stop_work()
            self._publisher.settle_soon()

        return when_deleted

    @contextmanager
    def paused(self, timeout_seconds: float | None = None) -> Iterator[bool]:
        """Wait until nothing is being indexed, and let nothing begin during the block.

        Gives False, and holds nothing back, when the time runs out first. Raises StoppingError when
        the service stops in the meantime.
        """
        with self._claims.hold_all(timeout_seconds) as is_held:
            yield is_held

    @contextmanager
    def beginning_nothing(self) -> Iterator[None]:
        """Keep new runs waiting during the block; those that have begun go on."""
        with self._claims.close_door():
            yield

    def switch_to(self, splitter: TextSplitter, embedder: Embedder, generation: Generation) -> None:
        """Split and embed for another generation from now on; call it only while `paused`."""
        self._pipeline.switch_to(splitter, embedder, generation)

    def index_changes_noted(self) -> None:
        """Call after adding rows to the outbox: they are settled soon."""
        self._publisher.settle_soon()
