"""Indexing many items: what happens to one is no reason to leave out the others."""

import pytest

from app.errors import ItemStoppedError, NotFoundError, WorkStoppedError
from app.indexing.results import IndexingResult
from app.rag.bulk import index_items


@pytest.mark.parametrize("error", [NotFoundError, ItemStoppedError])
def test_an_item_that_is_deleted_meanwhile_does_not_stop_the_others(error):
    def index_one(knowledge_id, *, progress):
        if knowledge_id == 2:
            raise error("The item is gone.")
        return IndexingResult(success=True, knowledge_id=knowledge_id)

    answer = index_items([1, 2, 3], index_one, None)
    assert answer.success
    assert [result.knowledge_id for result in answer.results] == [1, 3]


def test_a_cancelled_job_stops_before_the_next_item():
    asked = []

    def index_one(knowledge_id, *, progress):
        asked.append(knowledge_id)
        raise WorkStoppedError("The job was cancelled.")

    with pytest.raises(WorkStoppedError):
        index_items([1, 2], index_one, None)
    assert asked == [1]
