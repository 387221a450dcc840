"""Short ways to say what the tests of indexing do again and again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.indexing.publisher import Publisher
from app.indexing.results import IndexingResult
from app.knowledge.items import ItemDraft, KnowledgeItem
from app.search.requests import SearchRequest
from tests.fakes import FakeEmbedder
from tests.indexing.remembering_index import RememberingLexicalIndex

AddItem = Callable[..., KnowledgeItem]
Index = Callable[..., IndexingResult]
Found = Callable[[str], list[str]]


@pytest.fixture
def add_item(container: Container) -> AddItem:
    """Adds an item for a path."""

    def add(path: Path, document_type: str = "folder", **fields: object) -> KnowledgeItem:
        draft = ItemDraft(
            title=path.name,
            uri=str(path),
            document_type=document_type,
            **fields,  # type: ignore[arg-type]
        )
        return container.knowledge.create(draft)

    return add


@pytest.fixture
def index(container: Container) -> Index:
    """Indexes an item."""

    def run(item: KnowledgeItem, **options: bool) -> IndexingResult:
        return container.indexer.index(item.id, **options)

    return run


@pytest.fixture
def found(container: Container) -> Found:
    """The texts that a search finds."""

    def search(query: str) -> list[str]:
        answer = container.searcher.search(SearchRequest(query, n_results=100))
        return [result.content for result in answer.results]

    return search


@pytest.fixture
def words() -> RememberingLexicalIndex:
    """The lexical index of `publisher`."""
    return RememberingLexicalIndex()


@pytest.fixture
def publisher(
    container: Container, embedder: FakeEmbedder, words: RememberingLexicalIndex
) -> Iterator[Publisher]:
    """One beside the container's own, with indexes that can be looked into."""
    vectors = ExactVectorIndex(embedder.dimension)
    publisher = Publisher(container.database, vectors, words, container.generation)
    publisher.start()
    yield publisher
    publisher.close()
