"""What the lexical index knows of a chunk's title is what SQL knows, whenever that changed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.indexing.documents import PreparedDocument
from app.indexing.index_sources import lexical_source
from app.indexing.publisher import Publisher
from app.knowledge.items import ItemDraft, KnowledgeItem
from app.knowledge.queries import note_index_changes, update_item
from app.protocols import LexicalRecord
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.fakes import FakeEmbedder
from tests.indexing.test_crashes import prepared, store_embeddings


class RememberingLexicalIndex(FakeLexicalIndex):
    """Shows what it was given; `meanwhile` happens while the first records are written."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[str, LexicalRecord] = {}
        self.meanwhile: Callable[[], object] | None = None

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        super().upsert(records)
        self.records |= {record.chunk_id: record for record in records}
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()


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


@pytest.fixture
def item(container: Container, source_root: Path) -> KnowledgeItem:
    return container.knowledge.create(ItemDraft("Savannah", str(source_root), "folder"))


def ready(container: Container, item: KnowledgeItem, **told: str | None) -> list[PreparedDocument]:
    """The documents of the item, embedded; `told`: what else they say of themselves."""
    documents = [
        replace(document, loaded=replace(document.loaded, **told))
        for document in prepared(container, item.id, Path(item.uri))
    ]
    store_embeddings(container, documents, container.embedder)  # type: ignore[arg-type]
    return documents


def titles_in_sql(container: Container) -> dict[str, str]:
    batches = lexical_source(container.database, container.generation)()
    return {record.chunk_id: record.title for batch in batches for record in batch}


def titles_in(words: RememberingLexicalIndex) -> dict[str, str]:
    return {chunk_id: record.title for chunk_id, record in words.records.items()}


def test_a_new_title_of_a_document_reaches_chunks_that_stay_the_same(
    container: Container, source_root: Path, item, publisher, words
):
    page = source_root / "page.md"
    text = "The savannah and the prairies: a chunk that says a title itself is embedded without."
    for title in ("Savannah", "Prairies"):
        page.write_text(f"---\ntitle: {title}\n---\n\n{text}")
        changes = publisher.publish(item.id, ready(container, item)).result()
    assert (changes.added, changes.removed, changes.unchanged) == (0, 0, 1)
    assert titles_in(words) == titles_in_sql(container)
    assert set(titles_in(words).values()) == {"Prairies"}


def test_a_title_that_an_item_gets_while_its_chunks_are_published_is_in_the_index(
    container: Container, source_root: Path, item, publisher, words
):
    (source_root / "page.txt").write_text("A text about elephants.")
    untitled = ready(container, item, title=None)  # as of a web page without one

    def rename() -> None:
        with container.database.write() as session:
            update_item(session, item.id, {"title": "Prairies"})
            note_index_changes(session, item.id)

    words.meanwhile = rename
    publisher.publish(item.id, untitled).result()
    publisher.settled().result()
    assert titles_in(words) == titles_in_sql(container)
    assert set(titles_in(words).values()) == {"Prairies"}
