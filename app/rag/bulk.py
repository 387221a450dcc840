"""Indexes items one after another, and sums up the results."""

import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Protocol

from app.errors import AppError, ItemStoppedError, NotFoundError, StorageError, VectorIndexError
from app.indexing.results import BulkIndexingResult, IndexingResult
from app.jobs.listening import TAKEN_AWAY
from app.protocols import Progress, ProgressListener
from app.surviving import WENT_WRONG, survive


class IndexOne(Protocol):
    """Indexes one item by its id."""

    def __call__(self, knowledge_id: int, *, progress: ProgressListener | None) -> IndexingResult:
        """Index it; raises NotFoundError, ItemStoppedError, WorkStoppedError."""
        ...


class _Total:
    """Reports the progress of the current item on top of that of the items before it.

    What those skipped is counted, but not named: the job keeps this when an item has gone.
    """

    def __init__(self, listener: ProgressListener) -> None:
        self._listener = listener
        self._before = Progress()
        self._current = Progress()

    def __call__(self, progress: Progress) -> None:
        self._current = progress
        self._listener(_sum(self._before, progress))

    def next_item(self) -> None:
        self._before = _sum(self._before, self._current)
        self._current = Progress()


def _sum(left: Progress, right: Progress) -> Progress:
    sums = {f.name: getattr(left, f.name) + getattr(right, f.name) for f in fields(Progress)}
    return Progress(**{**sums, "skipped": ()})


def index_items(
    item_ids: Sequence[int], index_one: IndexOne, listener: ProgressListener | None
) -> BulkIndexingResult:
    """Index every item; if one fails, the others are indexed all the same."""
    started = time.perf_counter()
    total = _Total(listener) if listener else None
    results: list[IndexingResult] = []
    for item_id in item_ids:
        result = _result_of(item_id, index_one, total)
        if result is not None:
            results.append(result)
        if total:
            total.next_item()
    succeeded = sum(result.success for result in results)
    return BulkIndexingResult(
        success=succeeded == len(results),
        total=len(results),
        succeeded=succeeded,
        failed=len(results) - succeeded,
        chunks_indexed=sum(result.chunks_indexed for result in results),
        duration_ms=round((time.perf_counter() - started) * 1000, 1),
        results=tuple(results),
    )


def _result_of(
    item_id: int, index_one: IndexOne, progress: ProgressListener | None
) -> IndexingResult | None:
    """None: it was deleted, or taken out of the index, since the list was made."""
    try:
        result = survive(
            lambda: index_one(item_id, progress=progress),
            f"Item {item_id} was not indexed, for an unexpected error",
            (AppError, *TAKEN_AWAY),
        )
    except (StorageError, VectorIndexError) as error:
        return IndexingResult(
            success=False,
            knowledge_id=item_id,
            error=error.detail,
            error_is_transient=error.is_transient,
        )
    except (NotFoundError, ItemStoppedError):
        return None
    if result is None:
        return IndexingResult(success=False, knowledge_id=item_id, error=WENT_WRONG)
    # The job outlives the item, so it keeps the error without what that quotes of a text.
    return replace(result, error=result.unquoted_error or result.error)
