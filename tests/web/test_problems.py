"""Whatever goes wrong is answered as problem+json and gives nothing away."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.errors import AppError, InvalidRequestError, NotFoundError, StorageError, UnavailableError
from app.main import create_app
from app.settings import Settings
from tests.light_service import LightService, http_client, light_service
from tests.web.problem_checks import assert_problem

SECRET = "password=hunter2"


@pytest.fixture
def service(settings: Settings, database_template: Path) -> LightService:
    return light_service(settings, database_template)


@pytest.fixture
def client(service: LightService) -> Iterator[TestClient]:
    with http_client(service, raise_server_exceptions=False) as client:
        yield client


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
        ("PUT", "/api/v1/knowledge", {"GET", "POST"}),
        ("POST", "/api/v1/knowledge/1", {"GET", "PUT", "PATCH", "DELETE"}),
        ("OPTIONS", "/api/v1/rag/search", {"GET", "POST"}),
        ("GET", "/api/v1/rag/index/1", {"POST", "DELETE"}),
        ("DELETE", "/health/live", {"GET"}),
        ("TRACE", "/api/jobs/1/", {"GET"}),
        ("BREW", "/api/v1/jobs", {"GET"}),
    ],
)
def test_a_method_that_is_not_possible_is_told_which_are(
    client: TestClient, method: str, path: str, allowed: set[str]
) -> None:
    response = client.request(method, path)
    assert_problem(response, 405, "method-not-allowed")
    assert set(response.headers["allow"].split(", ")) == allowed


def test_home_leads_to_the_documentation(client: TestClient) -> None:
    assert client.get("/").headers["location"] == "/docs"
    assert client.get("/docs").status_code == 200


def test_an_application_can_be_described_without_being_opened(tmp_path: Path) -> None:
    never_made = tmp_path / "data"
    create_app(Settings(_env_file=None, data_dir=never_made)).openapi()
    assert not never_made.exists()
