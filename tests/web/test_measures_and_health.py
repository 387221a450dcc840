"""What monitors see: metrics by route, an access log without queries, health."""

import logging

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from app.settings import Settings
from app.web.health_schemas import PartHealth
from tests.databases import sqlite_only
from tests.light_service import LightService

ITEMS = "/api/v1/knowledge"


def requests_by_label(service: LightService) -> dict[tuple[str, str, str], float]:
    """How many requests were counted, by method, route and status."""
    families = text_string_to_metric_families(service.metrics.exposition().decode())
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in families
        for sample in family.samples
        if sample.name == "groundwork_request_seconds_count"
    }


def test_requests_are_counted_by_route_whatever_their_path(
    client: TestClient, service: LightService
) -> None:
    for path in (f"{ITEMS}/1", f"{ITEMS}/2", "/api/knowledge/3/"):
        client.get(path)
    client.post(ITEMS, json={})
    client.get("/health/live")
    client.head("/api/knowledge/4")
    assert requests_by_label(service) == {
        ("HEAD", "/knowledge/{knowledge_id}", "404"): 1,
        ("GET", "/knowledge/{knowledge_id}", "404"): 3,
        ("POST", "/knowledge", "422"): 1,
        ("GET", "/health/live", "200"): 1,
    }


def test_unknown_paths_methods_and_hosts_share_one_count(
    client: TestClient, service: LightService
) -> None:
    for number in range(5):
        client.get(f"/nowhere/{number}")
        client.request(f"METHOD{number}", f"/nowhere/{number}")
        client.get(f"/x/{number}", headers={"host": "evil.example"})
    assert requests_by_label(service) == {
        ("GET", "unmatched", "404"): 5,
        ("other", "unmatched", "404"): 5,
        ("GET", "unmatched", "403"): 5,
    }


def test_a_request_that_fails_is_counted_as_500(client: TestClient, service: LightService) -> None:
    del service.knowledge
    client.get(ITEMS)
    assert requests_by_label(service) == {("GET", "/knowledge", "500"): 1}


def test_the_access_log_names_the_path_and_never_the_query(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        client.get(f"{ITEMS}?q=private")
        client.get("/api/v1/jobs/%0A1?q=private")
    ours = [record for record in caplog.records if record.name.startswith("groundwork")]
    assert len(ours) == 2
    assert f"GET '{ITEMS}' 200" in ours[0].getMessage()
    assert "\n" not in ours[1].getMessage()
    assert all("private" not in record.getMessage() for record in ours)


def test_metrics_can_be_read_by_prometheus(client: TestClient) -> None:
    client.get(ITEMS)
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    names = {family.name for family in text_string_to_metric_families(response.text)}
    assert {
        "groundwork_request_seconds",
        "groundwork_search_seconds",
        "groundwork_embedding_seconds",
        "groundwork_embedded_chunks",
        "groundwork_indexings",
        "groundwork_jobs_waiting",
        "groundwork_chunks",
        "groundwork_index_drift",
    } <= names


@pytest.mark.parametrize(
    "series",
    [
        'groundwork_indexings_total{outcome="success"}',
        'groundwork_indexings_total{outcome="failure"}',
        'groundwork_index_healings_total{index="vector"}',
        'groundwork_index_healings_total{index="lexical"}',
    ],
)
def test_what_is_rare_is_counted_from_0(client: TestClient, series: str) -> None:
    """Prometheus takes the first value that it sees for where the count began."""
    assert f"{series} 0.0" in client.get("/metrics").text.splitlines()


def test_two_services_never_share_counts(client: TestClient, service: LightService) -> None:
    client.get(ITEMS)
    other = type(service.metrics)()
    assert b"/knowledge" not in other.exposition()


def test_alive_means_the_process_answers(client: TestClient, service: LightService) -> None:
    service.parts["vector_index"] = PartHealth(status="failed", detail="gone")
    response = client.get("/health/live")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.parametrize(("part", "status"), [("ready", 200), ("degraded", 200), ("failed", 503)])
def test_readiness_is_that_of_the_worst_part(
    client: TestClient, service: LightService, part: str, status: int
) -> None:
    service.parts["vector_index"] = PartHealth(status=part, detail="why")  # type: ignore[arg-type]
    response = client.get("/health/ready")
    assert response.status_code == status
    assert ("Retry-After" in response.headers) == (status == 503)
    body = response.json()
    assert body["status"] == part
    assert body["version"]
    assert body["parts"]["vector_index"] == {"status": part, "detail": "why"}
    assert body["parts"]["database"]["status"] == "ready"


@sqlite_only
def test_a_database_that_is_gone_is_not_ready(
    client: TestClient, service: LightService, settings: Settings
) -> None:
    assert client.get("/health/ready").status_code == 200
    for file in settings.data_dir.glob("groundwork.db*"):
        file.unlink()
    response = client.get("/health/ready")
    assert response.status_code == 503
    assert response.json()["parts"]["database"]["status"] == "failed"
    assert "gone" in response.json()["parts"]["database"]["detail"]


@sqlite_only
def test_a_database_that_is_damaged_is_not_ready(
    client: TestClient, service: LightService, settings: Settings
) -> None:
    service.database.close()
    (settings.data_dir / "groundwork.db").write_bytes(b"no database at all" * 1000)
    response = client.get("/health/ready")
    assert response.status_code == 503
    assert "backup" in response.json()["parts"]["database"]["detail"]
