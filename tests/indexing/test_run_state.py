"""What a run has stored is counted, whatever else of it failed."""

from concurrent.futures import Future
from pathlib import Path

import pytest

from app.container import Container
from app.errors import LexicalIndexError, WorkStoppedError
from app.indexing.claims import StopSignal
from app.indexing.results import Changes
from app.indexing.run_state import IndexingRunState
from app.knowledge.items import ItemDraft


@pytest.fixture
def run(container: Container, source_root: Path) -> IndexingRunState:
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))
    return IndexingRunState(item, StopSignal(), None)


def stored(added: int) -> "Future[Changes]":
    future: Future[Changes] = Future()
    future.set_result(Changes(added=added))
    return future


def failed() -> "Future[Changes]":
    future: Future[Changes] = Future()
    future.set_exception(LexicalIndexError("The disk is full."))
    return future


def test_at_the_end_of_a_run_all_is_counted_that_was_stored(run: IndexingRunState):
    for future in (stored(1), failed(), failed(), stored(2), failed()):
        run.publishing.append((future, []))
    run.count_what_was_stored()
    assert (run.changes.added, list(run.publishing)) == (3, [])


def test_what_could_not_be_stored_ends_the_run_at_its_next_report(run: IndexingRunState):
    run.publishing.extend([(stored(1), []), (failed(), []), (stored(2), [])])
    with pytest.raises(LexicalIndexError):
        run.report()
    run.count_what_was_stored()
    assert run.changes.added == 3


def test_a_run_that_was_given_up_ends_before_its_next_batch(run: IndexingRunState):
    run.check()
    run.give_up()
    with pytest.raises(WorkStoppedError):
        run.check()
