"""Settling a long outbox keeps nobody waiting."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
from sqlalchemy import select, text

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.errors import LexicalIndexError, StoppingError
from app.indexing import item_queries, outbox_queries, queries
from app.indexing import publisher as publisher_module
from app.indexing.open_changes import OpenChanges
from app.indexing.publisher import SETTLED_AT_START, Publisher
from app.knowledge.index_changes import CHANGE_BATCH
from app.knowledge.items import ItemDraft
from app.models import IndexChangeRow
from app.protocols import LexicalRecord, VectorRecord
from tests.databases import sqlite_only
from tests.fakes import FakeEmbedder
from tests.indexing.remembering_index import RememberingLexicalIndex
from tests.indexing.test_titles_in_the_index import ready
from tests.knowledge.conftest import add_chunks
from tests.patience import PATIENCE_SECONDS


class NotingLexicalIndex(RememberingLexicalIndex):
    """Notes which threads write to it."""

    def __init__(self) -> None:
        super().__init__()
        self.writers: list[str] = []
        self.fails_once = threading.Event()
        """Set: the next removal fails."""
        self.error: Exception = LexicalIndexError("The disk is full.")
        self.has_removed = threading.Event()

    def remove(self, chunk_ids: Sequence[str]) -> None:
        if self.fails_once.is_set():
            self.fails_once.clear()
            raise self.error
        super().remove(chunk_ids)
        self.has_removed.set()

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        self.writers.append(threading.current_thread().name)
        super().upsert(records)


@pytest.fixture
def words() -> NotingLexicalIndex:
    return NotingLexicalIndex()


def test_others_need_not_wait_until_every_row_of_the_outbox_is_settled(
    container: Container, source_root: Path, publisher, words
):
    """Each row of the outbox is a task of its own: what is handed in meanwhile comes between."""
    (source_root / "page.txt").write_text("A text about elephants.")
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))
    publisher.publish(item.id, ready(container, item)).result()
    chunks = list(words.records)
    with container.database.write() as session:
        for _ in range(3):
            outbox_queries.add_index_change(session, chunks)
    handed_in: Future[Future[int]] = Future()

    def open_changes() -> int:
        with container.database.read() as session:
            return outbox_queries.count_open_changes(session)

    words.meanwhile = lambda: handed_in.set_result(publisher.between_changes(open_changes))
    publisher.settle_soon()
    assert handed_in.result().result() == 2
    publisher.settled().result()
    assert open_changes() == 0


def test_a_start_waits_for_a_few_rows_of_the_outbox_and_leaves_many_to_the_writer(
    container: Container, source_root: Path, embedder: FakeEmbedder, publisher, words
):
    (source_root / "page.txt").write_text("A text about elephants.")
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))
    publisher.publish(item.id, ready(container, item)).result()
    publisher.close()
    with container.database.write() as session:
        for _ in range(SETTLED_AT_START + 3):
            outbox_queries.add_index_change(session, list(words.records))
    words.writers.clear()
    vectors = ExactVectorIndex(embedder.dimension)
    again = Publisher(container.database, vectors, words, container.generation)
    again.start()
    again.settled().result()
    again.close()
    here = threading.current_thread().name
    assert Counter(words.writers) == {here: SETTLED_AT_START, "publisher": 3}


@pytest.mark.parametrize("ends", ["a new version", "a removal"])
def test_what_could_not_be_settled_at_once_is_settled_when_there_is_time(
    container: Container, source_root: Path, publisher, words, ends: str
):
    """No restart is needed, and nobody who changes anything else."""
    (source_root / "page.txt").write_text("A text about elephants.")
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))
    publisher.publish(item.id, ready(container, item)).result()
    words.fails_once.set()
    if ends == "a removal":
        with container.database.read() as session:
            documents = queries.known_documents(session, item.id, container.generation.id)
        done = publisher.withdraw(list(documents.values()))
    else:
        (source_root / "page.txt").write_text("A text about lions.")
        done = publisher.publish(item.id, ready(container, item))
    with pytest.raises(LexicalIndexError):
        done.result()
    publisher.between_changes(lambda: None).result()  # comes after what was put off
    with container.database.read() as session:
        assert outbox_queries.count_open_changes(session) == 0
    expected = [] if ends == "a removal" else ["A text about lions."]
    assert [words.records[key].content for key in words.chunk_ids()] == expected


def test_what_a_failed_publication_left_in_an_index_is_taken_out_when_there_is_time(
    container: Container, source_root: Path, publisher, words
):
    (source_root / "page.txt").write_text("A text about elephants.")
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))

    def fail() -> None:
        raise LexicalIndexError("The disk is full.")

    words.meanwhile = fail
    with pytest.raises(LexicalIndexError):
        publisher.publish(item.id, ready(container, item)).result()
    assert words.records, "it failed once they were written"
    publisher.between_changes(lambda: None).result()  # comes after what was put off
    assert words.chunk_ids() == set()
    with container.database.read() as session:
        assert outbox_queries.count_open_changes(session) == 0


def test_a_stop_ends_a_publication_between_two_batches_and_nothing_of_it_stays(
    container: Container,
    source_root: Path,
    embedder: FakeEmbedder,
    words,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(publisher_module, "UPSERTED_AT_ONCE", 1)
    for animal in ("elephants", "lions"):
        (source_root / f"{animal}.txt").write_text(f"A text about {animal}.")
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))

    class StoppingIndex(ExactVectorIndex):
        """The service stops while it is written to."""

        def upsert(self, records: Sequence[VectorRecord]) -> None:
            super().upsert(records)
            if records:  # nothing is put in when the batch is taken out again
                batches.append(len(records))
            stopped.stop()

    batches: list[int] = []
    vectors = StoppingIndex(embedder.dimension)
    stopped = Publisher(container.database, vectors, words, container.generation)
    stopped.start()
    with pytest.raises(StoppingError):
        stopped.publish(item.id, ready(container, item)).result()
    assert batches == [1], "one of two"
    stopped.close()
    again = Publisher(container.database, vectors, words, container.generation)
    again.start()
    again.close()
    with container.database.read() as session:
        assert outbox_queries.count_open_changes(session) == 0
        assert queries.known_documents(session, item.id, container.generation.id) == {}
    assert vectors.count() == 0
    assert words.chunk_ids() == set()


@pytest.mark.parametrize("error", [LexicalIndexError("The disk is full."), ValueError("Oh.")])
def test_what_fails_when_there_is_time_is_tried_again_by_itself(
    container: Container, embedder: FakeEmbedder, words, error: Exception
):
    vectors = ExactVectorIndex(embedder.dimension)
    publisher = Publisher(
        container.database, vectors, words, container.generation, retry_seconds=0.01
    )
    publisher.start()
    words.error = error
    words.fails_once.set()
    with container.database.write() as session:
        outbox_queries.add_index_change(session, ["gone"])
    publisher.settle_soon()
    assert words.has_removed.wait(PATIENCE_SECONDS)
    publisher.close()
    assert not words.fails_once.is_set()
    with container.database.read() as session:
        assert outbox_queries.count_open_changes(session) == 0


def test_new_documents_leave_nothing_to_settle(
    container: Container, source_root: Path, publisher, words
):
    """Both indexes hold them before SQL does: nobody touches an index, or commits, after that."""
    (source_root / "page.txt").write_text("A text about elephants.")
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))
    words.fails_once.set()
    assert publisher.publish(item.id, ready(container, item)).result().added == 1
    assert words.fails_once.is_set(), "nothing was taken out"
    with container.database.read() as session:
        assert outbox_queries.count_open_changes(session) == 0


def test_a_large_item_that_is_taken_out_is_settled_some_chunks_at_a_time(
    container: Container, source_root: Path
):
    """Others come between, and a start need not wait for all of them."""
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))
    with container.database.write() as session:
        chunks = add_chunks(session, item.id, 2 * CHANGE_BATCH + 1)
    with container.database.write() as session:
        item_queries.clear_item(session, item.id)
        rows = list(session.scalars(select(IndexChangeRow.chunk_ids)))
    assert sorted(map(len, rows)) == [1, CHANGE_BATCH, CHANGE_BATCH]
    assert chunks == {chunk_id for row in rows for chunk_id in row}


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param("'[\"ab'", marks=sqlite_only, id="cut short"),
        pytest.param("''", marks=sqlite_only, id="empty"),
        pytest.param("CAST(x'5bff5d' AS TEXT)", marks=sqlite_only, id="no text"),
        pytest.param("'7'", id="a number"),
        pytest.param("'[7]'", id="numbers"),
    ],
)
def test_a_damaged_row_of_the_outbox_is_dropped_and_what_is_behind_it_settled(
    container: Container, source_root: Path, caplog: pytest.LogCaptureFixture, stored: str
) -> None:
    """What it stood for is found when the indexes are compared."""
    for animal in ("elephants", "lions"):
        (source_root / f"{animal}.txt").write_text(f"A text about {animal}.")
    item = container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))
    container.indexer.index(item.id)
    lost, known = sorted(container.lexical_index.chunk_ids())
    container.lexical_index.remove([lost, known])
    with container.database.write() as session:
        outbox_queries.add_index_change(session, [lost])
        session.execute(text(f"UPDATE index_changes SET chunk_ids = {stored}"))  # noqa: S608
        outbox_queries.add_index_change(session, [known])
    with container.database.read() as session:
        assert OpenChanges().among(session, [lost, known]) == {known}
    container.publisher.settled().result()
    with container.database.read() as session:
        assert outbox_queries.count_open_changes(session) == 0
    assert "of the outbox is damaged and is dropped" in caplog.text
    assert container.lexical_index.chunk_ids() == {known}
    (drift,) = container.parts.caretaker.walk(mend=True).drift
    assert (drift.chunk_id, drift.mended) == (lost, True)
    assert container.lexical_index.chunk_ids() == {lost, known}
