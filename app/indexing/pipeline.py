"""One indexing of one item: scan its source, load, split and embed what is new, publish it."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.database import Database
from app.errors import (
    AppError,
    ConflictError,
    EmbeddingError,
    SourceError,
    SourceUnavailableError,
    SourceUnreadableError,
    StorageError,
    WorkStoppedError,
)
from app.fault_points import FaultPoint, reached
from app.indexing import item_queries, queries
from app.indexing.documents import KnownDocument, PreparedDocument
from app.indexing.embedding import GROUP_CHUNKS, TextsUnderWay, embed_unknown
from app.indexing.generation import Generation
from app.indexing.prefetch import prefetched
from app.indexing.preparing import DocumentPreparer, Survey
from app.indexing.publisher import Publisher
from app.indexing.refresh_queries import leave_host_alone
from app.indexing.results import IndexingResult, reported
from app.indexing.run_state import IndexingRunState
from app.jobs.listening import TAKEN_AWAY
from app.knowledge import history_queries
from app.knowledge.existing_items import item_exists, require_item
from app.knowledge.items import with_relative_path_explained
from app.metrics import Metrics
from app.protocols import MANY_DOCUMENTS, NO_CONTENT, Embedder, SourceOpener, TextSplitter
from app.slices import slices
from app.storage_errors import amid_a_run
from app.surviving import WENT_WRONG, survive

logger = logging.getLogger(__name__)

PREFETCHED_DOCUMENTS = 32
PREFETCHED_CHARACTERS = 4_000_000
"""At most this much is loaded and split ahead of the embedding (but always one document)."""

PUBLISHING_AHEAD = 2
"""How many groups may wait for the writer while the next one is embedded."""

WITHDRAWN_AT_ONCE = 100
"""Documents, of about a thousand chunks, that one transaction removes: others write in between."""

RESTAMPED_AT_ONCE = 500
"""Documents that one transaction gives new times: 100,000 files that were merely touched would keep
everybody else from writing for five seconds."""


class IndexingPipeline:
    """Safe to call from many threads; the caller holds the claim on the run's item."""

    def __init__(
        self,
        *,
        database: Database,
        sources: SourceOpener,
        splitter: TextSplitter,
        embedder: Embedder,
        generation: Generation,
        publisher: Publisher,
        metrics: Metrics,
        under_way: TextsUnderWay,
    ) -> None:
        """`under_way` is shared by all who may embed the same texts at the same time."""
        self._database = database
        self._sources = sources
        self._splitter = splitter
        self._embedder = embedder
        self._generation = generation
        self._publisher = publisher
        self._metrics = metrics
        self._under_way = under_way

    def switch_to(self, splitter: TextSplitter, embedder: Embedder, generation: Generation) -> None:
        """Split and embed for another generation from now on; call it only while nothing runs."""
        self._splitter, self._embedder, self._generation = splitter, embedder, generation

    def run(self, run: IndexingRunState, *, force: bool) -> IndexingResult:
        """Index what has changed, and note in the history how that ended.

        A source that cannot be read, a model that fails, or an unexpected failure gives a result
        with `error`. Raises NotFoundError, WorkStoppedError, StorageError; what was stored before
        is noted in the history, too.
        """
        try:
            result = survive(
                lambda: self._take_in(run, force=force),
                f"Item {run.item.id} was not indexed, for an unexpected error",
                (AppError, *TAKEN_AWAY),
            )
            return result or self._fail_unexpectedly(run)
        except WorkStoppedError:
            raise
        except StorageError as error:
            run.count_what_was_stored()
            if not run.tally.has_changes:
                raise
            raise amid_a_run(error) from error
        except (SourceError, EmbeddingError, ConflictError) as error:
            return self._fail(run, error)
        finally:
            if not run.ended:
                self._note_stop(run)

    def _take_in(self, run: IndexingRunState, *, force: bool) -> IndexingResult:
        self._require_same_model(run.item.collection)
        with self._database.read() as session:
            known = queries.known_documents(session, run.item.id, self._generation.id)
            mounts = item_queries.mounts_of(session, run.item.id)
        run.tally.known = known  # a run that fails at once still counts what stays as it was
        source = self._sources.open(run.item.uri, run.item.document_type)
        listing = source.scan().without_lost_mounts(mounts)
        run.mounts = listing.mounts
        if "" in listing.incomplete:
            raise SourceUnavailableError(_unmounted(run.item.uri))
        if not listing.entries and not known:
            raise SourceUnreadableError(_nothing_to_index(Survey(listing)))
        run.found = len(listing.entries)
        preparer = DocumentPreparer(
            item_id=run.item.id,
            source=source,
            listing=listing,
            known=known,
            splitter=self._splitter,
            token_meter=self._embedder.token_meter,
            generation=self._generation,
            force=force,
            signal=run.signal,
        )
        run.survey = preparer.survey
        with prefetched(
            preparer,
            PREFETCHED_DOCUMENTS,
            weigh=lambda document: len(document.loaded.content),
            most_weight=PREFETCHED_CHARACTERS,
        ) as documents:
            self._embed_and_publish(run, documents)
        if run.survey.errors and run.item.document_type not in MANY_DOCUMENTS:
            self._withdraw(run, run.survey.gone_by_own_account)
            raise run.survey.errors[0]
        return self._finish(run)

    def _embed_and_publish(
        self, run: IndexingRunState, documents: Iterable[PreparedDocument]
    ) -> None:
        for group in _groups(documents):
            run.report()
            self._embed(run, group)
            stored = self._publisher.publish(run.item.id, group, run.item.created_at)
            run.publishing.append((stored, group))
            if len(run.publishing) > PUBLISHING_AHEAD:
                run.take_stored()
        while run.publishing:
            run.take_stored()
        run.report()

    def _embed(self, run: IndexingRunState, group: Sequence[PreparedDocument]) -> None:
        """Store a vector for every chunk text that has none yet."""
        texts = {
            chunk.text_hash: chunk.embedded_text for document in group for chunk in document.chunks
        }

        def count(embedded: int, seconds: float) -> None:
            self._metrics.observe_embedding(embedded, seconds)
            run.embedded += embedded
            run.report()

        embed_unknown(
            self._database,
            self._embedder,
            texts,
            under_way=self._under_way,
            check=run.signal.check,
            on_embedded=count,
        )

    def _finish(self, run: IndexingRunState) -> IndexingResult:
        self._withdraw(run, run.survey.gone)
        if run.survey.gone:
            run.report_the_end()
        self._restamp(run)
        with self._database.write() as session:
            require_item(session, run.item.id, run.item.created_at)
            if not item_queries.has_documents(session, run.item.id):
                raise SourceUnreadableError(_nothing_to_index(run.survey))
            content_hash, documents, chunks = item_queries.finish_item(
                session, run.item.id, (run.item.uri, run.item.document_type), run.mounts
            )
            entry = run.tally.run(run.changes, skipped=run.survey.skipped_count)
            history_queries.add_run(session, run.item.id, entry)
        run.ended = True
        reached(FaultPoint.ITEM_FINISHED)
        return IndexingResult(
            success=True,
            knowledge_id=run.item.id,
            chunks_indexed=chunks,
            content_hash=content_hash,
            documents=documents,
            chunks_added=run.changes.added,
            chunks_removed=run.changes.removed + run.tally.removed_chunks,
            chunks_unchanged=chunks - run.changes.added,
            chunks_embedded=run.embedded,
            skipped=reported(
                run.survey.skipped, run.item.uri, run.survey.listing.skipped_unreported
            ),
            warnings=reported(run.survey.warnings, run.item.uri),
        )

    def _withdraw(self, run: IndexingRunState, documents: Sequence[KnownDocument]) -> None:
        for some in slices(documents, WITHDRAWN_AT_ONCE):
            run.report()
            run.tally.note_removed(some, self._publisher.withdraw(some).result())

    def _restamp(self, run: IndexingRunState) -> None:
        """Note the new times of documents that say the same; those of one that went are no more."""
        for some in slices(list(run.survey.restamped.items()), RESTAMPED_AT_ONCE):
            run.report()
            with self._database.write() as session:
                queries.restamp_documents(session, dict(some))

    def _note_stop(self, run: IndexingRunState) -> None:
        """Note in the history what a run has stored that ends half-way."""
        run.count_what_was_stored()
        run.report_the_end()
        if not run.tally.has_changes:
            return
        try:
            self._note(run, "stopped")
        except StorageError as error:
            logger.warning("History of item %d has a gap: %s", run.item.id, error.detail)

    def _note(self, run: IndexingRunState, outcome: str, error: str | None = None) -> None:
        """Note in the history how a run ended early."""
        skipped = run.survey.skipped_count
        entry = run.tally.run(run.changes, skipped=skipped, outcome=outcome, error=error)
        with self._database.write() as session:
            if item_exists(session, run.item.id, run.item.created_at):
                history_queries.add_run(session, run.item.id, entry)

    def _fail(self, run: IndexingRunState, error: AppError) -> IndexingResult:
        run.count_what_was_stored()
        run.report_the_end()
        reason, logged = error.detail, error.logged
        if isinstance(error, SourceError):
            reason = logged = with_relative_path_explained(reason, run.item.uri)
        logger.info("Item %d was not indexed: %s", run.item.id, logged)
        pause = error.retry_after_seconds if isinstance(error, SourceUnavailableError) else None
        skipped = run.survey.skipped_count
        entry = run.tally.run(run.changes, skipped=skipped, outcome="failed", error=reason)
        with self._database.write() as session:
            if item_exists(session, run.item.id, run.item.created_at):
                source = (run.item.uri, run.item.document_type)
                item_queries.fail_item(session, run.item.id, reason, source, pause)
                history_queries.add_run(session, run.item.id, entry)
            if isinstance(error, SourceUnavailableError) and pause:
                leave_host_alone(session, error.address or run.item.uri, pause)
        run.ended = True
        reached(FaultPoint.ITEM_FAILED)
        return replace(
            _failure(run, reason),
            unquoted_error=logged,
            error_is_transient=error.is_transient,
            retry_after_seconds=pause,
        )

    def _fail_unexpectedly(self, run: IndexingRunState) -> IndexingResult:
        """Note the failure, if only on the item: the history may be what could not be read."""
        run.count_what_was_stored()
        run.report_the_end()
        run.ended = True
        with self._database.write() as session:
            if item_exists(session, run.item.id, run.item.created_at):
                source = (run.item.uri, run.item.document_type)
                item_queries.fail_item(session, run.item.id, WENT_WRONG, source)
        survive(
            lambda: self._note(run, "failed", WENT_WRONG),
            f"History of item {run.item.id} has a gap, for an unexpected error",
            TAKEN_AWAY,
        )
        return _failure(run, WENT_WRONG)

    def _require_same_model(self, collection: str) -> None:
        """Record the model of a new collection; refuse to mix models in an old one."""
        embedder = self._embedder
        with self._database.write() as session:
            recorded = queries.recorded_collection(
                session, collection, embedder.model_name, embedder.fingerprint, embedder.dimension
            )
            if recorded.embedding_fingerprint != embedder.fingerprint:
                raise ConflictError(
                    f"The collection {collection!r} holds vectors of the model "
                    f"{recorded.embedding_model!r}, which cannot be mixed with those of "
                    f"{embedder.model_name!r}. Run `groundwork rebuild --embed` to embed it again."
                )


