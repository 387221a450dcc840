"""Everything that belongs to one generation: model, splitter, indexes, search, index care."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.assembly.derived_indexes import DerivedIndexes, delete_index_files
from app.database import Database
from app.errors import LexicalIndexError, VectorIndexError
from app.generations.records import StoredGeneration
from app.indexing.caretaker import IndexCaretaker
from app.indexing.compaction import Compaction
from app.indexing.comparison import IndexComparison
from app.indexing.database_repair import DatabaseRepair
from app.indexing.embedded_text import splitting_limit
from app.indexing.embedding import TextsUnderWay
from app.indexing.maintenance import IndexMaintenance
from app.indexing.publisher import Publisher
from app.indexing.vector_repair import VectorRepair
from app.metrics import Metrics
from app.protocols import Embedder
from app.search.collection_settings import CollectionSettings
from app.search.context import ContextAssembler
from app.search.retrieval import Retriever
from app.search.searcher import Searcher
from app.settings import Settings

logger = logging.getLogger(__name__)

_SIZES = re.compile(r"[^: ]+:(\d+):(\d+):")
"""The sizes in a splitter's fingerprint: see RecursiveTextSplitter."""

CLOSING_SECONDS = 30.0
"""How long replaced parts wait for the searches that still use them."""


@dataclass(frozen=True)
class SharedParts:
    """What all generations share."""

    settings: Settings
    database: Database
    publisher: Publisher
    metrics: Metrics
    collection_settings: CollectionSettings
    drop_kept: Callable[[], int]
    """Drops generations that are only kept, to free space."""
    texts_under_way: TextsUnderWay
    """Of runs, of a switch and of the care: none embeds what another is embedding."""


def splitter_of_settings(settings: Settings, embedder: Embedder) -> RecursiveTextSplitter:
    """The splitter that the settings ask for."""
    return _splitter(settings.chunk_size, settings.overlap, embedder)


def splitter_of(
    stored: StoredGeneration, settings: Settings, embedder: Embedder
) -> RecursiveTextSplitter:
    """The splitter of a generation, as far as this version can still split like it."""
    sizes = _SIZES.match(stored.generation.rules)
    if sizes is None:
        return splitter_of_settings(settings, embedder)
    return _splitter(int(sizes[1]), int(sizes[2]), embedder)


def _splitter(chunk_size: int, overlap: int, embedder: Embedder) -> RecursiveTextSplitter:
    meter = embedder.token_meter
    return RecursiveTextSplitter(
        chunk_size, overlap, meter, splitting_limit(meter) if meter else None
    )


class GenerationParts:
    """The parts of one generation. The publisher writes to `indexes`, or will do so."""

    def __init__(
        self,
        shared: SharedParts,
        stored: StoredGeneration,
        embedder: Embedder,
        indexes: DerivedIndexes,
        *,
        owns_embedder: bool,
    ) -> None:
        """`owns_embedder`: nothing else uses it, so it is closed together with the parts."""
        self.stored = stored
        self.embedder = embedder
        self.indexes = indexes
        self.owns_embedder = owns_embedder
        self.vector_index = indexes.vector
        self.lexical_index = indexes.lexical
        self.languages = indexes.languages
        self.splitter = splitter_of(stored, shared.settings, embedder)
        self._settings = shared.settings
        self.retriever = Retriever(
            embedder=embedder,
            vector_index=self.vector_index,
            lexical_index=self.lexical_index,
            searches=indexes.searches,
        )
        self.searcher = Searcher(
            database=shared.database,
            retriever=self.retriever,
            languages=self.languages,
            versions=shared.publisher.versions,
            degraded=indexes.degraded_parts,
            metrics=shared.metrics,
            vector_index=self.vector_index,
            token_meter=embedder.token_meter,
            collection_ranking=shared.collection_settings.ranking_of,
            collection_languages=shared.collection_settings.languages,
        )
        self.context = ContextAssembler(
            database=shared.database,
            searcher=self.searcher,
            token_meter=embedder.token_meter,
            languages=self.languages,
            collection_languages=shared.collection_settings.languages,
        )
        self.caretaker = self._make_caretaker(shared)
        self.maintenance = self._make_maintenance(shared)
        self.compaction = Compaction(
            database=shared.database,
            vector_index=self.vector_index,
            lexical_index=self.lexical_index,
            publisher=shared.publisher,
            data_dir=shared.settings.data_dir,
            index_folders=indexes.folders,
            drop_leftovers=indexes.drop_unused,
            drop_kept=shared.drop_kept,
        )

    def start_new_indexes(self) -> None:
        """Make its indexes, and have them filled from SQL in the background."""
        delete_index_files(self._settings, self.stored.generation.id)
        self.indexes.start_new()

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until both indexes are loaded, and mended if necessary; returns whether they are."""
        return self.indexes.settle(timeout_seconds)

    def require_sound(self) -> None:
        """Raise VectorIndexError or LexicalIndexError if an index could not be made."""
        if not self.vector_index.status.ready:
            reason = self.vector_index.degraded_reason
            raise VectorIndexError(f"The vector index could not be made: {reason}")
        if not self.lexical_index.status.ready:
            reason = self.lexical_index.degraded_reason
            raise LexicalIndexError(f"The lexical index could not be made: {reason}")

    def discard(self) -> None:
        """Close everything, and delete the files of the indexes."""
        self.caretaker.close()
        self.retriever.close()
        self.indexes.close(settling_seconds=0)
        if self.owns_embedder:
            self.embedder.close()
        delete_index_files(self._settings, self.stored.generation.id)

    # Inside ------------------------------------------------------------------------------------

    def _make_caretaker(self, shared: SharedParts) -> IndexCaretaker:
        comparison = IndexComparison(
            database=shared.database,
            vector_index=self.vector_index,
            lexical_index=self.lexical_index,
            publisher=shared.publisher,
            generation=self.stored.generation,
        )
        return IndexCaretaker(
            comparison,
            shared.publisher,
            VectorRepair(
                database=shared.database,
                embedder=self.embedder,
                generation=self.stored.generation,
                under_way=shared.texts_under_way,
            ),
            interval_seconds=shared.settings.index_care_interval_seconds,
            observe=lambda each: shared.metrics.observe_drift(
                each.index, each.kind.value, mended=each.mended
            ),
        )

    def _make_maintenance(self, shared: SharedParts) -> IndexMaintenance:
        return IndexMaintenance(
            database=shared.database,
            vector_index=self.vector_index,
            lexical_index=self.lexical_index,
            embedder=self.embedder,
            generation=self.stored.generation,
            publisher=shared.publisher,
            caretaker=self.caretaker,
            repair=DatabaseRepair(
                database=shared.database,
                publisher=shared.publisher,
                embedder=self.embedder,
                splitter=self.splitter,
                generation=self.stored.generation,
            ),
            collection_name=shared.settings.chroma_collection_name,
            index_name=shared.settings.vector_index,
            healed=shared.metrics.healed,
            made=shared.metrics.made,
        )
