"""Turns a job that has ended into the answer, or the error, for those who waited for it."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import AppError, InvalidRequestError, ItemStoppedError, WorkStoppedError
from app.indexing.results import BulkIndexingResult, IndexingResult
from app.jobs.records import Job, Outcome
from app.protocols import SourceNote


def indexing_answer(job: Job | Outcome) -> IndexingResult:
    """How indexing one item ended; raises the AppError with which it failed."""
    return _indexing_result(_answer(job))


def bulk_answer(job: Job | Outcome) -> BulkIndexingResult:
    """How indexing several items ended; raises the AppError with which it failed."""
    answer = dict(_answer(job))
    results = tuple(_indexing_result(result) for result in answer.pop("results"))
    return BulkIndexingResult(**answer, results=results)


def _indexing_result(answer: Mapping[str, Any]) -> IndexingResult:
    notes = {
        name: tuple(SourceNote(**note) for note in answer[name]) for name in ("skipped", "warnings")
    }
    return IndexingResult(**{**answer, **notes})


def _answer(job: Job | Outcome) -> Mapping[str, Any]:
    if job.state == "cancelled":
        raise WorkStoppedError(job.error or "The job was cancelled.")
    if job.result is None and job.state == "succeeded" and job.error is None:
        raise ItemStoppedError("The item was taken out of the index as soon as it was indexed.")
    if job.result is None:
        raise _error(job.problem, job.error or AppError.title)
    return job.result


def _error(slug: str | None, detail: str) -> AppError:
    """The error with which a job failed, from what it stored of it."""
    for kind in _kinds(AppError):
        if kind.slug == slug:
            return kind(detail)
    return AppError(detail)


def _kinds(kind: type[AppError]) -> Iterator[type[AppError]]:
    """The class and its subclasses, without those that take more than a detail."""
    if not issubclass(kind, InvalidRequestError):
        yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)
