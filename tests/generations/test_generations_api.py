"""Generations over HTTP and in the command."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.container import Container
from app.knowledge.items import ItemDraft
from app.main import create_app
from app.settings import Settings
from tests.cli.conftest import Run, run, runner, server_url
from tests.fakes import FakeEmbedder
from tests.web.problem_checks import assert_problem

__all__ = ["run", "server_url"]

GENERATIONS = "/api/v1/rag/generations"


@pytest.fixture
def container(settings: Settings, embedder: FakeEmbedder, source_root: Path):
    """A service that has just switched to larger chunks."""
    page = source_root / "page.md"
    page.write_text("# Page\n\n" + "One sentence of some length. " * 40)
    before = Container.open(settings, embedder=embedder)
    item = before.knowledge.create(ItemDraft("Page", str(page), "markdown"))
    assert before.indexer.index(item.id).success
    before.close()
    larger = settings.model_copy(update={"chunk_size": 400})
    after = Container.open(larger, embedder=embedder, run_jobs=False)
    after.renew()
    yield after
    after.close()


@pytest.fixture
def client(container: Container):
    with TestClient(create_app(container=container)) as client:
        yield client


def test_both_are_listed_with_what_they_hold(client: TestClient):
    former, current = client.get(GENERATIONS).json()["generations"]
    assert (former["id"], former["state"]) == (1, "kept")
    assert (current["id"], current["state"]) == (2, "current")
    assert former["splitter"] != current["splitter"]
    assert former["chunks"] > current["chunks"] > 0
    assert current["documents_done"] == current["documents_total"] == 1
    assert current["trouble"] is None


def test_what_is_kept_can_be_dropped_once(client: TestClient, container: Container):
    dropped = client.delete(f"{GENERATIONS}/1")
    assert (dropped.status_code, dropped.headers.get("content-type")) == (204, None)
    assert [each["id"] for each in client.get(GENERATIONS).json()["generations"]] == [2]
    assert_problem(client.delete(f"{GENERATIONS}/1"), 404, "not-found")
    assert container.maintenance.verify().problems == ()


def test_what_answers_cannot_be_dropped(client: TestClient):
    assert_problem(client.delete(f"{GENERATIONS}/2"), 409, "conflict")
    assert client.post("/api/v1/rag/search", json={"query": "sentence"}).json()["results"]


def test_other_names_are_refused(client: TestClient):
    for name in ("0", "-1", "x", "01", "1.0", str(2**64)):
        assert client.delete(f"{GENERATIONS}/{name}").status_code == 422, name


def test_health_says_which_one_answers(client: TestClient):
    ready = client.get("/health/ready").json()
    assert ready["status"] == "ready"
    assert ready["parts"]["generation"]["detail"].startswith("2: fake, recursive-")


def test_the_command_lists_and_drops(run: Run):
    shown = run("generations").stdout
    assert "kept" in shown
    assert "current" in shown
    left = json.loads(run("generations", "--drop", 1, "--json").stdout)["generations"]
    assert [each["id"] for each in left] == [2]
    refused = run("generations", "--drop", 2)
    assert refused.exit_code == 1
    assert "in use" in refused.stderr


def test_rebuild_takes_what_the_settings_want(
    settings: Settings, embedder: FakeEmbedder, container: Container
):
    container.close()
    back = Container.open(settings, embedder=embedder, run_jobs=False)
    assert runner(back)("rebuild").exit_code == 0
    states = [each.state for each in back.generations.all()]
    back.close()
    assert states == ["current", "kept"]