def _failure(run: IndexingRunState, error: str) -> IndexingResult:
    """The result of a run that failed, with what it had stored by then."""
    return IndexingResult(
        success=False,
        knowledge_id=run.item.id,
        error=error,
        chunks_added=run.changes.added,
        chunks_removed=run.changes.removed + run.tally.removed_chunks,
        chunks_embedded=run.embedded,
        skipped=reported(run.survey.skipped, run.item.uri, run.survey.listing.skipped_unreported),
        warnings=reported(run.survey.warnings, run.item.uri),
    )


def _groups(documents: Iterable[PreparedDocument]) -> Iterator[list[PreparedDocument]]:
    """The documents in order, in groups of about GROUP_CHUNKS chunks."""
    group: list[PreparedDocument] = []
    chunks = 0
    for document in documents:
        group.append(document)
        chunks += len(document.chunks)
        if chunks >= GROUP_CHUNKS:
            yield group
            group, chunks = [], 0
    if group:
        yield group


def _unmounted(uri: str) -> str:
    return (
        f"The file system that {uri} lay on was mounted and is not now; nothing was removed. Mount "
        "it again; if it is gone for good, take the item out of the index and index it again."
    )


def _nothing_to_index(survey: Survey) -> str:
    """The message, with an example of what could not be read or else of what was left out."""
    unreadable = (note for note in survey.unreadable if note.reason != NO_CONTENT)
    example = next(unreadable, survey.listing.telling)
    if example is None:
        return NO_CONTENT
    return f"{NO_CONTENT}; for example, {example.uri} was skipped: {example.reason}"
