"""What the worker does for each kind of job: index one item, or all of them."""

import functools
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from app.indexing.indexer import Indexer
from app.jobs.kinds import INDEX_ALL_JOB, INDEX_JOB
from app.jobs.records import FailedWithAnswer, JobHandler
from app.knowledge.items import ItemFilter
from app.knowledge.service import KnowledgeService
from app.protocols import ProgressListener
from app.rag.bulk import index_items


class IndexingParts(Protocol):
    """What indexing needs of the container."""

    @property
    def knowledge(self) -> KnowledgeService: ...  # noqa: D102, the types say it
    @property
    def indexer(self) -> Indexer: ...  # noqa: D102


class IndexingJobs:
    """Runs jobs as they were promised; what is answered goes into the job's result."""

    def __init__(self, parts: IndexingParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[str, JobHandler]:
        """What the worker calls for each kind of job."""
        return {INDEX_JOB: self._index, INDEX_ALL_JOB: self._index_all}

    def _index(self, arguments: Mapping[str, Any], progress: ProgressListener) -> dict[str, Any]:
        result = self._parts.indexer.index(
            arguments["knowledge_id"], force=arguments["force"], progress=progress
        )
        answer = asdict(result)
        if result.error is not None:
            raise FailedWithAnswer(
                result.error,
                answer,
                is_transient=result.error_is_transient,
                retry_after_seconds=result.retry_after_seconds,
            )
        return answer

    def _index_all(
        self, arguments: Mapping[str, Any], progress: ProgressListener
    ) -> dict[str, Any]:
        status = arguments["status"]
        wanted = ItemFilter(status=status, statuses_not=() if status else ("archived",))
        index_one = functools.partial(
            self._parts.indexer.index, force=arguments["force"], with_all=True
        )
        return asdict(index_items(self._parts.knowledge.ids(wanted), index_one, progress))
