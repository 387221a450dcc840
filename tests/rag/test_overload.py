"""Too much at once is refused in time: with a 503 that says when to come again."""

import asyncio
import threading
from collections.abc import Iterator

import httpx
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from app.container import Container
from app.main import create_app
from app.protocols import Vector
from app.rag.threads import LONG_QUERY_CHARACTERS
from app.settings import Settings
from tests.fakes import FakeEmbedder
from tests.patience import PATIENCE_SECONDS

MOST_WAITING = 3
SEARCH = "/api/v1/rag/search"


class SlowEmbedder(FakeEmbedder):
    """Embeds queries, or only the long ones, when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.shortest_slow = 0
        self.asked = threading.Semaphore(0)
        self.queries: list[str] = []
        self.gate = threading.Event()

    def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        if len(text) >= self.shortest_slow:
            self.asked.release()
            assert self.gate.wait(PATIENCE_SECONDS)
        return super().embed_query(text)


class _LeavingClient:
    """Sends a request, and hangs up when told: no client that tests have does so by itself."""

    def __init__(
        self, client: TestClient, method: str, path: str, body: bytes, leaves: threading.Event
    ) -> None:
        assert client.portal is not None
        url = httpx.URL(path)
        headers = [(b"host", b"testserver")]
        if body:
            headers += [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
            ]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": url.path,
            "query_string": url.query,
            "headers": headers,
            "client": ("127.0.0.1", 50_000),
            "server": ("testserver", 80),
        }
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        status: list[int] = []

        async def receive() -> Message:
            while not messages:
                if leaves.is_set():
                    return {"type": "http.disconnect"}
                await asyncio.sleep(0.001)
            return messages.pop()

        async def send(message: Message) -> None:
            status.extend([message["status"]] if "status" in message else [])

        async def ask() -> int:
            await client.app(scope, receive, send)
            return status[0]

        self.answer = client.portal.start_task_soon(ask)
        """The status, which a client that has gone does not get."""


def waiting_searches(container: Container) -> int:
    """How many searches wait for a thread."""
    threads = container.rag._threads
    return threads._searching.waiting + threads._searching_long.waiting


@pytest.fixture
def embedder() -> SlowEmbedder:
    return SlowEmbedder()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(
        update={"most_waiting_searches": MOST_WAITING, "most_queued_jobs": 1}
    )


@pytest.fixture
def client(container: Container) -> Iterator[TestClient]:
    with TestClient(create_app(container=container)) as client:
        yield client


def test_searches_that_would_wait_too_long_are_refused_and_the_others_are_answered(
    client: TestClient, container: Container, embedder: SlowEmbedder
) -> None:
    path = container.settings.roots[0] / "a.md"
    path.write_text("The quay is made of granite.")
    body = {"title": "a", "uri": str(path), "document_type": "markdown"}
    item = client.post("/api/v1/knowledge", json=body).json()["id"]
    assert client.post(f"/api/v1/rag/index/{item}").json()["success"]
    at_once = container.searches_at_once
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(client.get(SEARCH, params={"q": "granite"}).status_code)

    clients = [threading.Thread(target=ask) for _ in range(at_once + MOST_WAITING)]
    for thread in clients:
        thread.start()
    for _ in range(at_once):
        assert embedder.asked.acquire(timeout=PATIENCE_SECONDS)
    while waiting_searches(container) < MOST_WAITING:
        assert all(thread.is_alive() for thread in clients)
    for refused in (
        client.get(SEARCH, params={"q": "granite"}),
        client.post(SEARCH, json={"query": "granite"}),
        client.post("/api/v1/rag/context", json={"query": "granite"}),
    ):
        assert refused.status_code == 503
        assert refused.json()["type"] == "urn:groundwork:problem:overloaded"
        assert int(refused.headers["retry-after"]) > 0
    embedder.gate.set()
    for thread in clients:
        thread.join(PATIENCE_SECONDS)
    assert statuses == [200] * (at_once + MOST_WAITING)
    assert client.get(SEARCH, params={"q": "granite"}).status_code == 200


def test_short_queries_are_answered_beside_any_number_of_long_ones(
    client: TestClient, container: Container, embedder: SlowEmbedder
) -> None:
    embedder.shortest_slow = LONG_QUERY_CHARACTERS + 1
    path = "/api/v1/rag/context"
    long = {"query": "granite " * 1000}
    answers: list[int] = []

    def ask() -> None:
        answers.append(client.post(path, json=long).status_code)

    clients = [threading.Thread(target=ask) for _ in range(container.searches_at_once + 1)]
    for thread in clients:
        thread.start()
    assert embedder.asked.acquire(timeout=PATIENCE_SECONDS)
    while waiting_searches(container) < 1:
        assert all(thread.is_alive() for thread in clients)
    assert client.get(SEARCH, params={"q": "granite"}).status_code == 200
    assert client.post(path, json={"query": "g" * LONG_QUERY_CHARACTERS}).status_code == 200
    assert not answers
    embedder.gate.set()
    for thread in clients:
        thread.join(PATIENCE_SECONDS)
    assert answers == [200] * len(clients)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"{SEARCH}?q=marble", b""),
        ("GET", f"{SEARCH}?q=marble&mode=dense", b""),
        ("POST", SEARCH, b'{"query": "marble"}'),
        ("POST", "/api/v1/rag/context", b'{"query": "marble"}'),
    ],
)
def test_a_search_that_waits_is_not_made_once_its_client_has_gone(
    client: TestClient,
    container: Container,
    embedder: SlowEmbedder,
    method: str,
    path: str,
    body: bytes,
) -> None:
    at_once = container.searches_at_once
    programs = [
        threading.Thread(target=lambda: asyncio.run(container.rag.search("granite")))
        for _ in range(at_once)
    ]
    for program in programs:
        program.start()
    for _ in range(at_once):
        assert embedder.asked.acquire(timeout=PATIENCE_SECONDS)
    leaves = threading.Event()
    waiter = _LeavingClient(client, method, path, body, leaves)
    while waiting_searches(container) < 1:
        assert not waiter.answer.done()
    leaves.set()
    assert waiter.answer.result(PATIENCE_SECONDS) == 499
    assert waiting_searches(container) == 0
    embedder.gate.set()
    for program in programs:
        program.join(PATIENCE_SECONDS)
    assert client.get(SEARCH, params={"q": "granite"}).status_code == 200
    assert "marble" not in embedder.queries


def test_programs_that_search_on_event_loops_of_their_own_are_all_answered(
    container: Container, embedder: SlowEmbedder
) -> None:
    at_once = container.searches_at_once
    answers: list[object] = []

    def ask() -> None:
        answers.append(asyncio.run(container.rag.search("granite")))

    programs = [threading.Thread(target=ask, daemon=True) for _ in range(at_once + MOST_WAITING)]
    for program in programs:
        program.start()
    while waiting_searches(container) < MOST_WAITING:
        assert all(program.is_alive() for program in programs)
    embedder.gate.set()
    for program in programs:
        program.join(PATIENCE_SECONDS)
    assert answers == [[]] * (at_once + MOST_WAITING)


def test_a_full_queue_refuses_work_whether_it_is_waited_for_or_not(
    client: TestClient, container: Container
) -> None:
    container._work._worker.close()  # so that nothing leaves the queue
    body = {"title": "a", "uri": "/a.md", "document_type": "markdown"}
    first, second = (client.post("/api/v1/knowledge", json=body).json()["id"] for _ in range(2))
    assert client.post(f"/api/v1/rag/index/{first}?wait=false").status_code == 202
    for path in (f"index/{second}?wait=false", f"index/{second}", "index-all", "index-all?wait=0"):
        refused = client.post(f"/api/v1/rag/{path}")
        assert (refused.status_code, refused.json()["title"]) == (503, "Too much at once")
        assert int(refused.headers["retry-after"]) > 0
    assert client.post(f"/api/v1/rag/index/{first}?wait=false").status_code == 202
    assert container.jobs.count_waiting() == 1
