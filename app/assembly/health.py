"""The state of a running service's parts, for `/health/ready` and as gauges for `/metrics`."""

from app.assembly.generation_keeper import GenerationKeeper
from app.assembly.generation_parts import GenerationParts
from app.database import Database
from app.errors import AppError
from app.jobs.service import JobService
from app.metrics import Metrics
from app.protocols import Embedder
from app.settings import Settings
from app.web.health_schemas import HealthStatus, PartHealth


class ServiceHealth:
    """Asks each part for its state. The generation that answers may change between two calls."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        keeper: GenerationKeeper,
        jobs: JobService,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._database = database
        self._keeper = keeper
        self._jobs = jobs
        self._metrics = metrics

    def parts(self) -> dict[str, PartHealth]:
        """The state of database, indexes, model and generation, by name."""
        return {
            "database": self._database_health(),
            **self._keeper.asked(self._health_of),
            "generation": self._keeper.health(),
        }

    def refresh_gauges(self) -> None:
        """Set the gauges of the metrics to what they measure now; raises StorageError."""
        self._keeper.asked(self._refresh_gauges_of)
        self._metrics.generation_documents_missing.set(self._keeper.documents_missing())
        self._metrics.jobs_waiting.set(self._jobs.count_waiting())

    def _refresh_gauges_of(self, parts: GenerationParts) -> None:
        stats, metrics = parts.maintenance.stats(), self._metrics
        metrics.chunks.set(stats.total_chunks)
        metrics.items.set(stats.unique_knowledge_items)
        metrics.index_drift.set(stats.total_chunks - stats.vector_index_records)
        reasons = (parts.vector_index.degraded_reason, parts.lexical_index.degraded_reason)
        metrics.index_degraded.set(any(reasons))

    def _database_health(self) -> PartHealth:
        try:
            self._database.ping()
        except AppError as error:
            return PartHealth(status=HealthStatus.FAILED, detail=error.detail)
        return PartHealth(status=HealthStatus.READY, detail="answers")

    def _health_of(self, parts: GenerationParts) -> dict[str, PartHealth]:
        indexes = {
            name: PartHealth(
                status=HealthStatus.DEGRADED if index.degraded_reason else HealthStatus.READY,
                detail=index.degraded_reason or f"{index.name}: {index.count} records",
            )
            for name, index in (
                ("vector_index", parts.vector_index.status),
                ("lexical_index", parts.lexical_index.status),
            )
        }

        return {**indexes, "embedding_model": self._model_health(parts.embedder)}

    def _model_health(self, embedder: Embedder) -> PartHealth:
        if self._settings.embeds_here:  # elsewhere, every query may cost money
            try:
                embedder.embed_query("ready")
            except AppError as error:
                return PartHealth(status=HealthStatus.FAILED, detail=error.detail)
        return PartHealth(status=HealthStatus.READY, detail=embedder.model_name)
