"""One first start of the server for all tests: it is looked at, and its converted model is used."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.e2e.server_process import RECORD_CONNECTIONS, ServerProcess


@dataclass(frozen=True)
class FirstStart:
    """A first start on an empty data directory, watched for connections."""

    models: Path
    home: Path
    """The home of its user, who has opted out of nothing."""
    log: str
    exit_code: int

    @property
    def export_log(self) -> str:
        """What the process that converted the model has written."""
        (log,) = self.models.glob("export-*.log")
        return log.read_text()


@pytest.fixture(scope="session")
def watched_python_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As PYTHONPATH of a process it makes every outgoing connection fail and be reported.

    So are the heavy libraries that the process has imported.
    """
    folder = tmp_path_factory.mktemp("watched")
    (folder / "sitecustomize.py").write_text(RECORD_CONNECTIONS)
    return folder


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory, watched_python_path: Path) -> FirstStart:
    """Made by the first worker that needs it: a conversion keeps both cores busy for 20 s."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = shared / "first-start"
    outcome = folder / "outcome.json"
    with FileLock(shared / "first-start.lock"):
        if not outcome.exists():
            (folder / "home").mkdir(parents=True, exist_ok=True)
            server = ServerProcess(
                folder / "data", folder, PYTHONPATH=watched_python_path, HOME=folder / "home"
            )
            try:
                server.start()
                code = server.stop()
            finally:
                server.close()
            outcome.write_text(json.dumps({"log": server.log, "exit_code": code}))
    return FirstStart(
        folder / "data" / "models", folder / "home", **json.loads(outcome.read_text())
    )
