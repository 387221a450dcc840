"""Makes the next generation in the background, and switches to it once it holds everything."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from app.database import Database
from app.errors import AppError, StoppingError, StorageError
from app.fault_points import FaultPoint, reached
from app.frozen_objects import collect_dropped
from app.generations import queries
from app.generations.checking import give_up_damaged_documents
from app.generations.filling import GenerationFiller
from app.generations.next_indexes import NextGeneration, NextIndexes
from app.generations.quiet_moments import TURNS_SECONDS, QuietMoments
from app.generations.records import StoredGeneration
from app.indexing.embedding import TextsUnderWay
from app.indexing.generation import Generation
from app.indexing.indexer import Indexer
from app.indexing.publisher import Publisher
from app.surviving import is_failure

logger = logging.getLogger(__name__)

PAUSES_SECONDS = (1.0, 10.0, 60.0, 300.0)
"""Pause after the first, second … failure; the last one again and again: a disk that is full or
an endpoint that is down may come back any time."""
LOOK_SECONDS = 2.0
"""How often to check during a pause whether the database answers again, which costs nothing."""

Parts = TypeVar("Parts", bound=NextGeneration)


class GenerationRenewal(Generic[Parts]):
    """One switch to one generation. Searches and indexing go on all the while.

    What is indexed in the meantime goes into the generation that answers, and the new one catches
    up. The switch happens at a moment when nothing is being indexed: see QuietMoments.
    """

    def __init__(
        self,
        *,
        database: Database,
        publisher: Publisher,
        indexer: Indexer,
        under_way: TextsUnderWay,
        stored: StoredGeneration,
        make_parts: Callable[[], Parts],
        switch: Callable[[Parts], Parts],
        retire: Callable[[Parts], None],
        on_embedded: Callable[[int, float], None] = lambda _texts, _seconds: None,
        turns_seconds: Sequence[tuple[float, float]] = TURNS_SECONDS,
    ) -> None:
        """`switch` exchanges the parts, on the writer thread, and gives the former ones.

        It must not fail, since SQL already names the new generation; what may fail is done by
        `retire`, which ends the former parts after everything else. `on_embedded` is called for
        each batch, with the number of texts and the seconds it took.
        """
        self._database = database
        self._publisher = publisher
        self._indexer = indexer
        self._under_way = under_way
        self.stored = stored
        self._make_parts = make_parts
        self._switch = switch
        self._retire = retire
        self._on_embedded = on_embedded
        self._turns_seconds = turns_seconds
        self._closing = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="generation-renewal", daemon=True)
        self.texts_embedded = 0
        """How many texts this renewal has embedded, as no generation had their vectors."""
        self.trouble: str | None = None
        """Why it does not get on."""
        self.is_done = False
        self._failures = 0
        """Since it last got on."""

    @property
    def generation(self) -> Generation:
        """The generation that is being made."""
        return self.stored.generation

    def start(self) -> None:
        """Start in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to stop soon; what is stored stays, and the next start goes on from there."""
        self._closing.set()

    def close(self) -> None:
        """Stop, and wait for it."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the work in the background has ended; returns whether it switched."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return self.is_done

    def run(self) -> None:
        """Make the generation and switch in the calling thread; raises what prevents that.

        If another thread is already making it, wait for that.
        """
        with self._one_at_a_time:
            if not self.is_done:
                self._make_and_switch()
                # The former parts know one another in circles, and hold files open.
                collect_dropped()

    def told_progress(self) -> str:
        """A sentence about how far it has come; raises StorageError."""
        if self.trouble:
            return f"generation {self.generation.id} does not get on: {self.trouble}"
        with self._database.read() as session:
            total = queries.count_documents(session)
            done = queries.count_done(session, self.generation.id)
        what = f"{done} of {total} documents" if done < total else "its indexes are filled"
        return f"generation {self.generation.id} is being made: {what}"

    def documents_missing(self) -> int:
        """How many documents are still to be split and embedded; raises StorageError."""
        with self._database.read() as session:
            done = queries.count_done(session, self.generation.id)
            return max(0, queries.count_documents(session) - done)

    # Inside ------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self.run()
            except AppError as error:
                self._pause(error)
            except BaseException as error:
                if not is_failure(error):
                    raise
                logger.exception("Generation %d met an unexpected error", self.generation.id)
                self._pause(AppError("An unexpected error, see the server's log."))
            else:
                return

    def _make_and_switch(self) -> None:
        logger.info(
            "Generation %d is being made: %s, %s.",
            self.generation.id, self.stored.embedding_model, self.generation.rules,
        )  # fmt: skip
        parts = self._make_parts()
        indexes = NextIndexes(self._database, self._publisher, self.generation, parts)
        try:
            give_up_damaged_documents(self._database, self.generation, self._check)
            self._fill(parts, self._check, on_stored=lambda _: None)
            indexes.fill(self._check)
            reached(FaultPoint.GENERATION_INDEXES_FILLED)
            former = self._switch_when_quiet(parts, indexes)
        except BaseException:
            indexes.follow_no_longer()
            if not self.is_done:  # else they answer: this failed, or was broken off, after that
                parts.discard()
            raise
        reached(FaultPoint.GENERATION_EXCHANGED)
        self.trouble = None
        logger.info("Generation %d answers from now on.", self.generation.id)
        try:
            self._retire(former)
        except AppError as error:  # it is out of use all the same
            logger.warning("The former generation did not close: %s", error.detail)

    def _pause(self, trouble: AppError) -> None:
        """Wait before the next attempt: longer for each failure without progress in between."""
        if self._closing.is_set() or self.is_done:
            return
        self.trouble = trouble.detail
        pause = PAUSES_SECONDS[min(self._failures, len(PAUSES_SECONDS) - 1)]
        self._failures += 1
        logger.warning(
            "Generation %d is tried again in %s s: %s", self.generation.id, pause, trouble.logged
        )
        if self._database_came_back(pause):
            self.trouble, self._failures = None, 0

    def _database_came_back(self, seconds: float) -> bool:
        """Wait so long; ends with True as soon as the database answers that did not."""
        deadline = time.monotonic() + seconds
        was_away = not self._database_answers()
        while (left := deadline - time.monotonic()) > 0:
            if self._closing.wait(min(left, LOOK_SECONDS)):
                return False
            is_away = not self._database_answers()
            if was_away and not is_away:
                return True
            was_away = is_away
        return False

    def _database_answers(self) -> bool:
        try:
            self._database.ping()
        except StorageError:
            return False
        return True

    def _fill(
        self, parts: Parts, check: Callable[[], None], on_stored: Callable[[Sequence[str]], None]
    ) -> None:
        def take(chunk_ids: Sequence[str]) -> None:
            self.trouble, self._failures = None, 0
            on_stored(chunk_ids)

        GenerationFiller(
            database=self._database,
            generation=self.generation,
            splitter=parts.splitter,
            embedder=parts.embedder,
            under_way=self._under_way,
            check=check,
            on_stored=take,
            on_embedded=self._note_embedded,
        ).fill()

    def _note_embedded(self, texts: int, seconds: float) -> None:
        self.texts_embedded += texts
        self._on_embedded(texts, seconds)

    def _switch_when_quiet(self, parts: Parts, indexes: NextIndexes) -> Parts:
        """Catch up with what is indexed until the switch is possible; returns the former parts."""

        def catch_up(require_time: Callable[[], None]) -> None:
            def check() -> None:
                self._check()
                require_time()

            self._fill(parts, check, on_stored=indexes.add)

        def switch() -> Parts:
            former: list[Parts] = []  # a result would be held by the writer until its next task
            switch_to = partial(self._switch_to, parts, indexes, former)
            self._publisher.between_changes(switch_to).result()
            return former.pop()

        moments = QuietMoments(
            self._indexer,
            catch_up,
            self._is_complete,
            count_missing=self.documents_missing,
            turns_seconds=self._turns_seconds,
        )
        return moments.take(switch)

    def _is_complete(self) -> bool:
        with self._database.read() as session:
            return not queries.missing_documents(session, self.generation.id, 1)

    def _switch_to(self, parts: Parts, indexes: NextIndexes, former: list[Parts]) -> None:
        """On the writer thread, while nothing is indexed; the parts until now go to `former`.

        What is deleted from now on is named in the outbox, which is settled after the switch.
        """
        self._check()
        self._publisher.settle_outbox()
        indexes.remove_surplus()
        with self._database.write() as session:
            queries.make_current(session, self.generation.id)
        reached(FaultPoint.GENERATION_SWITCHED)
        self._publisher.switch_to(indexes.kept)
        self._indexer.switch_to(parts.splitter, parts.embedder, self.generation)
        former.append(self._switch(parts))
        self.is_done = True
        self._publisher.settle_soon()

    def _check(self) -> None:
        if self._closing.is_set():
            raise StoppingError
