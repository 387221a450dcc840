"""How the real server starts, refuses to start, and stops."""

import re
import threading
import time
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.first_start import FirstStart
from tests.e2e.server_process import clean_environment, run_command

STOP_SECONDS = 10


def one_sentence(err: str) -> str:
    """The complaint of a command that failed; there must be nothing but it."""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("Error: "), err
    return lines[0]


def test_the_first_start_prepares_the_model_and_calls_nobody(first_start: FirstStart) -> None:
    assert first_start.exit_code == 0, first_start.log
    assert "WATCHED" in first_start.log
    assert "NETWORK" not in first_start.log
    assert any(first_start.models.rglob("*.bin"))


def test_serving_calls_nobody_and_holds_no_torch(
    own_server: StartServer, own_sources: Path, watched_python_path: Path
) -> None:
    (own_sources / "a.md").write_text("# Quay\n\nThe quay is made of granite.\n")
    server = own_server(PYTHONPATH=watched_python_path).start()
    knowledge_id = server.create(own_sources, "folder")
    assert server.index(knowledge_id)["success"]
    assert server.search("What is the quay made of?")[0]["knowledge_id"] == knowledge_id
    maps = Path(f"/proc/{server.pid}/maps").read_text()
    assert "openvino" in maps
    assert "torch" not in maps
    assert server.stop() == 0
    assert "WATCHED" in server.log
    assert "NETWORK" not in server.log


def test_what_was_indexed_is_there_after_a_restart(
    own_server: StartServer, own_sources: Path
) -> None:
    (own_sources / "a.md").write_text("# Quay\n\nThe quay is made of granite.\n")
    server = own_server().start()
    server.index(server.create(own_sources / "a.md"))
    before = server.search("granite")
    assert server.stop() == 0
    server.start()
    assert server.search("granite") == before
    assert server.http.get("/health/live").json() == {"status": "alive"}
    assert server.http.get("/health/ready").json()["status"] == "ready"


def test_a_second_server_on_the_same_directory_is_refused_and_the_first_goes_on(
    own_server: StartServer,
) -> None:
    server = own_server().start()
    refused = run_command(server.environment, "serve")
    assert refused.returncode == 1
    complaint = one_sentence(refused.stderr)
    assert str(server.data_dir) in complaint
    assert f"process {server.pid}" in complaint
    assert server.http.get("/health/live").status_code == 200


@pytest.mark.parametrize("place", ["a-file", "a-file/below"])
def test_a_data_directory_that_cannot_be_made_is_refused_in_a_sentence(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "a-file").write_text("not a folder")
    refused = run_command(clean_environment(DATA_DIR=tmp_path / place, PORT=0), "serve")
    assert refused.returncode == 1
    complaint = one_sentence(refused.stderr)
    assert str(tmp_path / place) in complaint
    assert "DATA_DIR" in complaint
    assert (tmp_path / "a-file").read_text() == "not a folder"


@pytest.mark.parametrize("most_bytes", [0, 4096, 100_000])
def test_a_full_disk_at_the_first_start_is_one_sentence(
    own_data_dir: Path, most_bytes: int
) -> None:
    environment = clean_environment(DATA_DIR=own_data_dir, PORT=0)
    refused = run_command(environment, "serve", file_bytes=most_bytes)
    assert refused.returncode == 1
    assert "space" in one_sentence(refused.stderr)


def test_an_unknown_model_is_named_with_what_to_do(tmp_path: Path) -> None:
    environment = clean_environment(
        DATA_DIR=tmp_path / "data", PORT=0, EMBEDDING_MODEL="no-such-model"
    )
    refused = run_command(environment, "serve")
    assert refused.returncode == 1
    complaint = one_sentence(refused.stderr)
    assert "no-such-model" in complaint
    assert "EMBEDDING_MODEL" in complaint


def test_a_stop_while_searches_run_is_quick_and_in_order(
    own_server: StartServer, own_sources: Path
) -> None:
    for number in range(20):
        (own_sources / f"{number}.md").write_text(f"# Pier {number}\n\nThe pier is {number} m.\n")
    server = own_server().start()
    server.index(server.create(own_sources, "folder"))
    answered = threading.Semaphore(0)
    failures: list[str] = []

    def search_until_it_stops() -> None:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
            while True:
                try:
                    answer = client.get("/api/v1/rag/search", params={"q": "pier", "n": 50})
                except httpx.TransportError:
                    return
                if answer.status_code != 200:
                    failures.append(f"{answer.status_code}: {answer.text}")
                answered.release()

    searchers = [threading.Thread(target=search_until_it_stops) for _ in range(4)]
    for searcher in searchers:
        searcher.start()
    for _ in range(12):
        assert answered.acquire(timeout=60)
    began = time.monotonic()
    server.terminate()
    assert server.wait() == 0
    took = time.monotonic() - began
    for searcher in searchers:
        searcher.join()
    assert failures == []
    assert took < STOP_SECONDS
    assert "Traceback" not in server.log


def test_a_stop_while_a_job_indexes_is_quick_and_the_job_goes_on_after_the_restart(
    own_server: StartServer, own_sources: Path
) -> None:
    for number in range(150):
        words = " ".join(f"plank{number}x{word}" for word in range(120))
        (own_sources / f"{number}.md").write_text(f"# Deck {number}\n\n{words}\n")
    server = own_server().start()
    server.create(own_sources, "folder")
    job = server.http.post("/api/v1/rag/index/1", params={"wait": "false"}).headers["location"]
    while not server.stats()["total_embeddings"]:
        assert server.http.get(job).json()["state"] in ("queued", "running")
    children = psutil.Process(server.pid).children(recursive=True)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < STOP_SECONDS
    assert not any(child.is_running() for child in children)
    server.start()
    deadline = time.monotonic() + 120
    while (state := server.http.get(job).json()["state"]) in ("queued", "running"):
        assert time.monotonic() < deadline
    assert state == "succeeded"
    assert server.item(1)["chunk_count"] >= 150
    assert server.stats()["total_documents"] == 150


def test_the_log_holds_no_traceback_and_no_query(own_server: StartServer) -> None:
    server = own_server().start()
    server.search("confidentialword")
    server.http.get("/api/v1/rag/search", params={"q": "confidentialword"})
    assert server.stop() == 0
    assert not re.search("confidentialword|Traceback", server.log)
