"""Whatever goes wrong is answered as problem+json and gives nothing away."""

import gzip
import logging
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.errors import (
    AppError,
    InvalidRequestError,
    LexicalIndexAwayError,
    LexicalIndexError,
    NotFoundError,
    OverloadedError,
    StoppingError,
    StorageError,
    UnavailableError,
)
from app.main import create_app
from app.settings import Settings
from tests.light_service import LightService
from tests.web.problem_checks import assert_problem

SECRET = "password=hunter2"


class Broken:
    """Where the job service should be: fails with the error it was given, or is none at all."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def count_waiting(self) -> int:
        raise self.error


def test_an_unexpected_error_is_logged_and_not_shown(
    client: TestClient, service: LightService, caplog: pytest.LogCaptureFixture
) -> None:
    service.jobs = Broken(RuntimeError(SECRET))  # type: ignore[assignment]
    with caplog.at_level(logging.ERROR):
        response = client.get("/metrics?q=private")
    assert_problem(response, 500, "internal-error")
    assert SECRET not in response.text
    assert SECRET in caplog.text
    assert "private" not in caplog.text


@pytest.mark.parametrize(
    ("error", "status", "slug", "retry"),
    [
        (NotFoundError("no"), 404, "not-found", False),
        (InvalidRequestError("no", pointer="#/x"), 422, "invalid-request", False),
        (UnavailableError("no"), 503, "unavailable", True),
        (StorageError("no"), 507, "storage", True),
    ],
)
def test_every_error_of_ours_is_a_problem_and_what_passes_says_when_to_come_back(
    client: TestClient, service: LightService, error: AppError, status: int, slug: str, retry: bool
) -> None:
    service.jobs = Broken(error)  # type: ignore[assignment]
    response = client.get("/metrics")
    assert_problem(response, status, slug)
    assert response.json()["detail"] == "no"
    assert ("retry-after" in response.headers) == retry


@pytest.mark.parametrize(
    ("error", "is_logged"),
    [
        (UnavailableError("no"), True),
        (StorageError("no"), True),
        (LexicalIndexError("It could not search."), True),
        (LexicalIndexAwayError("It is being made."), False),
        (StoppingError(), False),
        (OverloadedError("no"), False),
        (NotFoundError("no"), False),
    ],
)
def test_only_what_failed_is_an_error_in_the_log(
    client: TestClient,
    service: LightService,
    caplog: pytest.LogCaptureFixture,
    error: AppError,
    *,
    is_logged: bool,
) -> None:
    """Not what a stop, a load or an index that is made refuses, however many ask meanwhile."""
    service.jobs = Broken(error)  # type: ignore[assignment]
    assert client.get("/metrics").status_code == error.status
    assert any(record.levelno >= logging.WARNING for record in caplog.records) == is_logged


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/api", "/api/v1", "/api/v2/knowledge", "/api/v1/knowledge/1/2", "//", "/%00"],
)
def test_an_unknown_path_is_a_problem_that_names_it(client: TestClient, path: str) -> None:
    response = client.get("http://localhost" + path)
    if path == "//":
        assert response.headers["location"] == "/docs"
        return
    assert_problem(response, 404, "not-found")
    assert response.json()["instance"] in response.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/knowledge", {"GET", "HEAD", "POST"}),
        ("POST", "/api/v1/knowledge/1", {"GET", "HEAD", "PUT", "PATCH", "DELETE"}),
        ("OPTIONS", "/api/v1/rag/search", {"GET", "HEAD", "POST"}),
        ("GET", "/api/v1/rag/index/1", {"POST", "DELETE"}),
        ("DELETE", "/health/live", {"GET", "HEAD"}),
        ("TRACE", "/api/jobs/1/", {"GET", "HEAD"}),
        ("BREW", "/api/v1/jobs", {"GET", "HEAD"}),
        ("POST", "/docs/assets/swagger-ui.css", {"GET", "HEAD"}),
    ],
)
def test_a_method_that_is_not_possible_is_told_which_are(
    client: TestClient, method: str, path: str, allowed: set[str]
) -> None:
    response = client.request(method, path)
    assert_problem(response, 405, "method-not-allowed")
    assert set(response.headers["allow"].split(", ")) == allowed
    assert f"but {response.headers['allow']}." in response.json()["detail"]


def test_a_browser_that_asks_for_a_page_is_told_which_setting_would_allow_it(
    client: TestClient,
) -> None:
    page = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    response = client.options("/api/v1/rag/search", headers=page)
    assert_problem(response, 403, "forbidden")
    assert "'http://localhost:3000'" in response.json()["detail"]
    assert "CORS_ALLOW_ORIGINS" in response.json()["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/knowledge/9",
        "/api/v1/knowledge/9/",
        "/api/jobs/x/",
        "/api/nowhere/",
        "/health/",
        "/api/jobs/%C3%A9%20%22%23",
        "/a:b@c!$&'()*+,;=-._~",
    ],
)
def test_a_problem_names_the_path_as_the_client_wrote_it(client: TestClient, path: str) -> None:
    assert client.get(path).json()["instance"] == path


@pytest.mark.parametrize(
    "path",
    ["/health/live", "/health/ready", "/metrics", "/", "/docs", "/openapi.json", "/api/knowledge/"],
)
def test_head_answers_as_get_does_but_for_the_body(client: TestClient, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code
    assert head.content == b""
    assert head.headers.keys() == get.headers.keys()
    if path not in ("/health/ready", "/metrics"):
        assert head.headers == get.headers


def test_head_of_what_is_not_there_or_not_to_be_read_is_refused_too(client: TestClient) -> None:
    assert client.head("/nowhere").status_code == 404
    assert client.head("/api/v1/jobs/1/cancel").status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("GET", "/api/v1/knowledge?categry=A", "document_type"),
        ("GET", "/api/knowledge/1/?verbose=1", "none"),
        ("POST", "/api/v1/knowledge?wait=false", "none"),
        ("DELETE", "/api/v1/knowledge/1?force=true", "none"),
        ("GET", "/api/v1/jobs?status=queued", "state, limit, cursor"),
        ("POST", "/api/v1/rag/index/1?forse=true", "wait, force"),
        ("GET", "/api/v1/rag/search?q=x&results=3", "n, n_results, mode"),
        ("GET", "/api/v1/rag/stats?x", "none"),
        ("HEAD", "/api/v1/jobs?limits=1", ""),
    ],
)
def test_a_parameter_that_an_operation_does_not_have_is_refused_by_name(
    client: TestClient, method: str, path: str, known: str
) -> None:
    response = client.request(method, path)
    assert response.status_code == 422
    if method != "HEAD":
        wrong = re.split(r"[?&=]", path)[-2 if "=" in path else -1]
        assert_problem(response, 422, "invalid-request", f"#/{wrong}")
        assert response.json()["errors"][0]["location"] == "query"
        assert repr(wrong) in response.json()["detail"]
        assert known in response.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "instead"),
    [
        ("POST", "/api/v1/rag/index-all", "parameters of its address: status, wait, force"),
        ("POST", "/api/rag/index/1/", "parameters of its address: wait, force"),
        ("DELETE", "/api/v1/rag/index/1", "no parameters either"),
        ("DELETE", "/api/v1/knowledge/1", "no parameters either"),
        ("POST", "/api/v1/jobs/1/retry", "no parameters either"),
        ("GET", "/api/v1/knowledge", "parameters of its address: status, category, tag"),
        ("GET", "/api/v1/rag/search?q=x&n=1", "parameters of its address: q, n, n_results, mode"),
    ],
)
def test_a_body_that_an_operation_does_not_read_is_refused(
    client: TestClient, method: str, path: str, instead: str
) -> None:
    for content in (b'{"status": "active"}', b"force=true", iter([b"{", b'"force": true}'])):
        response = client.request(method, path, content=content)
        assert_problem(response, 422, "invalid-request", "#")
        (error,) = response.json()["errors"]
        assert error["location"] == "body"
        assert error["detail"].startswith(f"This operation takes no body; it has {instead}")


@pytest.mark.parametrize("content", [b"", b"{}", b"null"])
@pytest.mark.parametrize("streams", [False, True])
def test_a_body_that_says_nothing_is_no_fault(
    client: TestClient, content: bytes, streams: bool
) -> None:
    for method, path, status in (
        ("POST", "/api/v1/jobs/1/cancel", 404),
        ("GET", "/api/v1/knowledge", 200),
    ):
        body = iter([content]) if streams else content
        assert client.request(method, path, content=body).status_code == status


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("POST", "/api/v1/knowledge", "title, uri, document_type"),
        ("POST", "/api/knowledge/", "title, uri, document_type"),
        ("PATCH", "/api/v1/knowledge/1", "importance, status"),
        ("PUT", "/api/v1/knowledge/1", "importance, status"),
    ],
)
@pytest.mark.parametrize("name", ["url", "x" * 5000])
def test_a_field_that_a_body_does_not_have_is_refused_by_name(
    client: TestClient, method: str, path: str, known: str, name: str
) -> None:
    response = client.request(method, path, json={name: 1})
    assert_problem(response, 422, "invalid-request", f"#/{name}")
    told = response.json()["errors"][-1]["detail"]
    assert told.startswith(f"There is no field {name[:100]!r}; there are: ")
    assert known in told


@pytest.mark.parametrize("name", ["state", "x" * 5000])
def test_a_parameter_that_there_is_not_is_refused_by_name(client: TestClient, name: str) -> None:
    response = client.get("/api/v1/knowledge", params={name: "1"})
    assert_problem(response, 422, "invalid-request", f"#/{name}")
    told = response.json()["errors"][0]["detail"]
    assert told.startswith(f"There is no parameter {name[:100]!r}; there are: ")


@pytest.mark.parametrize("value", ["%FF", "caf%E9", "%ED%A0%80", "a%C3"])
def test_a_parameter_that_is_no_text_is_refused(client: TestClient, value: str) -> None:
    response = client.get(f"/api/v1/knowledge?limit=5&q={value}")
    assert_problem(response, 422, "invalid-request", "#/q")
    assert "not text in UTF-8" in response.json()["detail"]


@pytest.mark.parametrize(
    ("name", "pointer"),
    [
        ('a "é" #', "#/a%20%22%C3%A9%22%20%23"),
        ("100%", "#/100%25"),
        ("a/b~c", "#/a~1b~0c"),
        ("a:b@c!$&'()*+,;=-._", "#/a:b@c!$&'()*+,;=-._"),
        ("\n", "#/%0A"),
    ],
)
def test_a_pointer_is_a_fragment_of_a_uri(client: TestClient, name: str, pointer: str) -> None:
    asked = client.get("/api/v1/jobs", params={name: "1"})
    assert_problem(asked, 422, "invalid-request", pointer)
    told = client.post("/api/v1/knowledge", json={name: 1})
    assert_problem(told, 422, "invalid-request", pointer)


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/api/v1/knowledge?q=a&q=b", "q"),
        ("GET", "/api/v1/knowledge?tag=a&tag=b&limit=5&limit=5", "limit"),
        ("GET", "/api/v1/rag/search?q=a&n=1&n=2", "n"),
        ("GET", "/api/v1/rag/search?q=a&tags=x&tags=y&knowledge_ids=1&knowledge_ids=2&q=b", "q"),
        ("POST", "/api/v1/rag/index/1?wait=true&wait=false", "wait"),
        ("GET", "/api/jobs/?state=queued&state=running", "state"),
    ],
)
def test_a_parameter_of_one_value_that_is_given_several_is_refused_by_name(
    client: TestClient, method: str, path: str, name: str
) -> None:
    response = client.request(method, path)
    assert_problem(response, 422, "invalid-request", f"#/{name}")
    assert f"{name!r} is given 2 times" in response.json()["detail"]


FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


@pytest.mark.parametrize(
    ("content", "content_type", "status", "said"),
    [
        (b'{"title": "x"}', FORM, 422, "send the header Content-Type: application/json"),
        (b'{"title": "x"}', None, 422, "send the header Content-Type: application/json"),
        (b"", JSON, 422, "The body is missing: a JSON object is needed"),
        (b"[1]", JSON, 422, "Input should be a JSON object"),
        (b'"text"', JSON, 422, "Input should be a JSON object"),
        ('{"title": "für"}'.encode("latin-1"), JSON, 400, "not text in UTF-8 (byte 12)"),
        (b"[" * 100_000, JSON, 400, "nested too deeply"),
        (b'{"importance": %s}' % (b"9" * 5000), JSON, 400, "too many digits"),
    ],
    ids=["form", "no type", "nothing", "list", "string", "latin-1", "deep", "digits"],
)
def test_a_body_that_cannot_be_read_is_told_why(
    client: TestClient, content: bytes, content_type: str | None, status: int, said: str
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    response = client.post("/api/v1/knowledge", content=content, headers=headers)
    assert_problem(response, status, "invalid-request" if status == 422 else "bad-request")
    assert said in response.json()["detail"]


def test_a_packed_body_is_told_to_be_sent_unpacked(client: TestClient) -> None:
    headers = {"content-type": JSON, "content-encoding": "gzip"}
    response = client.post("/api/v1/knowledge", content=gzip.compress(b"{}"), headers=headers)
    assert_problem(response, 400, "bad-request")
    assert "Content-Encoding: gzip" in response.json()["detail"]


def test_errors_of_one_type_have_one_title(client: TestClient) -> None:
    titles = {
        client.get(path).json()["title"]
        for path in ("/nowhere", "/api/v1/knowledge/9", "/api/v1/jobs/9")
    }
    assert titles == {"Not found"}


def test_monitors_may_add_what_they_like_to_an_address(client: TestClient) -> None:
    assert client.get("/health/live?cachebuster=1").status_code == 200


def test_home_leads_to_the_documentation(client: TestClient) -> None:
    assert client.get("/").headers["location"] == "/docs"
    assert client.get("/docs").status_code == 200


def test_an_application_can_be_described_without_being_opened(tmp_path: Path) -> None:
    never_made = tmp_path / "data"
    create_app(Settings(_env_file=None, data_dir=never_made)).openapi()
    assert not never_made.exists()
