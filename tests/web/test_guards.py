"""Who may call the service, from which pages, and with how large a body."""

import json
import logging
from collections.abc import AsyncIterator, Iterator

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from app.settings import Settings
from app.web.middleware import BodyLimit
from tests.databases import Databases
from tests.light_service import LightService, http_client, light_service
from tests.web.problem_checks import assert_problem

PAGE = "https://app.example.com"
ITEMS = "/api/v1/knowledge"
GOOD = {"title": "Guide", "uri": "/srv/docs", "document_type": "markdown"}
MOST_BYTES = 2000


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(
        update={
            "allowed_hosts": ["docs.Example.com"],
            "cors_allow_origins": [PAGE],
            "max_request_bytes": MOST_BYTES,
        }
    )


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LocalHost",
        "localhost.",
        "groundwork:80",
        "my_host",
        "127.0.0.1",
        "10.1.2.3:8000",
        "[::1]",
        "[::1]:8000",
        "[fe80::1%eth0]:8000",
        "docs.example.com",
        "DOCS.example.com:8443",
        "",
    ],
)
def test_names_that_no_stranger_can_point_here_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/health/live", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "docs.example.com.evil.example",
        "xdocs.example.com",
        "localhost.evil.example.",
        "1.2.3",
        "[evil.example]",
        "[",
        "]",
        "a b",
        "a/b",
        "a@b",
        "localhost:8000/x?",
        "localhost:x",
        "::1",
        "h\u00f6st",
    ],
)
@pytest.mark.parametrize("path", ["/health/live", "/nowhere"])
def test_foreign_and_malformed_names_are_refused(client: TestClient, host: str, path: str) -> None:
    response = client.get(path, headers={"host": host.encode("latin-1")})
    assert_problem(response, 403, "forbidden")
    assert "ALLOWED_HOSTS" in response.json()["detail"]


def test_a_star_allows_every_name(settings: Settings, databases: Databases) -> None:
    own = settings.model_copy(update={"allowed_hosts": ["*"]})
    with http_client(light_service(own, databases)) as client:
        assert client.get("/health/live", headers={"host": "any.example"}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost:8000.evil.example",
        "http://not-localhost:8000",
        "null",
        "http://localhost:9999",
        "http://[",
        "localhost",
        "x",
    ],
)
def test_a_foreign_page_changes_nothing(client: TestClient, origin: str) -> None:
    headers = {"origin": origin, "host": "localhost:8000"}
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        path = ITEMS if method == "POST" else f"{ITEMS}/1"
        response = client.request(method, path, json=GOOD, headers=headers)
        assert_problem(response, 403, "forbidden")
        assert "CORS_ALLOW_ORIGINS" in response.json()["detail"]
    assert client.get(ITEMS).json()["total"] == 0


def test_a_page_without_origin_has_no_way_around_through_a_missing_host(client: TestClient) -> None:
    response = client.post(ITEMS, json=GOOD, headers={"host": "", "origin": "null"})
    assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("docs.example.com", "https://DOCS.example.com"),
        ("localhost:8000", PAGE),
    ],
)
def test_our_own_and_allowed_pages_may_change_things(
    client: TestClient, host: str, origin: str
) -> None:
    response = client.post(ITEMS, json=GOOD, headers={"host": host, "origin": origin})
    assert response.status_code == 201


def test_an_allowed_page_may_read_the_answer_and_its_location(client: TestClient) -> None:
    response = client.post(ITEMS, json=GOOD, headers={"origin": PAGE})
    assert response.headers["access-control-allow-origin"] == PAGE
    assert "location" in response.headers["access-control-expose-headers"].lower()
    refused = client.post(ITEMS, json={}, headers={"origin": PAGE})
    assert_problem(refused, 422, "invalid-request")
    assert refused.headers["access-control-allow-origin"] == PAGE


