"""The real server follows the files that it was told to know."""

import time
from pathlib import Path

import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.server_process import ServerProcess, wait_until

TARGET_SECONDS = 2.0
"""From a file's change to its being searchable, on a machine that has nothing else to do."""


@pytest.fixture
def docs(own_sources: Path) -> Path:
    folder = own_sources / "docs"
    (folder / "node_modules" / "left-pad").mkdir(parents=True)
    for number in range(50):
        (folder / f"{number}.md").write_text(f"# Text {number}\n\nIt speaks of topic {number}.")
    return folder


def seconds_until_found(server: ServerProcess, word: str) -> float:
    """Asked for now and then: without a pause, the asking itself would keep the server busy."""
    began = time.monotonic()
    wait_until(lambda: server.search(word, mode="lexical"), f"{word} is found")
    return time.monotonic() - began


def test_changes_are_searchable_soon_and_told_in_the_history(
    own_server: StartServer, docs: Path
) -> None:
    server = own_server(DISABLE_AUTO_INDEXING=False).start()
    item = {"title": "Docs", "uri": str(docs), "document_type": "folder"}
    item_id = server.http.post("/api/v1/knowledge", json=item).json()["id"]
    assert server.http.post(f"/api/v1/rag/index/{item_id}").json()["success"]
    waits = []
    for word in ("lighthouse", "windmill", "giraffe"):
        (docs / "7.md").write_text(f"# Text\n\nNow it speaks of a {word}.")
        (docs / "node_modules" / "left-pad" / "x.md").write_text(word)
        waits.append(seconds_until_found(server, word))
    assert min(waits) < TARGET_SECONDS
    history = server.http.get(f"/api/v1/knowledge/{item_id}/history").json()["items"]
    assert history[-1]["documents_added"] == 50
    changed = [run for run in history[:-1] if run["outcome"] == "changed"]
    assert {tuple(run["changed"]) for run in changed} == {("7.md",)}
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 20
    assert "Traceback" not in server.log
