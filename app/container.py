"""The composition root: it and `app.assembly` choose the adapters that stand behind the seams."""

import logging
from collections.abc import Mapping
from typing import Any, Self

from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.loading.sources import Sources
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.assembly.background_work import BackgroundWork
from app.assembly.embedders import open_embedder
from app.assembly.generation_choice import OpenEmbedder
from app.assembly.generation_keeper import GenerationKeeper
from app.assembly.generation_parts import GenerationParts
from app.assembly.health import ServiceHealth
from app.assembly.opening import OpenedData, open_data, released_on_failure
from app.errors import AppError, StartupError, StorageError
from app.following.service import FollowedItems
from app.indexing.compaction import Compaction, CompactionReport
from app.indexing.generation import Generation
from app.indexing.indexer import Indexer
from app.indexing.maintenance import CollectionStats, IndexMaintenance, VerifyReport
from app.indexing.pipeline import IndexingPipeline
from app.jobs.records import Outcome
from app.knowledge.content import ContentService
from app.knowledge.history import HistoryService
from app.knowledge.service import KnowledgeService
from app.metrics import Metrics
from app.processor import available_cores
from app.protocols import Embedder, ProgressListener, SourceOpener, TextSplitter
from app.rag.service import RAGService
from app.rag.threads import searches_at_once
from app.search.collection_settings import CollectionSettings
from app.settings import Settings
from app.web.health_schemas import PartHealth

logger = logging.getLogger(__name__)


