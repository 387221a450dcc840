"""What an embedding endpoint quotes of a text is told to who asked, and to no log."""

import json
import logging
import threading
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.adapters.embedding.openai_answers import refusal_of
from app.container import Container
from app.errors import EmbeddingError
from app.indexing.results import IndexingResult
from app.knowledge.items import ItemDraft
from app.protocols import Vector, Vectors
from app.settings import Settings
from tests.fakes import FakeEmbedder

PRIVATE = "whether John Smith goes in May"
PATIENCE_SECONDS = 30.0
REFUSED = "models.example refused: HTTP 400"


def refusal(text: str) -> EmbeddingError:
    answer = json.dumps({"error": {"message": f"input rejected: {text!r}"}})
    return refusal_of("models.example", 400, answer.encode(), "")


class RefusingEmbedder(FakeEmbedder):
    """Refuses private texts as an endpoint does that quotes what it refuses."""

    def embed_documents(self, texts: list[str]) -> Vectors:
        for text in texts:
            if PRIVATE in text:
                raise refusal(text)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        if PRIVATE in text:
            raise refusal(text)
        return super().embed_query(text)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return RefusingEmbedder()


def index(container: Container, source_root: Path, text: str) -> IndexingResult:
    path = source_root / "page.md"
    path.write_text(text)
    item = container.knowledge.create(ItemDraft("Page", str(path), "markdown"))
    return container.indexer.index(item.id)


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_a_query_that_is_refused_is_quoted_to_who_asked_alone(
    container: Container,
    client: TestClient,
    source_root: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert index(container, source_root, "John Smith keeps the keys.").success
    asked = {"query": PRIVATE, "mode": "dense"}
    problem = client.post("/api/v1/rag/search", json=asked)
    assert problem.status_code == 503
    assert PRIVATE in problem.json()["detail"]
    answer = client.post("/api/v1/rag/search", json={"query": PRIVATE}).json()
    assert PRIVATE in str(answer["degraded"])
    assert PRIVATE not in caplog.text
    assert REFUSED in caplog.text


def test_a_document_that_is_refused_is_quoted_in_the_error_of_its_item_alone(
    container: Container, source_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = index(container, source_root, f"Nobody knows {PRIVATE}.")
    assert PRIVATE in str(result.error)
    assert PRIVATE not in caplog.text
    assert REFUSED in caplog.text


def test_a_document_that_is_refused_is_quoted_nowhere_once_its_item_is_deleted(
    container: Container, client: TestClient, source_root: Path
) -> None:
    path = source_root / "page.md"
    path.write_text(
        f"---\ntags: *{PRIVATE.rsplit(maxsplit=1)[-1]}Only\n---\nNobody knows {PRIVATE}."
    )
    item = container.knowledge.create(ItemDraft("Page", str(path), "markdown"))
    asked = client.post(f"/api/v1/rag/index/{item.id}").json()
    assert PRIVATE in asked["error"]
    of_all = client.post("/api/v1/rag/index-all").json()
    assert REFUSED in of_all["results"][0]["error"]
    assert PRIVATE in client.get(f"/api/v1/knowledge/{item.id}").json()["error"]
    jobs = client.get("/api/v1/jobs").json()
    assert [job["state"] for job in jobs["items"]] == ["succeeded", "failed"]
    assert client.delete(f"/api/v1/knowledge/{item.id}").status_code == 204
    told = client.get("/api/v1/jobs").text
    assert PRIVATE not in told
    assert "MayOnly" not in told


def test_a_document_that_the_next_model_refuses_is_not_quoted_in_the_log(
    settings: Settings, source_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    former = Container.open(settings, embedder=FakeEmbedder())
    assert index(former, source_root, f"Nobody knows {PRIVATE}.").success
    former.close()
    container = Container.open(
        settings,
        embedder=RefusingEmbedder(dimension=32, model_name="newer"),
        open_model=lambda _: FakeEmbedder(),
    )
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "is tried again" not in caplog.text and time.monotonic() < deadline:
            threading.Event().wait(0.02)
    finally:
        container.close()
    assert f"is tried again in 1.0 s: The embedding endpoint {REFUSED}." in caplog.text
    assert PRIVATE not in caplog.text
