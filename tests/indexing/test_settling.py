"""Settling a long outbox keeps nobody waiting."""

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.indexing import maintenance_queries, queries
from app.indexing.publisher import Publisher
from app.knowledge.items import ItemDraft
from tests.fakes import FakeEmbedder
from tests.indexing.test_titles_in_the_index import RememberingLexicalIndex, ready


@pytest.fixture
def words() -> RememberingLexicalIndex:
    return RememberingLexicalIndex()


@pytest.fixture
def publisher(
    container: Container, embedder: FakeEmbedder, words: RememberingLexicalIndex
) -> Iterator[Publisher]:
    vectors = ExactVectorIndex(embedder.dimension)
    publisher = Publisher(container.database, vectors, words, container.generation)
    publisher.start()
    yield publisher
    publisher.close()


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
            queries.add_index_change(session, chunks)
    handed_in: Future[Future[int]] = Future()

    def open_changes() -> int:
        with container.database.read() as session:
            return maintenance_queries.count_open_changes(session)

    words.meanwhile = lambda: handed_in.set_result(publisher.between_changes(open_changes))
    publisher.settle_soon()
    assert handed_in.result().result() == 2
    publisher.settled().result()
    assert open_changes() == 0
