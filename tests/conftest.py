"""What tests share: a migrated database to copy, and a running service on a fake model."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.container import Container
from app.database import Database
from app.main import create_app
from app.settings import Settings
from tests.fakes import FakeEmbedder


@pytest.fixture(scope="session")
def database_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with all tables; migrated once, copied per test."""
    path = tmp_path_factory.mktemp("template") / "groundwork.db"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.close()
    return path


@pytest.fixture
def source_root(tmp_path: Path) -> Path:
    """A folder whose files may be indexed."""
    root = tmp_path / "sources"
    root.mkdir()
    return root


@pytest.fixture
def settings(tmp_path: Path, source_root: Path, database_template: Path) -> Settings:
    """Settings of a service of the test's own, on the exact index."""
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    shutil.copy(database_template, data_dir / "groundwork.db")
    return Settings(
        _env_file=None,
        data_dir=data_dir,
        source_roots=[source_root],
        vector_index="exact",
        chunk_size=200,
        overlap=40,
        disable_auto_indexing=True,  # tests that follow sources say so themselves
    )


@pytest.fixture
def embedder() -> FakeEmbedder:
    """A deterministic model without weights that notes what it embeds."""
    return FakeEmbedder()


@pytest.fixture
def open_container(settings: Settings, embedder: FakeEmbedder) -> Iterator[Callable[[], Container]]:
    """Opens the service on the test's data directory; call it again after `close` to restart."""
    opened: list[Container] = []

    def open_one() -> Container:
        opened.append(Container.open(settings, embedder=embedder))
        return opened[-1]

    yield open_one
    for container in opened:
        container.close()


@pytest.fixture
def container(open_container: Callable[[], Container]) -> Container:
    """A running service."""
    return open_container()


@pytest.fixture
def client(container: Container) -> Iterator[TestClient]:
    """An HTTP client of a running service."""
    with TestClient(create_app(container=container)) as client:
        yield client
