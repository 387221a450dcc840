"""A disk that fills up while the server runs: clear answers, nothing lost, no restart needed."""

from pathlib import Path

import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.server_process import MOST_FILE_BYTES, ServerProcess, run_command

KEPT = "# Granite\n\nThe quay is made of granite from the northern quarry.\n"


FILES = 250
"""Of one chunk each: the vectors alone take more than `fill_disk` leaves."""


def fill_folder(folder: Path) -> Path:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:03}.md").write_text(f"# Deck {number}\n\nIt has {number} planks.\n")
    return folder


def fill_disk(server: ServerProcess) -> None:
    """No file of the server grows any more; what is inside a file can still be rewritten."""
    sizes = [path.stat().st_size for path in server.data_dir.rglob("*") if path.is_file()]
    log = server.log_path.stat().st_size + 200_000
    database = (server.data_dir / "groundwork.db").stat().st_size
    assert max(sizes) > log
    server.limit_files(max(log, database))


@pytest.mark.slow
def test_a_disk_that_fills_up_loses_nothing_and_indexing_goes_on_when_there_is_space(
    own_server: StartServer, own_sources: Path
) -> None:
    (own_sources / "kept.md").write_text(KEPT)
    folder = fill_folder(own_sources / "folder")
    server = own_server().start()
    kept = server.create(own_sources / "kept.md")
    assert server.index(kept)["success"]
    filling = server.create(folder, "folder")

    fill_disk(server)
    answer = server.http.post(f"/api/v1/rag/index/{filling}")
    if answer.status_code == 200:
        assert answer.json()["success"] is False
        assert "space" in answer.json()["error"]
    else:
        assert answer.status_code == 507
        assert answer.headers["content-type"] == "application/problem+json"
        assert "space" in answer.json()["detail"]
    found = server.search("What is the quay made of?", knowledge_ids=[kept])
    assert found[0]["content"].startswith("# Granite")
    assert server.item(kept)["status"] == "active"
    assert server.http.get("/health/live").status_code == 200

    server.limit_files(MOST_FILE_BYTES)
    assert server.index(filling)["success"], "there is space again; no restart is needed"
    assert server.item(filling)["chunk_count"] == FILES
    assert server.stop() == 0
    verified = run_command(server.environment, "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    server.start()
    assert server.search("What is the quay made of?")[0]["knowledge_id"] == kept


@pytest.mark.slow
def test_after_a_kill_on_a_full_disk_the_next_start_mends_everything(
    own_server: StartServer, own_sources: Path
) -> None:
    (own_sources / "kept.md").write_text(KEPT)
    folder = fill_folder(own_sources / "folder")
    server = own_server().start()
    kept = server.create(own_sources / "kept.md")
    server.index(kept)
    filling = server.create(folder, "folder")
    fill_disk(server)
    server.http.post(f"/api/v1/rag/index/{filling}")
    server.kill()

    server.start()
    assert server.search("granite", knowledge_ids=[kept])
    assert server.index(filling)["success"]
    assert server.stop() == 0
    verified = run_command(server.environment, "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
