"""The lexical index knows each chunk in the language that SQL knows, whenever that changed."""

from pathlib import Path

import pytest

from app.container import Container
from app.indexing import outbox_queries
from app.indexing.index_sources import lexical_source
from app.indexing.publisher import Publisher
from app.knowledge.items import ItemDraft, KnowledgeItem
from app.search.collection_settings import CollectionSettings
from tests.indexing.remembering_index import RememberingLexicalIndex
from tests.indexing.test_titles_in_the_index import ready


@pytest.fixture
def collections(container: Container, publisher: Publisher) -> CollectionSettings:
    return CollectionSettings(
        container.database, "knowledge_base", "english", publisher.settle_soon
    )


@pytest.fixture
def item(container: Container, source_root: Path) -> KnowledgeItem:
    (source_root / "page.txt").write_text("Ein Text von Elefanten.")
    return container.knowledge.create(ItemDraft("Savanne", str(source_root), "folder"))


def languages_in(words: RememberingLexicalIndex) -> dict[str, str | None]:
    return {chunk_id: record.language for chunk_id, record in words.records.items()}


def languages_in_sql(container: Container) -> dict[str, str | None]:
    batches = lexical_source(container.database, container.generation)()
    return {record.chunk_id: record.language for batch in batches for record in batch}


def test_a_language_that_is_set_while_chunks_are_published_is_in_the_index(
    container: Container, item, publisher, words, collections
):
    words.meanwhile = lambda: collections.set_language("knowledge_base", "german")
    publisher.publish(item.id, ready(container, item)).result()
    publisher.settled().result()
    assert languages_in(words) == languages_in_sql(container)
    assert set(languages_in(words).values()) == {"german"}


def test_a_new_language_reaches_all_chunks_of_the_collection_and_no_others(
    container: Container, source_root: Path, item, publisher, words, collections
):
    publisher.publish(item.id, ready(container, item)).result()
    (source_root / "page.txt").write_text("Ein anderer Text von Giraffen.")
    other = container.knowledge.create(
        ItemDraft("Steppe", str(source_root), "folder", collection="steppe")
    )
    publisher.publish(other.id, ready(container, other)).result()
    collections.set_language("steppe", "german")
    publisher.settled().result()
    assert languages_in(words) == languages_in_sql(container)
    of_items = {record.item_id: record.language for record in words.records.values()}
    assert of_items == {item.id: None, other.id: "german"}


def test_setting_the_language_that_it_has_writes_nothing_anew(
    container: Container, item, publisher, words, collections
):
    publisher.publish(item.id, ready(container, item)).result()
    collections.set_language("knowledge_base", "german")
    publisher.settled().result()
    words.records.clear()
    collections.set_language("knowledge_base", "german")
    publisher.settled().result()
    assert words.records == {}


def test_naming_the_language_of_the_settings_writes_nothing_anew(
    container: Container, item, publisher, words, collections
):
    publisher.publish(item.id, ready(container, item)).result()
    words.records.clear()
    for language in ("english", None):
        assert collections.set_language("knowledge_base", language).language == language
        assert collections.get("knowledge_base").language == language
        publisher.settled().result()
        assert words.records == {}


def open_changes(container: Container) -> int:
    with container.database.read() as session:
        return outbox_queries.count_open_changes(session)


def test_a_language_that_is_set_again_leaves_no_more_to_settle_than_once(
    container: Container, item, publisher, words
):
    """What an open row names besides is settled as well; one that names nothing has an owner."""
    publisher.publish(item.id, ready(container, item)).result()
    with container.database.write() as session:
        outbox_queries.add_index_change(session, [])
        outbox_queries.add_index_change(session, [*words.records, "gone"])
    collections = CollectionSettings(container.database, "knowledge_base", "english")
    for language in ("german", "french", "german", "french"):
        collections.set_language("knowledge_base", language)
    assert open_changes(container) == 3
    publisher.settled().result()
    assert open_changes(container) == 0
    assert languages_in(words) == languages_in_sql(container)
    assert set(languages_in(words).values()) == {"french"}


def test_a_language_that_is_set_while_another_is_settled_is_in_the_index(
    container: Container, item, publisher, words, collections
):
    publisher.publish(item.id, ready(container, item)).result()
    words.meanwhile = lambda: collections.set_language("knowledge_base", "french")
    collections.set_language("knowledge_base", "german")
    publisher.settled().result()
    assert set(languages_in(words).values()) == {"french"}
