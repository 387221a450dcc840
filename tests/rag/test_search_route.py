"""A search by the short way answers just what it answers by FastAPI's own."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import fastapi.routing
import pytest
from fastapi import APIRouter, Depends
from fastapi.testclient import TestClient

from app.container import Container
from app.main import create_app
from app.rag.search_route import SearchRoute
from app.web.parameters import KNOWN_PARAMETERS_ONLY
from tests.conftest import settings_on_exact
from tests.databases import Databases
from tests.fakes import FakeEmbedder

SEARCH = "/api/v1/rag/search"
JSON = "application/json"
SHORT = {"Content-Type": JSON}
WHOLE = {"Content-Type": f"{JSON}; charset=utf-8"}
"""The same, but not letter by letter: so it goes the whole way."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, databases: Databases) -> Iterator[TestClient]:
    """One service for all tests, which only ask."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "page.md").write_text("# Keys\n\nRotate the keys every week.\n")
    settings = settings_on_exact(folder, folder, databases)
    with closing(Container.open(settings, embedder=FakeEmbedder())) as container:
        client = TestClient(create_app(container=container), raise_server_exceptions=False)
        item = {"title": "Keys", "uri": str(folder / "page.md"), "document_type": "markdown"}
        created = client.post("/api/v1/knowledge", json=item).json()
        assert client.post(f"/api/v1/rag/index/{created['id']}").json()["success"]
        yield client


def without_times(answer: Any) -> Any:
    return {k: v for k, v in answer.items() if k not in {"duration_ms", "timings_ms"}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"query": "rotate keys"}', 200),
        ('{"query": "rotate keys", "n_results": 2, "mode": "lexical", "explain": true}', 200),
        ('{"query": "keys", "category": "a//b"}', 200),
        ("", 422),
        ("{", 422),
        ("[]", 422),
        ("null", 422),
        ('{"query": "keys", "n_result": 5}', 422),
        ('{"query": "keys", "n_results": "5"}', 422),
        ('{"query": "keys", "min_score": NaN}', 422),
        ('{"query": "\\ud800"}', 422),
        ("[" * 100_000, 400),
        ('{"query": "' + "x" * 3_000_000 + '"}', 413),
    ],
)
def test_both_ways_answer_the_same(client: TestClient, body: str, status: int) -> None:
    short, whole = (client.post(SEARCH, content=body, headers=h) for h in (SHORT, WHOLE))
    assert short.status_code == whole.status_code == status
    assert without_times(short.json()) == without_times(whole.json())


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ("q=rotate+keys", 200),
        ("q=rotate%20keys&n=2", 200),
        ("n=2&q=keys", 200),
        ("q=k%C3%A9ys%EF%BF%BD", 200),
        ("q=k%C3%A9ys%FF", 422),
        ("q=keys&%FF=1", 422),
        ("", 422),
        ("q=", 422),
        ("q=%20", 422),
        ("q=keys&n=", 422),
        ("q=keys&n=0", 422),
        ("q=keys&n=101", 422),
        ("q=keys&n=05", 422),
        ("q=keys&n=%2B5", 422),
        ("q=keys&n=5.0", 422),
        ("q=keys&knowledge_ids=1", 200),
        ("q=keys&knowledge_ids=1,01", 422),
        ("q=keys&n=%D9%A5", 422),
        ("q=keys&q=doors", 422),
        ("q=keys&n=5&n=5", 422),
        ("q=keys&n_results=2", 200),
        ("q=keys&n_results=0", 422),
        ("q=keys&n_results=02", 422),
        ("q=keys&n=2&n_results=2", 200),
        ("q=" + "x" * 8001, 422),
    ],
)
def test_both_ways_of_an_address_answer_the_same(
    client: TestClient, parameters: str, status: int
) -> None:
    short, whole = (
        client.get(f"{SEARCH}?{query}") for query in (parameters, f"{parameters}&mode=hybrid")
    )
    assert short.status_code == whole.status_code == status
    short_answer, whole_answer = (without_times(answer.json()) for answer in (short, whole))
    assert short_answer == whole_answer


def test_bytes_that_are_no_text_and_unknown_parameters_are_refused_by_both(
    client: TestClient,
) -> None:
    for path, body in ((SEARCH, b'{"query": "\xff"}'), (f"{SEARCH}?n=5", b'{"query": "keys"}')):
        short, whole = (client.post(path, content=body, headers=h) for h in (SHORT, WHOLE))
        assert short.status_code == whole.status_code
        assert short.status_code in {400, 422}
        assert short.json() == whole.json()


def test_a_sound_search_takes_the_short_way(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the whole way")

    monkeypatch.setattr(fastapi.routing, "solve_dependencies", refuse)
    assert client.post(SEARCH, content='{"query": "keys"}', headers=SHORT).status_code == 200
    assert client.get(f"{SEARCH}?q=keys&n=3").status_code == 200
    assert client.post(SEARCH, content='{"query": "keys"}', headers=WHOLE).status_code == 500
    assert client.get(f"{SEARCH}?q=keys&mode=dense").status_code == 500


def test_a_route_refuses_to_pass_by_what_it_does_not_know() -> None:
    """A check of who asks, say, that is added to every router."""

    def ask_who_it_is() -> None:
        """Nothing here."""

    router = APIRouter(
        route_class=SearchRoute, dependencies=[*KNOWN_PARAMETERS_ONLY, Depends(ask_who_it_is)]
    )
    with pytest.raises(TypeError, match="ask_who_it_is"):
        router.add_api_route("/search", lambda: None, methods=["POST"])
