"""`kill -9` of the real server at random and at chosen moments: nothing acknowledged is lost."""

import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.chaos.ledger import Ledger, Tree
from tests.e2e.conftest import StartServer
from tests.e2e.server_process import ServerProcess, run_command, wait_until

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("CHAOS_KILLS", "30"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
FOLDERS = 6
FILES_PER_FOLDER = 50
EVERY_CHUNK = 100
"""The most results of a search: more than an item of ours has chunks."""

MOMENTS = ("random", "chunks grow", "records grow", "mending", "swap")
"""When a kill comes: at any time; just after SQL or the index took something; while the index is
mended after the kill before; a moment after the first of these."""


@dataclass
class Chaos:
    """One server, what it should hold, and the kills."""

    server: ServerProcess
    tree: Tree
    random: random.Random
    ledger: Ledger = field(default_factory=Ledger)
    children: list[psutil.Process] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    # Kills ---------------------------------------------------------------------------------

    def kill(self) -> None:
        """kill -9, the server alone: what it has started must end by itself."""
        self.children += psutil.Process(self.server.pid).children(recursive=True)
        self.server.kill()

    def wait_for(self, moment: str) -> None:
        """Wait for the moment of a kill; a moment that does not come is as good as any."""
        deadline = time.monotonic() + self.random.uniform(0.0, 4.0)
        if moment == "mending":
            deadline = time.monotonic() + self.random.uniform(0.0, 0.5)
        before = self.server.stats()
        watched = "total_chunks" if moment in ("chunks grow", "swap") else "vector_index_records"
        while time.monotonic() < deadline:
            if moment in ("chunks grow", "records grow", "swap"):
                now = self.server.stats()
                if now[watched] != before[watched] or now["pending_index_changes"]:
                    self.notes[f"{moment}: met"] += 1
                    if moment == "swap":
                        time.sleep(self.random.uniform(0.0, 0.3))
                    return
            time.sleep(0.005)

    # Requests ------------------------------------------------------------------------------

    def submit_index_all(self) -> None:
        answer = self.server.http.post("/api/v1/rag/index-all", params={"wait": "false"})
        assert answer.status_code == 202, answer.text
        self.ledger.jobs.add(answer.json()["id"])

    def disturb(self, stop: threading.Event) -> None:
        """Create, rename and delete items until the server is killed, noting each answer."""
        ledger, http = self.ledger, httpx.Client(base_url=self.server.url, trust_env=False)
        number = 0
        with http:
            while not stop.is_set():
                number += 1
                try:
                    self._disturb_once(http, ledger, number)
                except httpx.TransportError:
                    return
                stop.wait(0.05)

    def _disturb_once(self, http: httpx.Client, ledger: Ledger, number: int) -> None:
        fleeting = sorted(set(ledger.titles) - self.folder_items - ledger.perhaps_deleted)
        if len(fleeting) > 8:
            victim = fleeting[0]
            ledger.perhaps_deleted.add(victim)
            assert http.delete(f"/api/v1/knowledge/{victim}").status_code == 204
            ledger.deleted.add(victim)
            del ledger.titles[victim]
            ledger.perhaps_titles.pop(victim, None)
        elif fleeting and number % 3 == 0:
            renamed, title = fleeting[-1], f"renamed {time.monotonic_ns()}"
            ledger.perhaps_titles[renamed] = title
            answer = http.patch(f"/api/v1/knowledge/{renamed}", json={"title": title})
            assert answer.status_code == 200, answer.text
            ledger.titles[renamed] = title
        else:
            path = sorted(self.tree.files())[number % 40]
            body = {"title": f"fleeting {number}", "uri": str(path), "document_type": "markdown"}
            answer = http.post("/api/v1/knowledge", json=body)
            assert answer.status_code == 201, answer.text
            ledger.titles[answer.json()["id"]] = body["title"]

    # Checks --------------------------------------------------------------------------------

    @property
    def folder_items(self) -> set[int]:
        return set(range(1, FOLDERS + 1))

    def check_acknowledged(self) -> None:
        """Every item and job that was answered is there, every deletion holds."""
        ledger, http = self.ledger, self.server.http
        for knowledge_id in sorted(ledger.perhaps_deleted - ledger.deleted):
            if http.get(f"/api/v1/knowledge/{knowledge_id}").status_code == 404:
                self.notes["a deletion was done and not answered"] += 1
                ledger.deleted.add(knowledge_id)
                ledger.titles.pop(knowledge_id, None)
        ledger.perhaps_deleted &= ledger.deleted
        for knowledge_id, title in sorted(ledger.titles.items()):
            stored = self.server.item(knowledge_id)["title"]
            assert stored in (title, ledger.perhaps_titles.get(knowledge_id)), knowledge_id
            ledger.titles[knowledge_id] = stored
        ledger.perhaps_titles.clear()
        for knowledge_id in sorted(ledger.deleted):
            assert http.get(f"/api/v1/knowledge/{knowledge_id}").status_code == 404
        if ledger.deleted:
            of_deleted = sorted(ledger.deleted)
            assert self.server.search("harbor", knowledge_ids=of_deleted, n_results=100) == []
        for job_id in sorted(ledger.jobs):
            job = http.get(f"/api/v1/jobs/{job_id}")
            assert job.status_code == 200, f"job {job_id} was acknowledged and is gone"
            assert job.json()["state"] not in ("failed", "cancelled"), job.json()

    def documents_found(self, knowledge_id: int) -> dict[Path, str]:
        """All documents of an item as searches show them; each must be one version, whole."""
        found = self.server.search(
            "harbor tide", knowledge_ids=[knowledge_id], n_results=EVERY_CHUNK
        )
        assert len(found) < EVERY_CHUNK, "more chunks than one search shows"
        assert len({result["chunk_id"] for result in found}) == len(found)
        by_document: dict[Path, list[dict[str, Any]]] = {}
        for result in found:
            by_document.setdefault(Path(result["document_uri"]), []).append(result)
        return {path: self._version(path, chunks) for path, chunks in by_document.items()}

    def _version(self, path: Path, chunks: list[dict[str, Any]]) -> str:
        for text in reversed(self.tree.versions[path]):
            if covers(text, chunks):
                return text
        raise AssertionError(f"{path} is found as a mix of versions, twice or in part")

    def check_found(self) -> None:
        """Whatever is found is a version that was written once, whole and once."""
        for knowledge_id in sorted(self.folder_items):
            self.documents_found(knowledge_id)

    def check_settled(self) -> None:
        """Each file is found exactly once and as it is; deleted ones are not found."""
        expected = {path: self.tree.versions[path][-1] for path in self.tree.files()}
        found: dict[Path, str] = {}
        for knowledge_id in sorted(self.folder_items):
            found |= self.documents_found(knowledge_id)
        assert found == expected


def covers(text: str, chunks: list[dict[str, Any]]) -> bool:
    """Whether the chunks are all of this text, each place once."""
    position, indexes = 0, []
    for chunk in sorted(chunks, key=lambda chunk: chunk["start_index"]):
        start, end = chunk["start_index"], chunk["end_index"]
        if text[start:end] != chunk["content"] or text[position:start].strip():
            return False
        position = max(position, end)
        indexes.append(chunk["chunk_index"])
    return not text[position:].strip() and indexes == list(range(len(chunks)))


@pytest.fixture
def chaos(own_server: StartServer, own_sources: Path) -> Iterator[Chaos]:
    chance = random.Random(SEED)  # noqa: S311, no secret
    made = Chaos(own_server(), Tree(own_sources, chance), chance)
    for number in range(FOLDERS):
        made.tree.add_folder(f"folder-{number}", FILES_PER_FOLDER)
    yield made
    for child in made.children:
        if child.is_running():
            child.kill()


def test_what_was_acknowledged_survives_every_kill(chaos: Chaos) -> None:
    server = chaos.server.start()
    for number in range(FOLDERS):
        title = f"folder {number}"
        knowledge_id = server.create(
            chaos.tree.root / f"folder-{number}", "folder", title=title, category="Chaos"
        )
        chaos.ledger.titles[knowledge_id] = title
    assert set(chaos.ledger.titles) == chaos.folder_items
    for number in range(KILLS):
        moment = MOMENTS[number % len(MOMENTS)]
        logger.info("Kill %d of %d (CHAOS_SEED=%d): %s", number + 1, KILLS, SEED, moment)
        if moment != "mending":
            chaos.tree.change_some()
            chaos.submit_index_all()
        stop = threading.Event()
        disturbing = threading.Thread(target=chaos.disturb, args=(stop,))
        disturbing.start()
        try:
            chaos.wait_for(moment)
        finally:
            chaos.kill()
            stop.set()
            disturbing.join()
        server.start()
        assert "Traceback" not in server.log, server.log
        if MOMENTS[(number + 1) % len(MOMENTS)] != "mending":
            chaos.check_acknowledged()
            chaos.check_found()
    chaos.check_acknowledged()
    finish_and_verify(chaos)


def finish_and_verify(chaos: Chaos) -> None:
    server = chaos.server
    for job_id in sorted(chaos.ledger.jobs):
        wait_until(
            lambda path=f"/api/v1/jobs/{job_id}": (
                server.http.get(path).json()["state"] not in ("queued", "running")
            ),
            f"job {job_id} ends",
            300,
        )
    chaos.check_acknowledged()
    last = server.http.post("/api/v1/rag/index-all", timeout=300).json()
    chaos.check_settled()
    again = server.http.post("/api/v1/rag/index-all", timeout=300).json()
    assert sum(result["chunks_embedded"] for result in again["results"]) == 0
    assert again["chunks_indexed"] == last["chunks_indexed"]
    wait_until(
        lambda: server.http.get("/health/ready").json()["status"] == "ready", "the index is mended"
    )
    stats = wait_until(
        lambda: (now := server.stats())["pending_index_changes"] == 0 and now, "the outbox closes"
    )
    counts = stats["vector_index_records"], stats["lexical_index_records"], stats["total_chunks"]
    # Not what index-all counts: an item whose file is gone keeps its chunks, and fails.
    items = server.http.get("/api/v1/knowledge", params={"limit": 200}).json()["items"]
    assert counts == (sum(item["chunk_count"] for item in items),) * 3
    assert server.stop() == 0
    verified = run_command(server.environment, "verify", "--json")
    logger.info("%s; %s", dict(chaos.notes), verified.stdout)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    wait_until(
        lambda: not any(child.is_running() for child in chaos.children),
        "children of killed servers end by themselves",
    )
