"""The language of a collection over HTTP: what it says, and what is found for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.container import Container
from app.main import create_app
from app.models import IndexChangeRow
from app.settings import Settings
from tests.fakes import FakeEmbedder
from tests.web.problem_checks import assert_problem

API = "/api/v1"
COLLECTIONS = f"{API}/rag/collections"
GERMAN = f"{COLLECTIONS}/handbuch/language"
DEFAULT = f"{COLLECTIONS}/knowledge_base/language"

AddItem = Callable[..., int]


@pytest.fixture
def add_item(client: TestClient, source_root: Path) -> AddItem:
    def add(name: str, text: str, **fields: Any) -> int:
        (source_root / name).write_text(text + "\n")
        body = {"title": name, "uri": str(source_root / name), "document_type": "markdown"}
        item = int(client.post(f"{API}/knowledge", json=body | fields).json()["id"])
        assert client.post(f"{API}/rag/index/{item}").json()["success"]
        return item

    return add


@pytest.fixture
def library(client: TestClient, add_item: AddItem) -> TestClient:
    add_item("haus.md", "Am Meer steht ein altes Haus.", collection="handbuch")
    add_item("house.md", "He runs to the houses by the sea.")
    return client


def found(client: TestClient, query: str, **body: Any) -> list[str]:
    """Titles, once the indexes have caught up."""
    app: Any = client.app
    app.state.container.publisher.settled().result()
    asked = {"query": query, "mode": "lexical"} | body
    response = client.post(f"{API}/rag/search", json=asked)
    assert response.status_code == 200, response.text
    return sorted(result["title"] for result in response.json()["results"])


def test_words_of_a_collection_are_found_by_their_stems_in_its_language(
    library: TestClient, embedder: FakeEmbedder
) -> None:
    assert library.get(GERMAN).json() == {"language": None}
    assert found(library, "Häuser") == []
    texts = len(embedder.embedded_texts)
    assert library.put(GERMAN, json={"language": "german"}).json() == {"language": "german"}
    assert library.get(GERMAN).json() == {"language": "german"}
    assert found(library, "Häuser") == found(library, "ältere Häuser", collection="handbuch")
    assert found(library, "Häuser") == ["haus.md"]
    assert found(library, "running") == ["house.md"]
    assert found(library, "Häuser running") == ["haus.md", "house.md"]
    assert found(library, '"altes Haus"') == ["haus.md"]
    assert library.put(GERMAN, json={}).json() == {"language": None}
    assert found(library, "Häuser") == []
    assert len(embedder.embedded_texts) == texts  # nothing was embedded again


def test_highlights_are_made_in_the_language_of_each_hit(library: TestClient) -> None:
    library.put(GERMAN, json={"language": "german"})
    assert found(library, "Häuser house running") == ["haus.md", "house.md"]
    body = {"query": "Häuser house running", "mode": "lexical"}
    results = library.post(f"{API}/rag/search", json=body).json()["results"]
    words = {
        result["title"]: [mark["text"] for mark in result["highlights"] if mark["kind"] == "word"]
        for result in results
    }
    assert words == {"haus.md": ["Haus"], "house.md": ["runs", "houses"]}


def test_an_item_that_changes_its_collection_changes_its_language(
    library: TestClient, add_item: AddItem
) -> None:
    library.put(GERMAN, json={"language": "german"})
    item = add_item("hund.md", "Der Hund bellt.")
    assert found(library, "Hunden") == []
    library.patch(f"{API}/knowledge/{item}", json={"collection": "handbuch"})
    assert found(library, "Hunden") == ["hund.md"]
    library.patch(f"{API}/knowledge/{item}", json={"collection": "knowledge_base"})
    assert found(library, "Hunden") == []


def test_what_is_indexed_later_is_in_the_language_of_its_collection(
    library: TestClient, add_item: AddItem
) -> None:
    library.put(GERMAN, json={"language": "german"})
    add_item("hund.md", "Der Hund bellt.", collection="handbuch")
    assert found(library, "Hunden") == ["hund.md"]
    library.put(DEFAULT, json={"language": "swedish"})
    add_item("flickor.md", "Flickorna springer.")
    assert found(library, "flicka") == ["flickor.md"]


def test_a_language_survives_a_restart_and_a_rebuild(
    library: TestClient, container: Container, open_container: Callable[[], Container]
) -> None:
    library.put(GERMAN, json={"language": "german"})
    container.close()
    again = open_container()
    with TestClient(create_app(container=again)) as client:
        assert client.get(GERMAN).json() == {"language": "german"}
        assert found(client, "Häuser") == ["haus.md"]
        again.rebuild()
        assert found(client, "Häuser") == ["haus.md"]
        assert again.verify().clean
        assert again.lexical_index.in_other_language(languages_in_sql(again)) == set()


def test_the_next_generation_knows_the_languages_too(
    library: TestClient, container: Container, settings: Settings, embedder: FakeEmbedder
) -> None:
    library.put(GERMAN, json={"language": "german"})
    container.close()
    cut_otherwise = settings.model_copy(update={"chunk_size": 300})
    again = Container.open(cut_otherwise, embedder=embedder)
    with TestClient(create_app(container=again)) as client:
        assert again.wait_for_renewal(60)
        assert found(client, "Häuser") == ["haus.md"]
        assert again.lexical_index.in_other_language(languages_in_sql(again)) == set()
    again.close()


def languages_in_sql(container: Container) -> dict[str, str | None]:
    source = container.parts.indexes.lexical._source
    return {record.chunk_id: record.language for batch in source() for record in batch}


def test_a_process_that_dies_after_the_answer_leaves_the_rest_to_the_next(
    library: TestClient, container: Container, open_container: Callable[[], Container]
) -> None:
    """The writer never gets to it: what is to be done stands in the database."""
    container.publisher.between_changes(container.publisher.stop).result()
    container.publisher.close()
    library.put(GERMAN, json={"language": "german"})
    with container.database.read() as session:
        assert session.scalars(select(IndexChangeRow)).all()
    container.close()
    with TestClient(create_app(container=open_container())) as client:
        assert found(client, "Häuser") == ["haus.md"]


# What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["klingon", "German", "", 7, ["german"]])
def test_a_language_without_a_stemmer_is_refused_and_changes_nothing(
    library: TestClient, language: Any
) -> None:
    library.put(GERMAN, json={"language": "german"})
    response = library.put(GERMAN, json={"language": language})
    assert_problem(response, 422, "invalid-request", "#/language")
    if isinstance(language, str):
        assert "swedish" in response.json()["errors"][0]["detail"]
    assert_problem(library.put(GERMAN, json={"lang": "x"}), 422, "invalid-request", "#/lang")
    assert library.get(GERMAN).json() == {"language": "german"}


def test_the_description_names_every_language(
    client: TestClient, description: dict[str, Any]
) -> None:
    schemas = description["components"]["schemas"]
    named = schemas["CollectionLanguage"]["properties"]["language"]["anyOf"][0]["enum"]
    for language in named:
        assert client.put(DEFAULT, json={"language": language}).status_code == 200, language


def test_a_collection_that_no_item_names_is_not_found(client: TestClient) -> None:
    missing = f"{COLLECTIONS}/nobody/language"
    assert_problem(client.get(missing), 404, "not-found")
    assert_problem(client.put(missing, json={"language": "german"}), 404, "not-found")
    assert client.get(DEFAULT).json() == {"language": None}  # the default one is always there


def test_a_language_can_be_seen_and_taken_back_when_the_last_item_has_gone(
    library: TestClient, add_item: AddItem
) -> None:
    item = add_item("x.md", "Ein Text.", collection="kurz")
    address = f"{COLLECTIONS}/kurz/language"
    library.put(address, json={"language": "german"})
    library.delete(f"{API}/knowledge/{item}")
    listed = {one["name"]: one for one in library.get(COLLECTIONS).json()}
    assert (listed["kurz"]["language"], listed["kurz"]["items"]) == ("german", 0)
    assert listed["knowledge_base"]["language"] is None
    assert library.put(address, json={"language": None}).json() == {"language": None}
    assert library.get(address).status_code == 404
