"""Indexing many items: what happens to one is no reason to leave out the others."""

import pytest

from app.errors import ItemStoppedError, NotFoundError, StorageError, WorkStoppedError
from app.indexing.results import IndexingResult
from app.jobs.leases import LeaseLostError
from app.jobs.listening import ServiceStopping
from app.protocols import Progress, SourceNote
from app.rag.bulk import index_items
from app.surviving import WENT_WRONG


@pytest.mark.parametrize("error", [NotFoundError, ItemStoppedError])
def test_an_item_that_is_deleted_meanwhile_does_not_stop_the_others(error):
    def index_one(knowledge_id, *, progress):
        if knowledge_id == 2:
            raise error("The item is gone.")
        return IndexingResult(success=True, knowledge_id=knowledge_id)

    answer = index_items([1, 2, 3], index_one, None)
    assert answer.success
    assert [result.knowledge_id for result in answer.results] == [1, 3]


def test_an_item_that_shows_a_mistake_of_ours_fails_alone(caplog):
    def index_one(knowledge_id, *, progress):
        if knowledge_id == 2:
            raise ValueError("a secret of the inside")
        return IndexingResult(success=True, knowledge_id=knowledge_id)

    answer = index_items([1, 2, 3], index_one, None)
    assert (answer.success, answer.succeeded, answer.failed) == (False, 2, 1)
    assert [result.error for result in answer.results] == [None, WENT_WRONG, None]
    assert "a secret of the inside" in caplog.text


@pytest.mark.parametrize(
    "error", [ItemStoppedError("It is gone."), StorageError("It is full."), ValueError("Oh.")]
)
def test_what_was_done_of_an_item_that_ended_early_stays_in_the_sum(error):
    told: list[int] = []

    def index_one(knowledge_id, *, progress):
        progress(Progress(documents_done=10))
        if knowledge_id == 2:
            raise error
        return IndexingResult(success=True, knowledge_id=knowledge_id)

    index_items([1, 2, 3], index_one, lambda progress: told.append(progress.documents_done))
    assert told == [10, 20, 30]


def test_what_all_items_skipped_is_counted_and_named_in_the_result_alone() -> None:
    told: list[Progress] = []
    note = SourceNote("/srv/a.bin", "not a text document")

    def index_one(knowledge_id, *, progress):
        progress(Progress(documents_skipped=15, skipped=(note,) * 15))
        return IndexingResult(success=True, knowledge_id=knowledge_id)

    index_items([1, 2], index_one, told.append)
    assert [each.documents_skipped for each in told] == [15, 30]
    assert [each.skipped for each in told] == [(), ()]


@pytest.mark.parametrize("end", [ServiceStopping, LeaseLostError])
def test_a_job_that_is_taken_away_stops_before_the_next_item(end):
    asked = []

    def index_one(knowledge_id, *, progress):
        asked.append(knowledge_id)
        raise end

    with pytest.raises(end):
        index_items([1, 2], index_one, None)
    assert asked == [1]


def test_a_cancelled_job_stops_before_the_next_item():
    asked = []

    def index_one(knowledge_id, *, progress):
        asked.append(knowledge_id)
        raise WorkStoppedError("The job was cancelled.")

    with pytest.raises(WorkStoppedError):
        index_items([1, 2], index_one, None)
    assert asked == [1]
