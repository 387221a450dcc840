"""The composition root: with derived_indexes and embedders, all that names concrete adapters."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from app.adapters.data_directory import DataDirectory
from app.adapters.loading.footprints import Footprints
from app.adapters.loading.path_guard import PathGuard
from app.adapters.loading.sources import Sources
from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.database import Database
from app.derived_indexes import DerivedIndexes
from app.embedders import open_embedder
from app.errors import AppError, StartupError, StorageError
from app.following.service import FollowedItems, SourceFollower
from app.indexing.caretaker import IndexCaretaker
from app.indexing.compaction import Compaction
from app.indexing.comparison import IndexComparison
from app.indexing.database_repair import DatabaseRepair
from app.indexing.embedded_text import splitting_limit
from app.indexing.indexer import Indexer
from app.indexing.maintenance import IndexMaintenance
from app.indexing.publisher import Publisher
from app.jobs.bell import JobBell
from app.jobs.records import Outcome
from app.jobs.service import JobService
from app.jobs.watching import JobWatch
from app.jobs.worker import JobWorker
from app.knowledge.content import ContentService
from app.knowledge.history import HistoryService
from app.knowledge.service import KnowledgeService
from app.protocols import Embedder, ProgressListener
from app.rag.service import RAGService
from app.search.collection_rankings import CollectionRankings
from app.search.context import ContextAssembler
from app.search.retrieval import Retriever
from app.search.searcher import Searcher
from app.settings import Settings
from app.web.health import HealthStatus, PartHealth
from app.web.metrics import Metrics

logger = logging.getLogger(__name__)

"""What the indexes on disk are called by their stamps and metrics."""

EXPRESS_THREADS = 1
"""Threads kept free for single items that a client waits for, whatever else goes on."""


class Container:
    """All parts of one running service, made from settings; `open` also starts them.

    It holds the data directory exclusively until `close`.
    """

    def __init__(
        self,
        settings: Settings,
        data_directory: DataDirectory,
        embedder: Embedder,
        metrics: Metrics,
        *,
        was_clean: bool,
    ) -> None:
        """`was_clean`: the last process closed this data directory in order."""
        self.settings = settings
        self.metrics = metrics
        self.most_waiting_searches = settings.most_waiting_searches
        self._data_directory = data_directory
        self.embedder = embedder
        self.closes_embedder = True
        self.database = Database(settings.resolved_database_url)
        self.indexes = DerivedIndexes(
            settings, self.database, embedder, metrics, was_clean=was_clean
        )
        self.vector_index = self.indexes.vector
        self.lexical_index = self.indexes.lexical
        self.analyser = self.indexes.analyser
        self.publisher = Publisher(
            self.database, self.vector_index, self.lexical_index, embedder.fingerprint
        )
        self.sources = Sources.from_settings(settings)
        meter = embedder.token_meter
        self.splitter = RecursiveTextSplitter(
            settings.chunk_size, settings.overlap, meter, splitting_limit(meter) if meter else None
        )
        self.indexer = Indexer(
            database=self.database,
            sources=self.sources,
            splitter=self.splitter,
            embedder=embedder,
            publisher=self.publisher,
            metrics=metrics,
            on_item_freed=self._item_freed,
        )
        self.retriever = Retriever(
            embedder=embedder, vector_index=self.vector_index, lexical_index=self.lexical_index
        )
        self.collection_rankings = CollectionRankings(
            self.database, settings.chroma_collection_name
        )
        self.searcher = Searcher(
            database=self.database,
            retriever=self.retriever,
            analyser=self.analyser,
            content_version=lambda: self.publisher.version,
            degraded=self.indexes.degraded_parts,
            metrics=metrics,
            vector_index=self.vector_index,
            collection_ranking=self.collection_rankings.of,
        )
        self.context = ContextAssembler(
            database=self.database, searcher=self.searcher, token_meter=meter
        )
        self.content = ContentService(self.database)
        self.history = HistoryService(self.database)
        self.knowledge = KnowledgeService(
            self.database,
            FollowedItems(self.indexer, self._wake_follower),
            settings.chroma_collection_name,
        )
        self.caretaker = self._make_caretaker()
        self.maintenance = IndexMaintenance(
            database=self.database,
            vector_index=self.vector_index,
            lexical_index=self.lexical_index,
            embedder=embedder,
            publisher=self.publisher,
            caretaker=self.caretaker,
            repair=DatabaseRepair(
                database=self.database,
                publisher=self.publisher,
                embedder=embedder,
                splitter=self.splitter,
            ),
            collection_name=settings.chroma_collection_name,
            index_name=settings.vector_index,
            healed=metrics.healed,
        )
        self.compaction = Compaction(
            database=self.database,
            vector_index=self.vector_index,
            lexical_index=self.lexical_index,
            publisher=self.publisher,
            data_dir=settings.data_dir,
            index_folders=self.indexes.folders,
            drop_leftovers=self.indexes.drop_unused,
        )
        self._job_bell = JobBell()
        self.jobs = JobService(
            self.database,
            on_queued=self._wake_worker,
            bell=self._job_bell,
            most_queued=settings.most_queued_jobs,
        )
        self.job_watch = JobWatch(self.jobs, self._job_bell)
        self.rag = RAGService(engine=self)
        self._worker = JobWorker(
            self.database,
            self.rag.job_handlers(),
            threads=settings.index_threads,
            items_in_use=self.indexer.items_in_use,
            express_threads=EXPRESS_THREADS,
            bell=self._job_bell,
        )
        self.follower = SourceFollower(
            self.database, self.jobs, Footprints(PathGuard(settings.roots))
        )
        self._closed = False

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        metrics: Metrics | None = None,
        any_model: bool = False,
        run_jobs: bool = True,
    ) -> Self:
        """Take the data directory and start everything.

        With `any_model`, also when what is stored belongs to another model: to embed it again.
        Without `run_jobs`, what was promised waits for the next server.

        Raises StartupError: the directory is in use or not writable, the model is not to be had,
        or what is stored belongs to another model.
        """
        data_directory = DataDirectory(settings.data_dir)
        data_directory.acquire()
        try:
            was_clean = data_directory.mark_open()  # before a model is put there
            try:
                model = embedder or open_embedder(settings)
            except AppError:
                if was_clean:
                    data_directory.mark_clean()  # nothing has been touched yet
                raise
            container = cls(
                settings, data_directory, model, metrics or Metrics(), was_clean=was_clean
            )
            container.closes_embedder = embedder is None
            try:
                container.start(any_model=any_model, run_jobs=run_jobs)
            except AppError:
                container.close()  # no thread of it may outlive the lock
                raise
        except AppError as error:
            data_directory.release()
            raise (
                error if isinstance(error, StartupError) else StartupError(error.detail)
            ) from error
        return container

    def start(self, *, any_model: bool, run_jobs: bool) -> None:
        """Bring tables and indexes up to date, then take work."""
        self.database.hold()
        self.database.migrate()
        self.collection_rankings.load()
        if not any_model:
            self.maintenance.require_same_model()
        self.indexes.start(is_empty=self.maintenance.is_empty())
        self.publisher.start()
        self.caretaker.start()
        if run_jobs:
            self._worker.start()
            if not self.settings.disable_auto_indexing:
                self.follower.start()
        self.metrics.model.info(
            {"name": self.embedder.model_name, "fingerprint": self.embedder.fingerprint}
        )

    def close(self) -> None:
        """Stop in order: no new work, finish what is under way, flush, mark as clean."""
        if self._closed:
            return
        self._closed = True
        self.stop_work()
        self.follower.close()
        self._worker.close()
        self.indexer.close()
        self.caretaker.close()  # before the publisher, which it waits for
        self.publisher.close()
        self.retriever.close()
        in_use = self.indexes.close()
        if self.closes_embedder:
            self.embedder.close()
        try:
            if in_use is not None:  # else the next start must not trust them either
                self.indexes.seal(in_use)
            self.database.close()
            if in_use is not None:
                self._data_directory.mark_clean()
        except (StartupError, StorageError) as error:
            logger.warning("The next start checks the indexes first: %s", error.detail)
        finally:
            self._data_directory.release()

    def stop_work(self) -> None:
        """Ask all indexing to end soon, without waiting; its requests then end with 503."""
        self.follower.stop()
        self._worker.stop()
        self._job_bell.stop()
        self.publisher.stop()
        self.indexer.stop()

    def run_job(
        self, kind: str, arguments: Mapping[str, Any], watcher: ProgressListener
    ) -> Outcome:
        """Run a job in the calling thread, beside the worker's."""
        return self._worker.run_here(kind, arguments, watcher)

    def settle(self) -> None:
        """Wait until both indexes are loaded, and mended if that was necessary."""
        self.indexes.settle()

    # Health --------------------------------------------------------------------------------

    def part_health(self) -> dict[str, PartHealth]:
        """How database, vector index and model are."""
        try:
            self.database.ping()
            database = PartHealth(status=HealthStatus.READY, detail="answers")
        except AppError as error:
            database = PartHealth(status=HealthStatus.FAILED, detail=error.detail)
        indexes = {
            name: PartHealth(
                status=HealthStatus.DEGRADED if index.degraded_reason else HealthStatus.READY,
                detail=index.degraded_reason or f"{index.name}: {index.count} records",
            )
            for name, index in (
                ("vector_index", self.vector_index.status),
                ("lexical_index", self.lexical_index.status),
            )
        }
        model = PartHealth(status=HealthStatus.READY, detail=self.embedder.model_name)
        if self.settings.embedding_provider != "openai":  # there, every question costs money
            try:
                self.embedder.embed_query("ready")
            except AppError as error:
                model = PartHealth(status=HealthStatus.FAILED, detail=error.detail)
        return {"database": database, **indexes, "embedding_model": model}

    def refresh_gauges(self) -> None:
        """Count what the metrics show as it stands now."""
        stats = self.maintenance.stats()
        self.metrics.chunks.set(stats.total_chunks)
        self.metrics.items.set(stats.unique_knowledge_items)
        self.metrics.index_drift.set(stats.total_chunks - stats.vector_index_records)
        reasons = (self.vector_index.degraded_reason, self.lexical_index.degraded_reason)
        self.metrics.index_degraded.set(any(reasons))
        self.metrics.jobs_waiting.set(self.jobs.count_waiting())

    # Parts ---------------------------------------------------------------------------------

    def _make_caretaker(self) -> IndexCaretaker:
        comparison = IndexComparison(
            database=self.database,
            vector_index=self.vector_index,
            lexical_index=self.lexical_index,
            publisher=self.publisher,
            fingerprint=self.embedder.fingerprint,
        )
        return IndexCaretaker(
            comparison,
            self.publisher,
            interval_seconds=self.settings.index_care_interval_seconds,
            observe=lambda each: self.metrics.observe_drift(
                each.index, each.kind.value, mended=each.mended
            ),
        )

    def _wake_worker(self) -> None:
        self._worker.wake()

    def _wake_follower(self) -> None:
        self.follower.wake()

    def _item_freed(self) -> None:
        self._worker.wake()
        self.follower.wake()


def open_as_library(
    persist_directory: str | Path | None,
    collection_name: str | None,
    chunk_size: int | None,
    chunk_overlap: int | None,
    embedding_model: str | None,
) -> Container:
    """A container for RAGService's own constructor; what is None comes from the environment."""
    given: dict[str, object] = {
        "chroma_collection_name": collection_name,
        "chunk_size": chunk_size,
        "overlap": chunk_overlap,
        "embedding_model": embedding_model,
    }
    if persist_directory is not None:
        folder = Path(persist_directory)
        # The specification's users name the folder of Chroma; SQL lies beside it, not in it.
        given["data_dir"] = folder.parent if folder.name == "chroma" else folder
        given["chroma_persist_directory"] = ""
    return Container.open(Settings(**{k: v for k, v in given.items() if v is not None}))  # type: ignore[arg-type]  # pydantic checks the values
