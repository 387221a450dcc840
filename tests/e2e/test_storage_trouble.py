"""A data directory that cannot be written, a locked database: clear words, no hand needed."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.server_process import ServerProcess, run_command, wait_until

WRITABLE, READ_ONLY = 0o700, 0o500


@contextmanager
def read_only(*folders: Path) -> Iterator[None]:
    """No file comes into these folders or goes; what is open stays open."""
    below = [folder for top in folders for folder, _, _ in os.walk(top)]
    for folder in below:
        Path(folder).chmod(READ_ONLY)
    try:
        yield
    finally:
        for folder in below:
            Path(folder).chmod(WRITABLE)


@contextmanager
def locked(server: ServerProcess) -> Iterator[None]:
    """Somebody else writes into the database, and does not come to an end."""
    path = server.data_dir / "groundwork.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def write_folder(folder: Path, files: int) -> Path:
    folder.mkdir()
    for number in range(files):
        words = " ".join(f"plank{number}x{word}" for word in range(30))
        (folder / f"{number:03}.md").write_text(f"# Deck {number}\n\n{words}\n")
    return folder


def check_the_end(server: ServerProcess) -> None:
    assert "Traceback" not in server.log, server.log
    assert server.stop() == 0
    verified = run_command(server.environment, "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.slow
def test_a_read_only_data_directory_is_refused_in_a_sentence_and_serves_once_it_is_writable(
    own_server: StartServer, own_sources: Path
) -> None:
    server = own_server().start()
    kept = server.create(write_folder(own_sources / "kept", 3), "folder")
    assert server.index(kept)["success"]
    assert server.stop() == 0
    with read_only(server.data_dir):
        refused = run_command(server.environment, "serve")
        assert refused.returncode == 1
        assert len(refused.stderr.splitlines()) == 1, refused.stderr
        assert str(server.data_dir) in refused.stderr
        assert "permissions" in refused.stderr
    server.start()
    assert server.search("plank2x3")[0]["knowledge_id"] == kept
    check_the_end(server)


@pytest.mark.slow
def test_a_read_only_database_is_refused_in_a_sentence_and_serves_once_it_is_writable(
    own_server: StartServer, own_sources: Path
) -> None:
    server = own_server().start()
    kept = server.create(write_folder(own_sources / "kept", 3), "folder")
    assert server.index(kept)["success"]
    assert server.stop() == 0
    database = server.data_dir / "groundwork.db"
    database.chmod(0o400)
    refused = run_command(server.environment, "serve")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1, refused.stderr
    assert f"{database} is read-only" in refused.stderr
    database.chmod(0o600)
    server.start()
    assert server.search("plank2x3")[0]["knowledge_id"] == kept
    check_the_end(server)


@pytest.mark.slow
def test_indexes_that_nobody_may_write_fail_no_work_and_heal_when_they_can_be_written(
    own_server: StartServer, own_sources: Path
) -> None:
    server = own_server().start()
    folder = write_folder(own_sources / "folder", 20)
    item = server.create(folder, "folder")
    assert server.index(item)["success"]
    with read_only(server.data_dir / "lexical", server.data_dir / "chroma"):
        (folder / "000.md").write_text("# Deck\n\nThe mizzen is made of spruce.\n")
        result = server.index(item)
        assert result["success"], result
        assert server.search("What is the mizzen made of?")[0]["content"].endswith("spruce.\n")
        health = server.http.get("/health/ready").json()
        assert health["status"] == "degraded"
        assert server.http.get("/health/live").status_code == 200
    wait_until(
        lambda: server.http.get("/health/ready").json()["status"] == "ready", "the index is mended"
    )
    assert server.search("mizzen", mode="lexical")[0]["content"].endswith("spruce.\n")
    check_the_end(server)


@pytest.mark.slow
def test_a_locked_database_refuses_changes_in_the_end_and_loses_no_promise(
    own_server: StartServer, own_sources: Path
) -> None:
    server = own_server().start()
    kept = server.create(write_folder(own_sources / "kept", 3), "folder")
    assert server.index(kept)["success"]
    promised = server.create(write_folder(own_sources / "promised", 60), "folder")
    job = server.http.post(f"/api/v1/rag/index/{promised}?wait=false").headers["location"]
    wait_until(lambda: server.http.get(job).json()["state"] == "running", "the job is taken up")
    answers: list[httpx.Response] = []
    body = {"title": "Late", "uri": str(own_sources), "document_type": "folder"}
    with locked(server):
        waiting = threading.Thread(
            target=lambda: answers.append(server.http.post("/api/v1/knowledge", json=body))
        )
        waiting.start()
        slowest = 0.0
        while waiting.is_alive():
            began = time.monotonic()
            assert server.search("plank2x3", knowledge_ids=[kept]), "readers do not wait"
            assert server.http.get("/health/live").status_code == 200
            slowest = max(slowest, time.monotonic() - began)
            waiting.join(0.2)
        assert answers[0].status_code == 507
        assert "locked by another process" in answers[0].json()["detail"]
        assert slowest < 10
    state = wait_until(
        lambda: (now := server.http.get(job).json())["state"] not in ("queued", "running") and now,
        "the job ends by itself",
    )
    assert state["state"] == "succeeded", state
    assert server.item(promised)["chunk_count"] >= 60
    check_the_end(server)
