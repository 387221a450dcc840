"""Eight clients search a document without pause while it is indexed again and again."""

import threading
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.e2e.conftest import StartServer

pytestmark = pytest.mark.slow

CLIENTS = 8
SEARCHES = 10_000
PARTS = 8


def write(path: Path, version: int) -> None:
    """Every part says which version it is of; one version has as many chunks as any."""
    parts = (
        f"## Part {n}\n\nversion{version} of part {n} tells about the tide. " + "So it is. " * 60
        for n in range(PARTS)
    )
    path.write_text("# Tides\n\n" + "\n\n".join(parts) + "\n")


def test_each_of_10_000_answers_is_wholly_one_version(own_server: StartServer, own_sources: Path):
    path = own_sources / "tides.md"
    write(path, 0)
    server = own_server().start()
    item = server.create(path)
    expected = server.index(item)["chunks_indexed"]
    assert expected >= PARTS
    stop, lock = threading.Event(), threading.Lock()
    answers: Counter[str] = Counter()
    wrong: list[object] = []

    def search(mode: str) -> None:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as http:
            while not stop.is_set():
                body = {"query": "version of the tide", "n_results": 100, "mode": mode}
                answer = http.post("/api/v1/rag/search", json=body)
                results = answer.json().get("results", [])
                versions = {
                    word.split()[0]
                    for result in results
                    for word in result["content"].split("version")[1:]
                }
                with lock:
                    if answer.status_code != 200 or len(versions) != 1 or len(results) != expected:
                        wrong.append((answer.status_code, versions, len(results), mode))
                    answers[next(iter(versions), "none")] += 1
                    if sum(answers.values()) >= SEARCHES:
                        stop.set()

    modes = ("dense", "hybrid")
    threads = [
        threading.Thread(target=search, args=(modes[n % len(modes)],)) for n in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    version = 0
    while not stop.is_set() and not wrong:
        version += 1
        write(path, version)
        result = server.index(item)
        assert result["success"]
        assert result["chunks_indexed"] == expected
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(answers.values()) >= SEARCHES
    assert len(answers) > 20, "many versions were seen"
