"""How the real server starts, refuses to start, and stops."""

import re
import resource
import shutil
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.first_start import FirstStart
from tests.e2e.server_process import (
    ServerProcess,
    clean_environment,
    run_command,
    wait_until,
)
from tests.slow import slow

STOP_SECONDS = 10

MOST_FILES_AT_FIRST = 200

FILES = 600
"""Of one chunk each: several groups, so that a stop finds the work half done."""


def one_sentence(err: str) -> str:
    """The complaint of a command that failed; there must be nothing but it."""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("Error: "), err
    return lines[0]


def test_the_first_start_prepares_the_model_and_calls_nobody(first_start: FirstStart) -> None:
    assert first_start.exit_code == 0, first_start.log
    assert "WATCHED" in first_start.log
    assert "WATCHED" in first_start.export_log
    assert "NETWORK" not in first_start.log + first_start.export_log
    assert not (first_start.home / "intel").exists(), "telemetry keeps its files there"
    assert any(first_start.models.rglob("*.bin"))


def test_only_the_process_that_converts_the_model_imports_torch(first_start: FirstStart) -> None:
    assert "HEAVY ['sentence_transformers', 'torch'" in first_start.export_log
    assert "HEAVY []" in first_start.log
    assert "HEAVY ['" not in first_start.log


@dataclass(frozen=True)
class Served:
    """A server that was watched while it indexed and searched, and has stopped."""

    found: bool
    sources: Path
    maps: str
    exit_code: int
    log: str


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart, watched_python_path: Path
) -> Served:
    folder = tmp_path_factory.mktemp("served")
    sources = folder / "sources"
    sources.mkdir()
    (sources / "a.md").write_text("# Quay\n\nThe quay is made of granite.\n")
    shutil.copytree(first_start.models, folder / "data" / "models")
    server = ServerProcess(
        folder / "data",
        sources,
        PYTHONPATH=watched_python_path,
        SOURCE_ROOTS=f"{sources},{sources}:{sources}",
    )
    try:
        knowledge_id = server.start().create(sources, "folder")
        assert server.index(knowledge_id)["success"]
        found = server.search("What is confidentialword made of?")
        server.http.get("/api/v1/rag/search", params={"q": "confidentialword"})
        maps = Path(f"/proc/{server.pid}/maps").read_text()
        code = server.stop()
    finally:
        server.close()
    return Served(found[0]["knowledge_id"] == knowledge_id, sources, maps, code, server.log)


def test_serving_calls_nobody_and_holds_no_torch(served: Served) -> None:
    assert served.found
    assert "openvino" in served.maps
    assert "torch" not in served.maps
    assert served.exit_code == 0
    assert "WATCHED" in served.log
    assert "NETWORK" not in served.log
    assert "HEAVY ['" not in served.log


def test_the_log_holds_no_traceback_and_no_query(served: Served) -> None:
    assert served.log.count("/api/v1/rag/search") == 2
    assert not re.search("confidentialword|Traceback", served.log)


def test_a_root_that_is_no_folder_is_named_at_the_start(served: Served) -> None:
    colons_between = f"{served.sources}:{served.sources}"
    assert f"SOURCE_ROOTS names {colons_between}, which is no folder" in served.log
    assert served.log.count("SOURCE_ROOTS names") == 1


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
    server: ServerProcess,
) -> None:
    refused = run_command(server.environment, "serve")
    assert refused.returncode == 1
    complaint = one_sentence(refused.stderr)
    assert str(server.data_dir) in complaint
    assert f"process {server.pid}" in complaint
    assert server.http.get("/health/live").status_code == 200


@pytest.mark.parametrize("place", ["a-file/below", slow("a-file")])
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


@pytest.mark.parametrize(
    "most_bytes",
    [4096, slow(0), slow(100_000)],
)
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
    assert refused.returncode == 2, "a setting"
    complaint = one_sentence(refused.stderr)
    assert "no-such-model" in complaint
    assert "EMBEDDING_MODEL" in complaint


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_stop_while_a_job_indexes_is_quick_and_the_job_goes_on_after_the_restart(
    own_server: StartServer, own_sources: Path
) -> None:
    for number in range(FILES):
        (own_sources / f"{number}.md").write_text(f"# Deck {number}\n\nIt has {number} planks.\n")
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
    assert "goes on after the restart" in server.log, "it was under way"
    server.start()
    state = wait_until(
        lambda: (now := server.http.get(job).json()["state"]) not in ("queued", "running") and now,
        "the job ends",
    )
    assert state == "succeeded"
    assert server.item(1)["chunk_count"] == FILES
    assert server.stats()["total_documents"] == FILES


@pytest.mark.slow
def test_more_clients_than_a_process_may_have_files_at_first_hold_up_nothing(
    own_server: StartServer, own_sources: Path
) -> None:
    granted, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES_AT_FIRST, most))
    try:
        server = own_server().start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (granted, most))
    (own_sources / "a.md").write_text("The quay is made of granite.")
    address = urlsplit(server.url)
    with ExitStack() as clients:
        for _ in range(MOST_FILES_AT_FIRST):
            clients.enter_context(socket.create_connection((address.hostname, address.port)))
        assert server.index(server.create(own_sources / "a.md"))["success"]
        assert server.search("granite")
        ready = server.http.get("/health/ready").json()
        assert ready["status"] == "ready", ready
    assert "Too many open files" not in server.log
