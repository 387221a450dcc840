"""Real servers on PostgreSQL: over HTTP, killed in mid-job, two at a time, and without database."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import postgres_only
from tests.e2e.conftest import (  # noqa: F401, fixtures
    StartServer,
    own_data_dir,
    own_server,
    own_sources,
)
from tests.e2e.first_start import FirstStart
from tests.e2e.server_process import ServerProcess, run_command, wait_until
from tests.postgres.conftest import Line

pytestmark = postgres_only

FILES = 300


@pytest.fixture
def other_server(
    tmp_path: Path,
    first_start: FirstStart,
    own_sources: Path,  # noqa: F811, a fixture
    url: str,
) -> Iterator[ServerProcess]:
    """A server on the same database, in a data directory of its own, as on another machine."""
    data_dir = tmp_path / "other" / "data"
    shutil.copytree(first_start.models, data_dir / "models")
    server = ServerProcess(data_dir, own_sources, DATABASE_URL=url)
    yield server
    server.close()


def fill(folder: Path, files: int) -> None:
    for number in range(files):
        text = f"# Harbour {number}\n\nThe lighthouse of harbour {number} is lit at dusk.\n"
        (folder / f"{number}.md").write_text(text)


def test_a_service_works_and_tells_a_second_one_to_stay_away(
    own_server: StartServer,  # noqa: F811, a fixture
    other_server: ServerProcess,
    own_sources: Path,  # noqa: F811, a fixture
    url: str,
) -> None:
    fill(own_sources, 3)
    server = own_server(DATABASE_URL=url).start()
    item = server.create(own_sources, "folder", tags=["sea"])
    assert server.index(item)["chunks_indexed"] == 3
    found = server.search("when is the lighthouse of harbour 2 lit", tags=["sea"], n_results=1)
    assert "harbour 2" in found[0]["content"]
    refused = run_command(other_server.environment, "serve")
    assert refused.returncode != 0
    assert "Another Groundwork works on the database" in refused.stderr + refused.stdout
    assert server.stop() == 0
    other_server.start()
    assert other_server.search("lighthouse", n_results=3)
    assert other_server.stop() == 0


def test_what_a_server_was_killed_in_the_middle_of_another_one_ends_at_once(
    own_server: StartServer,  # noqa: F811, a fixture
    other_server: ServerProcess,
    own_sources: Path,  # noqa: F811, a fixture
    url: str,
) -> None:
    fill(own_sources, FILES)
    server = own_server(DATABASE_URL=url).start()
    item = server.create(own_sources, "folder")
    job = server.http.post(f"/api/v1/rag/index/{item}", params={"wait": False}).json()["id"]

    def state(of: ServerProcess) -> dict[str, object]:
        return dict(of.http.get(f"/api/v1/jobs/{job}").json())

    wait_until(lambda: state(server)["progress"], "the job runs")
    server.kill()
    other_server.start()
    # No lease has to run out first: whoever holds the database knows that it is alone.
    ended = wait_until(
        lambda: other_server.item(item)["status"] == "active" and state(other_server),
        "the job goes on",
        seconds=50,
    )
    assert ended["state"] == "succeeded"
    assert other_server.stats()["total_chunks"] == FILES
    assert other_server.stats()["vector_index_records"] == FILES
    assert other_server.search("lighthouse of harbour 299", n_results=1)
    assert other_server.stop() == 0
    verified = run_command(other_server.environment, "verify")
    assert verified.returncode == 0, verified.stdout


def test_who_comes_back_after_another_one_was_killed_finds_what_that_one_indexed(
    own_server: StartServer,  # noqa: F811, a fixture
    other_server: ServerProcess,
    own_sources: Path,  # noqa: F811, a fixture
    url: str,
) -> None:
    fill(own_sources, 3)
    server = own_server(DATABASE_URL=url).start()
    item = server.create(own_sources, "folder")
    server.index(item)
    assert server.stop() == 0
    other_server.start()
    for number in range(3):
        (own_sources / f"{number}.md").write_text(f"# Otters\n\nAn otter of river {number}.\n")
    assert other_server.index(item)["chunks_added"] == 3
    other_server.kill()
    server.start()
    wait_until(
        lambda: server.http.get("/health/ready").json()["status"] == "ready", "it is all there"
    )
    found = server.search("otter", mode="lexical")
    assert len(found) == 3
    assert all("otter" in hit["content"] for hit in found)
    assert server.stop() == 0
    verified = run_command(server.environment, "verify")
    assert verified.returncode == 0, verified.stdout


def test_a_service_whose_database_another_one_has_taken_over_ends_and_says_why(
    own_server: StartServer,  # noqa: F811, a fixture
    other_server: ServerProcess,
    line: Line,
    line_url: str,
) -> None:
    server = own_server(DATABASE_URL=line_url).start()
    line.cut()
    other_server.start()
    line.mend()
    wait_until(lambda: server.exit_code is not None, "it notices")
    assert server.exit_code == 1
    assert "Another Groundwork has worked on the database" in server.log
    assert other_server.stop() == 0


def test_a_database_that_goes_away_is_told_and_everything_goes_on_once_it_is_back(
    own_server: StartServer,  # noqa: F811, a fixture
    own_sources: Path,  # noqa: F811, a fixture
    line: Line,
    line_url: str,
) -> None:
    fill(own_sources, 2)
    server = own_server(DATABASE_URL=line_url).start()
    item = server.create(own_sources, "folder")
    server.index(item)
    line.cut()
    for method, path, body in (
        ("GET", "/api/v1/knowledge", None),
        ("POST", "/api/v1/rag/search", {"query": "lighthouse"}),
        ("POST", "/api/v1/knowledge", {"title": "A", "uri": "/a", "document_type": "markdown"}),
        ("POST", f"/api/v1/rag/index/{item}", None),
        ("DELETE", f"/api/v1/knowledge/{item}", None),
    ):
        answer = server.http.request(method, path, json=body)
        assert answer.status_code == 503, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert "database does not answer" in answer.json()["detail"]
        assert answer.headers["retry-after"]
    ready = server.http.get("/health/ready")
    assert (ready.status_code, ready.json()["parts"]["database"]["status"]) == (503, "failed")
    assert server.http.get("/health/live").status_code == 200
    line.mend()
    assert server.http.get("/health/ready").status_code == 200
    fill(own_sources, 4)
    assert server.index(item)["chunks_indexed"] == 4
    assert len(server.search("lighthouse", n_results=9)) == 4
    assert server.stop() == 0
