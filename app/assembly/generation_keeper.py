"""Holds the generation that answers, and replaces it by the one that the settings want."""

import dataclasses
import logging

from app.assembly.derived_indexes import (
    DerivedIndexes,
    delete_index_files,
    delete_other_index_files,
)
from app.assembly.generation_choice import GenerationChoice
from app.assembly.generation_parts import CLOSING_SECONDS, GenerationParts, SharedParts
from app.database import Database
from app.errors import AppError
from app.generations.in_use import CurrentContext, CurrentSearcher, InUse
from app.generations.renewal import GenerationRenewal
from app.generations.service import GenerationService
from app.indexing.embedding import TextsUnderWay
from app.indexing.indexer import Indexer
from app.indexing.publisher import Publisher
from app.metrics import Metrics
from app.search.collection_settings import CollectionSettings
from app.settings import Settings
from app.web.health_schemas import HealthStatus, PartHealth

logger = logging.getLogger(__name__)


class GenerationKeeper:
    """The parts of the current generation, and the renewal if the settings want another."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        choice: GenerationChoice,
        collection_settings: CollectionSettings,
        metrics: Metrics,
        *,
        was_clean: bool,
    ) -> None:
        """`was_clean`: the last process closed the data directory cleanly."""
        self._choice = choice
        self._renewal: GenerationRenewal[GenerationParts] | None = None
        indexes = DerivedIndexes(settings, database, choice.current, metrics, was_clean=was_clean)
        self.publisher = Publisher(
            database, indexes.vector, indexes.lexical, choice.current.generation
        )
        self.service = GenerationService(
            database,
            wanted_id=choice.wanted.generation.id,
            renewal=lambda: self._renewal,
            drop_indexes=lambda number: delete_index_files(settings, number),
        )
        self.texts_under_way = TextsUnderWay()
        self._shared = SharedParts(
            settings=settings,
            database=database,
            publisher=self.publisher,
            metrics=metrics,
            collection_settings=collection_settings,
            drop_kept=self.service.drop_kept,
            texts_under_way=self.texts_under_way,
        )
        owns_embedder = choice.embedder is not choice.wanted_embedder
        self._in_use = InUse(
            GenerationParts(
                self._shared, choice.current, choice.embedder, indexes, owns_embedder=owns_embedder
            )
        )
        self.searcher = CurrentSearcher(self._in_use)
        self.context = CurrentContext(self._in_use)
        self.asked = self._in_use.asked

    @property
    def parts(self) -> GenerationParts:
        """The parts of the generation that answers. They are closed soon after a switch.

        Use `asked` for calls during which a switch may happen.
        """
        return self._in_use.current

    def prepare_renewal(self, indexer: Indexer) -> None:
        """Prepare a switch to what the settings want, if something else answers; starts nothing."""
        if self._choice.needs_renewal:
            self._renewal = GenerationRenewal(
                database=self._shared.database,
                publisher=self.publisher,
                indexer=indexer,
                under_way=self.texts_under_way,
                stored=self._choice.wanted,
                make_parts=self._make_next_parts,
                switch=self._switch_to,
                retire=self._retire,
                on_embedded=self._shared.metrics.observe_embedding,
            )

    @property
    def needs_renewal(self) -> bool:
        """Whether another generation answers than the settings want."""
        return self._renewal is not None and not self._renewal.is_done

    def start(self, *, renew: bool) -> None:
        """Open the indexes and take writes; with `renew`, switch if the settings want that.

        Without it, for a command, an index that cannot be opened is given up soon.
        """
        parts = self.parts
        delete_other_index_files(self._shared.settings, parts.stored.generation.id)
        parts.indexes.start(is_empty=parts.maintenance.is_empty(), for_command=not renew)
        self.publisher.start()
        parts.caretaker.start()
        if renew and self._renewal is not None:
            self._renewal.start()
        self._show_model()

    def renew(self) -> bool:
        """Switch in the calling thread; False if there is nothing to switch to."""
        if self._renewal is None or not self.needs_renewal:
            return False
        self._renewal.run()
        return True

    def wait_for_renewal(self, timeout_seconds: float | None = None) -> bool:
        """Wait until what the settings want answers; returns whether it does."""
        return self._renewal is None or self._renewal.wait(timeout_seconds)

    def stop(self) -> None:
        """Take no more writes, and stop a switch under way."""
        self.publisher.stop()
        if self._renewal is not None:
            self._renewal.stop()

    def close(self) -> frozenset[str] | None:
        """Flush and close everything; see DerivedIndexes.close. No index run may be under way."""
        if self._renewal is not None:
            self._renewal.close()
        parts = self.parts
        parts.caretaker.close()  # before the publisher, which it waits for
        self.publisher.close()
        parts.retriever.close()
        in_use = parts.indexes.close()
        if parts.owns_embedder:
            parts.embedder.close()
        return in_use

    def seal(self, in_use: frozenset[str]) -> None:
        """Record how the index files were left; raises StorageError."""
        self.parts.indexes.seal(in_use)

    # What people see -----------------------------------------------------------------------

    def health(self) -> PartHealth:
        """Which generation answers, and how far the next one is."""
        stored, renewal = self.parts.stored, self._renewal
        detail = f"{stored.generation.id}: {stored.embedding_model}, {stored.generation.rules}"
        if renewal is None or renewal.is_done:
            return PartHealth(status=HealthStatus.READY, detail=detail)
        try:
            told = renewal.told_progress()
        except AppError as error:
            told = error.detail
        status = HealthStatus.DEGRADED if renewal.trouble else HealthStatus.READY
        return PartHealth(status=status, detail=f"{detail}; {told}")

    def documents_missing(self) -> int:
        """How many documents the generation being made still lacks; raises StorageError."""
        if self._renewal is None or self._renewal.is_done:
            return 0
        return self._renewal.documents_missing()

    # The renewal's -------------------------------------------------------------------------

    def _make_next_parts(self) -> GenerationParts:
        shared, choice = self._shared, self._choice
        indexes = DerivedIndexes(
            shared.settings, shared.database, choice.wanted, shared.metrics, was_clean=False
        )
        return GenerationParts(
            shared, choice.wanted, choice.wanted_embedder, indexes, owns_embedder=False
        )

    def _switch_to(self, parts: GenerationParts) -> GenerationParts:
        """Let the new generation answer; returns the parts of the former one."""
        parts.indexes.made()
        former = self._in_use.exchange(parts)
        # The former model takes some 200 MB, which are freed once nothing refers to it.
        self._choice = dataclasses.replace(self._choice, embedder=parts.embedder)
        return former

    def _retire(self, former: GenerationParts) -> None:
        """Look after the new parts, and close the former ones once no search uses them."""
        try:
            self.parts.caretaker.start()
            self._show_model()
        finally:
            self._in_use.wait_until_unused(former, CLOSING_SECONDS)
            former.discard()

    def _show_model(self) -> None:
        model = self.parts.embedder
        self._shared.metrics.model.info(
            {"name": model.model_name, "fingerprint": model.fingerprint}
        )
