"""What the lexical index knows of a chunk's title is what SQL knows, whenever that changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.container import Container
from app.indexing.documents import PreparedDocument
from app.indexing.index_sources import lexical_source
from app.knowledge.index_changes import note_index_changes
from app.knowledge.items import ItemDraft, KnowledgeItem
from app.knowledge.queries import update_item
from app.search.requests import SearchRequest
from tests.indexing.remembering_index import RememberingLexicalIndex
from tests.indexing.test_crashes import prepared, store_embeddings


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


def titles_in_sql(container: Container) -> dict[str, tuple[str, ...]]:
    batches = lexical_source(container.database, container.generation)()
    return {record.chunk_id: record.titles for batch in batches for record in batch}


def titles_in(words: RememberingLexicalIndex) -> dict[str, tuple[str, ...]]:
    return {chunk_id: record.titles for chunk_id, record in words.records.items()}


def test_a_new_title_of_a_document_reaches_chunks_that_stay_the_same(
    container: Container, source_root: Path, item, publisher, words
):
    page = source_root / "page.md"
    text = "The savannah and the prairies: a chunk that says a title itself is embedded without."
    for title in ("Savannah", "Prairies"):
        page.write_text(f"---\ntitle: {title}\n---\n\n{text}")
        changes = publisher.publish(item.id, ready(container, item)).result()
    assert (changes.added, changes.removed) == (0, 0)
    assert titles_in(words) == titles_in_sql(container)
    assert set(titles_in(words).values()) == {("Prairies",)}


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
    assert set(titles_in(words).values()) == {("Prairies",)}


def found_by_words(container: Container, query: str) -> int:
    return len(container.searcher.search(SearchRequest(query, mode="lexical")).results)


def test_the_only_document_of_an_item_is_found_by_the_title_that_the_item_was_given(
    container: Container, source_root: Path, index
):
    (source_root / "r2.md").write_text("A text about elephants.")
    item = container.knowledge.create(
        ItemDraft("Quokka handbook", str(source_root / "r2.md"), "markdown")
    )
    index(item)
    for said in ("quokka", '"quokka handbook"', "r2"):
        assert found_by_words(container, said) == 1
    assert found_by_words(container, '"r2 quokka"') == 0, "two titles are not one phrase"
    container.knowledge.update(item.id, {"title": "Wombat handbook"})
    assert container.maintenance.verify().clean
    assert found_by_words(container, "quokka") == 0
    assert found_by_words(container, "wombat") == 1


def test_a_title_of_an_item_with_other_capitals_names_the_beginning_of_its_document_alone(
    container: Container, source_root: Path, index
):
    sections = "".join(
        f"## Part {n}\n\n{'The quokka handbook says so. ' * 9}\n\n" for n in range(5)
    )
    text = f"# Quokka Handbook\n\nOf small marsupials, and where they live.\n\n{sections}"
    (source_root / "r2.md").write_text(text)
    index(
        container.knowledge.create(
            ItemDraft("Quokka handbook", str(source_root / "r2.md"), "markdown")
        )
    )
    request = SearchRequest("quokka handbook", mode="lexical")
    assert container.searcher.search(request).results[0].heading_path == ("Quokka Handbook",)


def test_the_title_of_a_folder_says_nothing_of_one_of_its_documents(
    container: Container, source_root: Path, item, index
):
    (source_root / "r2.md").write_text("A text about elephants.")
    index(item)
    assert found_by_words(container, "savannah") == 0
