"""The real server on the real model, which is converted once for all tests of this folder."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.server_process import RECORD_CONNECTIONS, ServerProcess

StartServer = Callable[..., ServerProcess]


@dataclass(frozen=True)
class FirstStart:
    """A first start on an empty data directory, watched for connections."""

    models: Path
    log: str
    exit_code: int


@pytest.fixture(scope="session")
def watched_python_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As PYTHONPATH of a process it makes every outgoing connection fail and be reported."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "sitecustomize.py").write_text(RECORD_CONNECTIONS)
    return folder


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory, watched_python_path: Path) -> FirstStart:
    folder = tmp_path_factory.mktemp("first-start")
    server = ServerProcess(folder / "data", folder, PYTHONPATH=watched_python_path)
    try:
        server.start()
        code = server.stop()
    finally:
        server.close()
    return FirstStart(server.data_dir / "models", server.log, code)


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart
) -> Iterator[ServerProcess]:
    """One server for all tests that do not mind what others have stored."""
    folder = tmp_path_factory.mktemp("shared-server")
    (folder / "sources").mkdir()
    shutil.copytree(first_start.models, folder / "data" / "models")
    running = ServerProcess(folder / "data", folder / "sources")
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture
def shared_sources(server: ServerProcess) -> Path:
    """The folder from which the shared server may read."""
    return Path(server.environment["SOURCE_ROOTS"])


@pytest.fixture
def own_sources(tmp_path: Path) -> Path:
    """The folder from which a test's own server may read."""
    folder = tmp_path / "sources"
    folder.mkdir()
    return folder


@pytest.fixture
def own_data_dir(tmp_path: Path, first_start: FirstStart) -> Path:
    """A data directory that holds nothing but the converted model."""
    shutil.copytree(first_start.models, tmp_path / "data" / "models")
    return tmp_path / "data"


@pytest.fixture
def own_server(own_data_dir: Path, own_sources: Path) -> Iterator[StartServer]:
    """Makes a server of the test's own (not started yet); settings are given by name."""
    made = []

    def make(**settings: object) -> ServerProcess:
        made.append(ServerProcess(own_data_dir, own_sources, **settings))
        return made[-1]

    yield make
    for process in made:
        process.close()