def test_an_allowed_page_may_read_what_nobody_foresaw(
    client: TestClient, service: LightService, caplog: pytest.LogCaptureFixture
) -> None:
    del service.knowledge
    response = client.get(ITEMS, headers={"origin": PAGE})
    assert_problem(response, 500, "internal-error")
    assert response.headers["access-control-allow-origin"] == PAGE
    told = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(told) == 1
    assert f"Unexpected error at '{ITEMS}'" in told[0].getMessage()
    foreign = client.get(ITEMS, headers={"origin": "https://evil.example"})
    assert_problem(foreign, 500, "internal-error")
    assert "access-control-allow-origin" not in foreign.headers


def test_an_allowed_page_may_read_that_it_uses_a_foreign_name(client: TestClient) -> None:
    headers = {"origin": PAGE, "host": "other.example.com"}
    asked = client.options(ITEMS, headers=headers | {"access-control-request-method": "POST"})
    assert asked.status_code == 200
    response = client.post(ITEMS, json=GOOD, headers=headers)
    assert_problem(response, 403, "forbidden")
    assert response.headers["access-control-allow-origin"] == PAGE
    assert "ALLOWED_HOSTS" in response.json()["detail"]


def test_a_foreign_page_may_not_read_answers(client: TestClient) -> None:
    response = client.get(ITEMS, headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in response.headers


def test_the_browsers_question_before_a_change_is_answered(client: TestClient) -> None:
    asked = {
        "access-control-request-method": "PATCH",
        "access-control-request-headers": "content-type",
    }
    allowed = client.options(f"{ITEMS}/1", headers=asked | {"origin": PAGE})
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == PAGE
    assert "PATCH" in allowed.headers["access-control-allow-methods"]
    foreign = client.options(f"{ITEMS}/1", headers=asked | {"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in foreign.headers


def body_of(size: int) -> bytes:
    """A valid item whose JSON has exactly this many bytes."""
    body = json.dumps(GOOD)
    return (body[:-1] + " " * (size - len(body)) + "}").encode()


def test_a_body_up_to_the_limit_is_read(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    assert client.post(ITEMS, content=body_of(MOST_BYTES), headers=headers).status_code == 201


def test_a_body_whose_declared_length_is_over_the_limit_is_refused(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    response = client.post(ITEMS, content=body_of(MOST_BYTES + 1), headers=headers)
    assert_problem(response, 413, "request-too-large")
    assert str(MOST_BYTES) in response.json()["detail"]
    assert client.get(ITEMS).json()["total"] == 0


def test_a_body_that_streams_in_without_a_length_is_refused_over_the_limit(
    client: TestClient,
) -> None:
    def chunks() -> Iterator[bytes]:
        body = body_of(MOST_BYTES + 1)
        yield body[:1000]
        yield body[1000:]

    response = client.post(ITEMS, content=chunks(), headers={"content-type": "application/json"})
    assert "content-length" not in response.request.headers
    assert_problem(response, 413, "request-too-large")
    assert client.get(ITEMS).json()["total"] == 0


@pytest.mark.parametrize("length", ["1" * 30, "9" * 5000, "00002001"])
def test_an_absurd_declared_length_is_refused(client: TestClient, length: str) -> None:
    response = client.post(ITEMS, content=b"{}", headers={"content-length": length})
    assert_problem(response, 413, "request-too-large")


@pytest.mark.parametrize("length", ["-1", "x", "", "²"])
def test_a_declared_length_that_is_no_number_is_not_believed(
    client: TestClient, length: str
) -> None:
    headers = {"content-length": length.encode("latin-1"), "content-type": "application/json"}
    response = client.post(ITEMS, content=body_of(MOST_BYTES), headers=headers)
    assert response.status_code == 201


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_endless_body_is_not_read_on(anyio_backend: str) -> None:
    given = 0

    async def endless() -> AsyncIterator[Message]:
        while True:
            yield {"type": "http.request", "body": b"x" * 100, "more_body": True}

    source = endless()

    async def receive() -> Message:
        nonlocal given
        given += 100
        return await anext(source)

    async def read_everything(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/", "method": "POST", "headers": []}
    await BodyLimit(read_everything, 1000)(scope, receive, send)
    assert given == 1100
    assert sent[0]["status"] == 413
