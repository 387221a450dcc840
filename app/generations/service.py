"""Lists generations, tells how far the next one has come, and drops those that are kept."""

from collections.abc import Callable
from typing import Protocol

from app.database import Database
from app.errors import ConflictError, NotFoundError
from app.generations import queries
from app.generations.records import GenerationProgress, GenerationReport, StoredGeneration
from app.indexing.generation import Generation


class RenewalUnderWay(Protocol):
    """The making of a generation; see GenerationRenewal."""

    @property
    def generation(self) -> Generation: ...  # noqa: D102, the types say it
    @property
    def texts_embedded(self) -> int: ...  # noqa: D102
    @property
    def trouble(self) -> str | None: ...  # noqa: D102


class GenerationService:
    """What users see of generations. `renewal` gives the one under way, if any."""

    def __init__(
        self,
        database: Database,
        *,
        wanted_id: int,
        renewal: Callable[[], RenewalUnderWay | None],
        drop_indexes: Callable[[int], None],
    ) -> None:
        """`wanted_id` is the generation of the settings; `drop_indexes` deletes one's files."""
        self._database = database
        self._wanted_id = wanted_id
        self._renewal = renewal
        self._drop_indexes = drop_indexes

    def all(self) -> list[GenerationReport]:
        """All generations, in the order in which they were made."""
        renewal = self._renewal()
        reports = []
        with self._database.read() as session:
            total = queries.count_documents(session)
            for stored in queries.all_generations(session):
                number = stored.generation.id
                is_made = renewal is not None and renewal.generation.id == number
                progress = GenerationProgress(
                    documents_done=queries.count_done(session, number),
                    documents_total=total,
                    chunks=queries.count_chunks(session, number),
                    texts_embedded=renewal.texts_embedded if renewal and is_made else 0,
                )
                trouble = renewal.trouble if renewal and is_made else None
                reports.append(GenerationReport(stored, progress, self._state(stored), trouble))
        return reports

    def drop(self, generation_id: int) -> None:
        """Drop one that is kept; raises NotFoundError, ConflictError when it is needed."""
        report = next((r for r in self.all() if r.stored.generation.id == generation_id), None)
        if report is None:
            raise NotFoundError(f"There is no generation {generation_id}.")
        if report.state != "kept":
            raise ConflictError(
                f"Generation {generation_id} is in use: only one that is kept can be dropped."
            )
        self._drop(generation_id)

    def drop_kept(self) -> int:
        """Drop all that are only kept; returns how many."""
        kept = [report.stored.generation.id for report in self.all() if report.state == "kept"]
        for generation_id in kept:
            self._drop(generation_id)
        return len(kept)

    def _state(self, stored: StoredGeneration) -> str:
        if stored.is_current:
            return "current"
        return "building" if stored.generation.id == self._wanted_id else "kept"

    def _drop(self, generation_id: int) -> None:
        while True:
            with self._database.write() as session:
                if not queries.drop_some(session, generation_id):
                    break
        self._drop_indexes(generation_id)