class Container:
    """All parts of one running service, made from settings; `open` also starts them.

    It holds the data directory exclusively until `close`. What belongs to one generation is
    exchanged as a whole: see `GenerationParts`.
    """

    def __init__(self, settings: Settings, opened: OpenedData, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.searches_at_once = searches_at_once(
            available_cores(), embedded_here=settings.embeds_here
        )
        self.most_waiting_searches = settings.most_waiting_searches
        self._data_directory = opened.data_directory
        self.database = opened.database
        # `opened.choice` is not kept: it holds the former model, which is freed after a switch.
        self._wanted_embedder = opened.choice.wanted_embedder
        self._closes_embedder = opened.closes_embedder
        self.collection_settings = CollectionSettings(
            self.database,
            settings.chroma_collection_name,
            settings.lexical_language,
            self._index_changes_noted,
        )
        self._keeper = GenerationKeeper(
            settings,
            self.database,
            opened.choice,
            self.collection_settings,
            metrics,
            was_clean=opened.was_clean,
        )
        self.publisher = self._keeper.publisher
        self.searcher = self._keeper.searcher
        self.context = self._keeper.context
        self.generations = self._keeper.service
        self.sources = Sources.from_settings(settings)
        self.indexer = Indexer(
            database=self.database,
            pipeline=self.pipeline_for(self.sources),
            publisher=self.publisher,
            metrics=metrics,
            on_item_freed=self._item_freed,
        )
        self._keeper.prepare_renewal(self.indexer)
        self.content = ContentService(self.database)
        self.history = HistoryService(self.database)
        self.knowledge = KnowledgeService(
            self.database,
            FollowedItems(self.indexer, self._items_changed),
            settings.chroma_collection_name,
            settings.lexical_language,
        )
        self.rag = RAGService(engine=self)
        self._work = BackgroundWork(settings, self.database, self.indexer, self.rag.job_handlers())
        self.jobs = self._work.jobs
        self.job_watch = self._work.job_watch
        self._health = ServiceHealth(settings, self.database, self._keeper, self.jobs, metrics)
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
        open_model: OpenEmbedder = open_embedder,
    ) -> Self:
        """Take the data directory and start everything.

        If the settings name another model or splitter than what is stored was made with, the old
        generation goes on answering while a new one is made in the background. `open_model` opens
        the model of the settings, and then the former one; with `any_model` the former one is not
        opened, for work that embeds everything again.
        Without `run_jobs`, jobs wait for the next server, and so does a change of model or
        splitter.

        Raises StartupError: the directory is in use or not writable, or a model cannot be opened.
        """
        opened = open_data(settings, embedder, open_model, any_model=any_model)
        with released_on_failure(opened.data_directory):
            try:
                container = cls(settings, opened, metrics or Metrics())
            except AppError:
                opened.close()
                raise
            try:
                container.start(run_jobs=run_jobs)
            except AppError:
                container.close()  # none of its threads may outlive the lock
                raise
        return container

    def start(self, *, run_jobs: bool) -> None:
        """Open the indexes, then run jobs."""
        self.collection_settings.load()
        self._keeper.start(renew=run_jobs)
        if run_jobs:
            self._work.start()

    def close(self) -> None:
        """Stop cleanly: take no new work, finish what is under way, flush, leave the clean mark.

        After one that Ctrl-C cut short, the next goes on.
        """
        if self._closed:
            return
        self.stop_work()
        self._work.close()
        self.indexer.close()
        in_use = self._keeper.close()
        if self._closes_embedder:
            self._wanted_embedder.close()
        is_cut_short = False
        try:
            if in_use is not None:  # else one is not sound, and the next start must check both
                self._keeper.seal(in_use)
            self.database.close()
            if in_use is not None:
                self._data_directory.mark_clean()
        except (StartupError, StorageError) as error:
            logger.warning("The next start checks the indexes first: %s", error.detail)
        except (KeyboardInterrupt, SystemExit):
            is_cut_short = True
            raise
        finally:
            if not is_cut_short:
                self._closed = True
                self._data_directory.release()

    def stop_work(self) -> None:
        """Ask all indexing to end soon, without waiting; requests that wait for it get 503."""
        self._work.stop()
        self._keeper.stop()
        self.indexer.stop()

    def run_job(
        self, kind: str, arguments: Mapping[str, Any], watcher: ProgressListener
    ) -> Outcome:
        """Run a job in the calling thread, beside those of the worker."""
        return self._work.run_here(kind, arguments, watcher)

    def stats(self) -> CollectionStats:
        """Counts of what is stored."""
        return self._keeper.asked(lambda parts: parts.maintenance.stats())

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Check SQL, and compare both indexes with it once they are open; mend it with `repair`."""

        def verify(parts: GenerationParts) -> VerifyReport:
            parts.settle()
            return parts.maintenance.verify(repair=repair)

        return self._keeper.asked(verify)

    def compact(self) -> CompactionReport:
        """Free disk space, and erase for good what was deleted; raises StorageError."""

        def compact(parts: GenerationParts) -> CompactionReport:
            parts.settle()
            return parts.compaction.run()

        return self._keeper.asked(compact)

    def settle(self) -> None:
        """Wait until both indexes are loaded, and mended if necessary."""
        self.parts.settle()

    def rebuild(self, *, embed: bool = False) -> None:
        """Switch to the generation that the settings want, or else refill both indexes from SQL.

        Refilling embeds nothing, except with `embed`: then it embeds what has no vector. Raises
        EmbeddingError, StorageError.
        """
        if not self.renew():
            self.maintenance.rebuild(embed=embed)

    def renew(self) -> bool:
        """Switch to the generation that the settings want, and wait; False: it answers now."""
        return self._keeper.renew()

    @property
    def needs_renewal(self) -> bool:
        """Whether another generation answers than the settings want."""
        return self._keeper.needs_renewal

    def wait_for_renewal(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the generation that the settings want answers; returns whether it does."""
        return self._keeper.wait_for_renewal(timeout_seconds)

    # The generation that answers -----------------------------------------------------------

    @property
    def parts(self) -> GenerationParts:
        """Everything that belongs to the generation that answers."""
        return self._keeper.parts

    @property
    def generation(self) -> Generation:
        """The generation that answers, and that documents are indexed into."""
        return self.parts.stored.generation

    @property
    def embedder(self) -> Embedder:
        """The model that embeds queries and documents."""
        return self.parts.embedder

    @property
    def splitter(self) -> TextSplitter:
        """What splits documents into chunks."""
        return self.parts.splitter

    @property
    def vector_index(self) -> FailoverVectorIndex | LoadedExactIndex:
        """The index that is searched by meaning."""
        return self.parts.vector_index

    @property
    def lexical_index(self) -> HealingLexicalIndex:
        """The index that is searched by words."""
        return self.parts.lexical_index

    @property
    def maintenance(self) -> IndexMaintenance:
        """What counts, verifies and rebuilds."""
        return self.parts.maintenance

    @property
    def compaction(self) -> Compaction:
        """What frees disk space."""
        return self.parts.compaction

    # Health --------------------------------------------------------------------------------

    def part_health(self) -> dict[str, PartHealth]:
        """The state of database, indexes, model and generation."""
        return self._health.parts()

    def refresh_gauges(self) -> None:
        """Set the gauges of the metrics to what they measure now."""
        self._health.refresh_gauges()

    # Parts ---------------------------------------------------------------------------------

    def pipeline_for(self, sources: SourceOpener) -> IndexingPipeline:
        """A pipeline that indexes these sources into the generation that answers now."""
        return IndexingPipeline(
            database=self.database,
            sources=sources,
            splitter=self.splitter,
            embedder=self.embedder,
            generation=self.generation,
            publisher=self.publisher,
            metrics=self.metrics,
            under_way=self._keeper.texts_under_way,
        )

    def _index_changes_noted(self) -> None:
        self.publisher.settle_soon()

    def _items_changed(self) -> None:
        self._work.items_changed()

    def _item_freed(self) -> None:
        self._work.item_freed()
