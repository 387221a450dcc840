"""`kill -9` of the real server at random moments and at every named step: nothing is lost."""

import logging
import os
import random
import shutil
import signal
import subprocess
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

from app.fault_points import KILL_AT, FaultPoint
from tests.chaos.ledger import FleetingItem, Ledger, Tree
from tests.chaos.plan import Kill, Plan, Situation
from tests.chaos.visitor import Visitor
from tests.e2e.conftest import StartServer
from tests.e2e.server_process import ServerProcess, limited, run_command, wait_until

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("CHAOS_KILLS", "30"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
MOST_STEPS_OF_A_ROUND = 120
"""From so many kills on, each step has its turn."""

VERIFIED_EVERY = 10
"""Kills between two runs of `groundwork verify`, which needs the server stopped: the costliest of
the checks. All others follow every kill that did not come at a start or in resumed work."""

FOLDERS = 4
FILES_PER_FOLDER = 20
CHANGED_FILES = 5
EVERY_CHUNK = 100
"""The most results of a search: more than an item of ours has chunks."""

STEP_SECONDS = 20.0
"""How long a step may take to come. Work goes on meanwhile, so it comes unless it is gone."""

RANDOM_SECONDS = {
    Situation.WORK: 2.5,
    Situation.RESUMPTION: 1.5,
    Situation.START: 3.0,
    Situation.STOP: 0.5,
    Situation.COMPACTION: 4.0,
}
"""Within this time after its beginning a random kill comes."""


@dataclass
class Chaos:
    """One server, what it should hold, and the kills."""

    server: ServerProcess
    tree: Tree
    visitor: Visitor
    random: random.Random
    gate: Path
    """While there is this file, passings of the step count at which the server is to die."""
    ledger: Ledger = field(default_factory=Ledger)
    kills: Counter[str] = field(default_factory=Counter)
    promised: bool = True
    """Whether it was answered that the folders will be indexed as they are now."""
    unverified: int = 0
    """Kills since `groundwork verify` was run."""

    # Kills ---------------------------------------------------------------------------------

    def die(self, kill: Kill) -> bool:
        """Bring the server into the situation and kill it there; whether it was as planned."""
        self.gate.unlink(missing_ok=True)
        happens = {
            Situation.WORK: self._die_at_work,
            Situation.RESUMPTION: self._die_at_work,
            Situation.START: self._die_at_start,
            Situation.CLEAN_START: self._die_at_start,
            Situation.HEALING: self._die_at_start,
            Situation.STOP: self._die_at_stop,
            Situation.COMPACTION: self._die_compacting,
        }
        as_planned = happens[kill.situation](kill)
        self.unverified += 1
        self.kills[kill.name if as_planned else "a random moment, as a step was missed"] += 1
        assert "Traceback" not in self.server.log, self.server.log
        return as_planned

    def start(self, kill: Kill | None = None) -> None:
        """Start the server, to die at the kill's step."""
        self._arm(kill)
        self.server.start()

    def _arm(self, kill: Kill | None) -> None:
        self.server.environment.pop(KILL_AT, None)
        if kill is not None and kill.point is not None:
            self.server.environment[KILL_AT] = f"{kill.point}:{kill.passing}@{self.gate}"

    def _die_at_work(self, kill: Kill) -> bool:
        if kill.situation is Situation.RESUMPTION:
            self.gate.touch()
            if not self._has_started(kill):
                return True
        else:
            self.start(kill)
            self.check()
        stop = threading.Event()
        visiting = threading.Thread(target=self.visitor.run, args=(self.server.url, stop))
        visiting.start()
        try:
            time.sleep(self.random.uniform(0.0, 0.2))
            self.gate.touch()
            return self._work_until(kill)
        finally:
            self.server.kill()
            stop.set()
            visiting.join()

    def _has_started(self, kill: Kill) -> bool:
        """Start a server that may die on the way."""
        try:
            self.start(kill)
        except AssertionError:
            assert self.server.exit_code == -signal.SIGKILL, self.server.log
            return False
        return True

    def _work_until(self, kill: Kill) -> bool:
        """Change files and have them indexed until the server dies or is to be killed."""
        seconds = STEP_SECONDS if kill.point else self._random_seconds(kill)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                job_id = self.change_and_index_all()
                while time.monotonic() < deadline and not self._has_ended(job_id):
                    time.sleep(0.01)
            except httpx.TransportError:
                break
        return kill.point is None or self._died(1.0)

    def _die_at_start(self, kill: Kill) -> bool:
        if kill.situation is Situation.CLEAN_START:
            self.start()
            self.check()
            assert self.server.stop() == 0
        if kill.situation is Situation.HEALING:
            name = "lexical" if str(kill.point).startswith("lexical") else "chroma"
            shutil.rmtree(self.server.data_dir / name)
        self.gate.touch()
        self._arm(kill)
        self.server.launch()
        died = self._died(STEP_SECONDS if kill.point else self._random_seconds(kill))
        self.server.kill()
        return died or kill.point is None

    def _die_at_stop(self, kill: Kill) -> bool:
        self.start(kill)
        self.check()
        job_id = self.change_and_index_all(force="true")
        wait_until(lambda: self._state(job_id) != "queued", "the job is taken up")
        self.gate.touch()
        self.server.terminate()
        if kill.point is None:
            time.sleep(self._random_seconds(kill))
            self.server.kill()
            return True
        return self.server.wait() == -signal.SIGKILL

    def _die_compacting(self, kill: Kill) -> bool:
        self.start()
        self.check()
        assert self.server.stop() == 0
        self.gate.touch()
        self._arm(kill)
        if kill.point is not None:
            done = run_command(self.server.environment, "compact")
            return done.returncode == -signal.SIGKILL
        with subprocess.Popen(limited("compact"), env=self.server.environment) as command:
            try:
                command.wait(self._random_seconds(kill))
            except subprocess.TimeoutExpired:
                command.kill()
        return True

    def _random_seconds(self, kill: Kill) -> float:
        return self.random.uniform(0.0, RANDOM_SECONDS[kill.situation])

    def _died(self, seconds: float) -> bool:
        """Whether the server kills itself within this time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.server.exit_code is not None:
                assert self.server.exit_code == -signal.SIGKILL, self.server.log
                return True
            time.sleep(0.005)
        return False

    def processes(self) -> list[psutil.Process]:
        """Processes of ours that work in the data directory."""
        named = str(self.server.data_dir)
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(named in argument for argument in process.info["cmdline"] or ())
        ]

    # Jobs ----------------------------------------------------------------------------------

    def change_and_index_all(self, **wishes: str) -> int:
        """Change files and have them indexed; gives the job."""
        self.promised = False
        self.tree.change_some(CHANGED_FILES)
        job_id = int(self._index_all(202, wait="false", **wishes)["id"])
        self.ledger.open_jobs[job_id] = None
        self.promised = True
        return job_id

    def _index_all(self, expected: int, **wishes: str) -> dict[str, Any]:
        answer = self.server.http.post("/api/v1/rag/index-all", params=wishes, timeout=300)
        assert answer.status_code == expected, answer.text
        return dict(answer.json())

    def _state(self, job_id: int) -> str:
        answer = self.server.http.get(f"/api/v1/jobs/{job_id}")
        assert answer.status_code == 200, f"job {job_id} was acknowledged: {answer.text}"
        return str(answer.json()["state"])

    def _has_ended(self, job_id: int) -> bool:
        return self._state(job_id) not in ("queued", "running")

    # Checks --------------------------------------------------------------------------------

    def check(self) -> None:
        """Hold what is there after a kill against the ledger."""
        assert self.visitor.failures == []
        self._check_items()
        self._check_found()
        self._check_jobs()
        if not self.promised:
            self._index_all(200)
        self._check_settled()
        if self.unverified >= VERIFIED_EVERY:
            self._check_verified()
            self.server.start()

    def _check_items(self) -> None:
        """Every item that was answered is there, every deletion holds."""
        ledger, http = self.ledger, self.server.http
        for item_id, item in sorted(ledger.fleeting.items()):
            answer = http.get(f"/api/v1/knowledge/{item_id}")
            if item.is_perhaps_deleted and answer.status_code == 404:
                ledger.deleted.add(item_id)
                del ledger.fleeting[item_id]
                continue
            assert answer.status_code == 200, f"item {item_id} was acknowledged: {answer.text}"
            assert answer.json()["title"] in item.titles
            item.titles, item.is_perhaps_deleted = {answer.json()["title"]}, False
        for item_id in self.folder_items:
            assert self.server.item(item_id)["title"] == f"folder {item_id}"
        deleted = sorted(ledger.deleted)[-50:]
        for item_id in deleted:
            assert http.get(f"/api/v1/knowledge/{item_id}").status_code == 404
        if deleted:
            assert self.server.search("harbor", knowledge_ids=deleted, n_results=100) == []

    def _check_found(self) -> None:
        """What is found is one version, whole and once; what was acknowledged is found."""
        for item_id in self.folder_items:
            self._documents_found(item_id, self.tree)
        for item_id, item in sorted(self.ledger.fleeting.items()):
            self._check_fleeting(item_id, item)

    def _check_fleeting(self, item_id: int, item: FleetingItem) -> None:
        found = self._documents_found(item_id, self.visitor.tree)
        assert set(found) <= {item.path}
        if item.is_searchable:
            assert item.path in found, f"item {item_id} was acknowledged and is not found"
        for version in found.values():
            assert version >= item.least_version, f"item {item_id} is back at an older text"

    def _documents_found(self, item_id: int, tree: Tree) -> dict[Path, int]:
        """The documents of an item as searches show them, each with its version."""
        found = self.server.search("harbor tide", knowledge_ids=[item_id], n_results=EVERY_CHUNK)
        assert len(found) < EVERY_CHUNK, "more chunks than one search shows"
        assert len({result["chunk_id"] for result in found}) == len(found)
        by_document: dict[Path, list[dict[str, Any]]] = {}
        for result in found:
            by_document.setdefault(Path(result["document_uri"]), []).append(result)
        return {path: tree.version_of(path, chunks) for path, chunks in by_document.items()}

    def _check_jobs(self) -> None:
        """What was promised gets done."""
        for job_id, item_id in sorted(self.ledger.open_jobs.items()):
            wait_until(lambda job_id=job_id: self._has_ended(job_id), f"job {job_id} ends")
            state = self._state(job_id)
            may_stop = item_id is not None and item_id in self.ledger.stopped_items
            assert state == "succeeded" or (may_stop and state in ("cancelled", "failed")), job_id
        self.ledger.open_jobs.clear()

    def _check_settled(self) -> None:
        """Each file of the folders is found once and as it is; deleted ones are not found."""
        found: dict[Path, int] = {}
        for item_id in self.folder_items:
            found |= self._documents_found(item_id, self.tree)
        assert found == {path: len(self.tree.versions[path]) - 1 for path in self.tree.files()}

    def _check_verified(self) -> None:
        """The database and both indexes agree; leaves the server stopped."""
        self.unverified = 0
        assert self.server.stop() == 0
        environment = {k: v for k, v in self.server.environment.items() if k != KILL_AT}
        verified = run_command(environment, "verify", "--json")
        assert verified.returncode == 0, verified.stdout + verified.stderr

    def check_the_end(self) -> None:
        """After the last check: nothing is embedded again, the counts agree, all is sound."""
        server = self.server
        first, again = self._index_all(200), self._index_all(200)
        assert sum(result["chunks_embedded"] for result in again["results"]) == 0
        assert again["chunks_indexed"] == first["chunks_indexed"]
        wait_until(
            lambda: server.http.get("/health/ready").json()["status"] == "ready", "all is mended"
        )
        stats = wait_until(
            lambda: (now := server.stats())["pending_index_changes"] == 0 and now, "it settles"
        )
        names = ("vector_index_records", "lexical_index_records", "total_chunks")
        # Not what index-all counts: an item whose file is gone keeps its chunks, and fails.
        items = server.http.get("/api/v1/knowledge", params={"limit": 200}).json()["items"]
        expected = sum(item["chunk_count"] for item in items)
        assert [stats[name] for name in names] == [expected] * 3
        self._check_verified()
        wait_until(lambda: not self.processes(), "what killed servers had started ends")

    @property
    def folder_items(self) -> range:
        return range(1, FOLDERS + 1)


@pytest.fixture
def chaos(own_server: StartServer, own_sources: Path, tmp_path: Path) -> Iterator[Chaos]:
    chance = random.Random(SEED)  # noqa: S311, no secret
    tree = Tree(own_sources, chance)
    for number in range(1, FOLDERS + 1):
        tree.add_folder(f"folder-{number}", FILES_PER_FOLDER)
    (own_sources / "fleeting").mkdir()
    own_tree = Tree(own_sources / "fleeting", random.Random(SEED + 1))  # noqa: S311, no secret
    ledger = Ledger()
    visitor = Visitor(ledger, own_tree)
    made = Chaos(own_server(), tree, visitor, chance, tmp_path / "gate", ledger)
    yield made
    made.server.close()
    for process in made.processes():
        process.kill()


def test_what_was_acknowledged_survives_every_kill(chaos: Chaos) -> None:
    server = chaos.server.start()
    for number in chaos.folder_items:
        folder = chaos.tree.root / f"folder-{number}"
        item_id = server.create(folder, "folder", title=f"folder {number}", category="Chaos")
        assert item_id == number
        assert server.index(item_id)["success"]
    server.kill()
    plan = Plan(KILLS, chaos.random)
    for number, kill in enumerate(plan, start=1):
        logger.info("Kill %d of %d (CHAOS_SEED=%d): %s", number, KILLS, SEED, kill)
        if not chaos.die(kill):
            logger.info("Kill %d: the step was not passed", number)
            plan.missed(kill)
    chaos.start()
    chaos.check()
    chaos.check_the_end()
    for name, count in sorted(chaos.kills.items()):
        logger.info("%4d kills at %s", count, name)
    logger.info("%d kills, %d acknowledged changes", chaos.kills.total(), chaos.ledger.answers)
    if KILLS >= MOST_STEPS_OF_A_ROUND:
        assert set(FaultPoint) <= set(chaos.kills), "every step had its kill"
