"""The real server on the real model, which is converted once for all tests."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.first_start import FirstStart
from tests.e2e.server_process import ServerProcess

StartServer = Callable[..., ServerProcess]


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
