"""What RAGService needs from the parts below it; the container provides it."""

from collections.abc import Mapping
from typing import Any, Protocol

from app.generations.in_use import AssemblesContext
from app.generations.service import GenerationService
from app.indexing.compaction import CompactionReport
from app.indexing.indexer import Indexer
from app.indexing.maintenance import CollectionStats, VerifyReport
from app.jobs.records import Outcome
from app.jobs.service import JobService
from app.jobs.watching import JobWatch
from app.knowledge.service import KnowledgeService
from app.protocols import ProgressListener
from app.search.collection_settings import CollectionSettings
from app.search.context import AnswersSearches


class Engine(Protocol):
    """The synchronous parts that do the work. They raise AppErrors."""

    @property
    def knowledge(self) -> KnowledgeService: ...  # noqa: D102, the types say it
    @property
    def indexer(self) -> Indexer: ...  # noqa: D102
    @property
    def searcher(self) -> AnswersSearches: ...  # noqa: D102
    @property
    def context(self) -> AssemblesContext: ...  # noqa: D102
    @property
    def collection_settings(self) -> CollectionSettings: ...  # noqa: D102
    @property
    def jobs(self) -> JobService: ...  # noqa: D102
    @property
    def job_watch(self) -> JobWatch: ...  # noqa: D102
    @property
    def searches_at_once(self) -> int: ...  # noqa: D102
    @property
    def most_waiting_searches(self) -> int: ...  # noqa: D102
    def run_job(  # noqa: D102
        self, kind: str, arguments: Mapping[str, Any], watcher: ProgressListener
    ) -> Outcome: ...
    @property
    def generations(self) -> GenerationService: ...  # noqa: D102
    def stats(self) -> CollectionStats: ...  # noqa: D102
    def verify(self, *, repair: bool = False) -> VerifyReport: ...  # noqa: D102
    def compact(self) -> CompactionReport: ...  # noqa: D102
    def rebuild(self, *, embed: bool = False) -> None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102
