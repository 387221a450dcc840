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

import httpx
import pytest

from app.fault_points import KILL_AT, FaultPoint
from tests.chaos.ledger import Ledger, Tree
from tests.chaos.plan import Kill, Plan, Situation
from tests.chaos.visitor import Visitor
from tests.chaos.witness import FILES_PER_FOLDER, FOLDERS, Witness
from tests.e2e.conftest import StartServer
from tests.e2e.server_process import ServerProcess, limited, run_command, wait_until

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("CHAOS_KILLS", "30"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
EVERY_STEP_FROM = 120
"""From so many kills on, each step has its turn."""

STEP_SECONDS = 60.0
"""How long a step may take to come. Work goes on meanwhile, so it comes unless it is gone."""

SIZES = ("1000", "600")
"""Of chunks, in turn."""

RANDOM_SECONDS = {
    Situation.WORK: 2.5,
    Situation.RESUMPTION: 1.5,
    Situation.START: 3.0,
    Situation.STOP: 0.5,
    Situation.COMPACTION: 4.0,
    Situation.SWITCH: 4.0,
}
"""Within this time after its beginning a random kill comes."""


@dataclass
class Chaos:
    """One server, who watches it, and the kills."""

    witness: Witness
    random: random.Random
    gate: Path
    """While there is this file, passings of the step count at which the server is to die."""
    kills: Counter[str] = field(default_factory=Counter)

    @property
    def server(self) -> ServerProcess:
        return self.witness.server

    def report(self) -> str:
        """How many kills came where."""
        lines = [f"{count:4} {name}" for name, count in sorted(self.kills.items())]
        acknowledged = f"{self.witness.ledger.answers} changes of items were acknowledged"
        return "\n".join([f"CHAOS_SEED={SEED}, {acknowledged}; kills:", *lines])

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
            Situation.SWITCH: self._die_switching,
        }
        as_planned = happens[kill.situation](kill)
        self.kills[kill.name if as_planned else "a random moment, as a step was missed"] += 1
        assert "Traceback" not in self.server.log, self.server.log
        self.witness.check_a_copy()
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
            self.witness.check()
        stop = threading.Event()
        visiting = threading.Thread(target=self.witness.visitor.run, args=(self.server.url, stop))
        visiting.start()
        try:
            time.sleep(self.random.uniform(0.0, 1.0))  # so that some of the work gets done
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
                job_id = self.witness.change_and_index_all()
                while time.monotonic() < deadline and not self.witness.has_ended(job_id):
                    time.sleep(0.01)
            except httpx.TransportError:
                break
        return kill.point is None or self._died(1.0)

    def _die_at_start(self, kill: Kill) -> bool:
        if kill.situation is Situation.CLEAN_START:
            self.start()
            self.witness.check()
            assert self.server.stop() == 0
        if kill.situation is Situation.HEALING:
            name = "lexical" if str(kill.point).startswith("lexical") else "chroma"
            data_dir = self.server.data_dir
            for folder in (data_dir / name, *data_dir.glob(f"generations/*/{name}")):
                shutil.rmtree(folder, ignore_errors=True)  # of whatever generation
        self.gate.touch()
        self._arm(kill)
        self.server.launch()
        died = self._died(STEP_SECONDS if kill.point else self._random_seconds(kill))
        self.server.kill()
        return died or kill.point is None

    def _die_at_stop(self, kill: Kill) -> bool:
        self.start(kill)
        self.witness.check()
        job_id = self.witness.change_and_index_all(force="true")
        wait_until(lambda: self.witness.state(job_id) != "queued", "the job is taken up")
        self.gate.touch()
        self.server.terminate()
        if kill.point is None:
            time.sleep(self._random_seconds(kill))
            self.server.kill()
            return True
        return self.server.wait() == -signal.SIGKILL

    def _die_switching(self, kill: Kill) -> bool:
        self.start()
        self.witness.check()
        wait_until(self.witness.generation_is_wanted, "an earlier switch ends")
        job_id = self.witness.change_and_index_all()  # so that the other generation lacks some
        wait_until(lambda: self.witness.has_ended(job_id), "what changed is indexed")
        assert self.server.stop() == 0
        size = self.server.environment.get("CHUNK_SIZE", SIZES[0])
        self.server.environment["CHUNK_SIZE"] = next(each for each in SIZES if each != size)
        self.gate.touch()
        self._arm(kill)
        self.server.launch()
        died = self._died(STEP_SECONDS if kill.point else self._random_seconds(kill))
        self.server.kill()
        return died or kill.point is None

    def _die_compacting(self, kill: Kill) -> bool:
        self.start()
        self.witness.check()
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


@pytest.fixture
def chaos(own_server: StartServer, own_sources: Path, tmp_path: Path) -> Iterator[Chaos]:
    chance = random.Random(SEED)  # noqa: S311, no secret
    tree = Tree(own_sources, chance)
    for number in range(1, FOLDERS + 1):
        tree.add_folder(f"folder-{number}", FILES_PER_FOLDER)
    (own_sources / "fleeting").mkdir()
    fleeting = Tree(own_sources / "fleeting", random.Random(SEED + 1))  # noqa: S311, no secret
    ledger = Ledger()
    witness = Witness(own_server(), tree, Visitor(ledger, fleeting), ledger)
    yield Chaos(witness, chance, tmp_path / "gate")
    witness.server.close()
    for process in witness.processes():
        process.kill()


def test_what_was_acknowledged_survives_every_kill(chaos: Chaos) -> None:
    chaos.server.start()
    chaos.witness.create_folders()
    chaos.server.kill()
    plan = Plan(KILLS, chaos.random)
    for number, kill in enumerate(plan, start=1):
        began = time.monotonic()
        as_planned = chaos.die(kill)
        seconds, missed = time.monotonic() - began, "" if as_planned else ", which it missed"
        logger.info("Kill %d at %s%s (%.1f s)", number, kill.name, missed, seconds)
        if not as_planned:
            plan.missed(kill)
    chaos.start()
    chaos.witness.check()
    chaos.witness.check_the_end()
    logger.info("%s", chaos.report())
    if KILLS >= EVERY_STEP_FROM:
        assert set(FaultPoint) <= set(chaos.kills), "every step had its kill"
