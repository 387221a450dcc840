"""What tests share: databases of their own, and a running service on a fake model."""

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import settings as hypothesis_settings

from app.command.memory import COLLECTION_THRESHOLDS
from app.container import Container
from app.main import create_app
from app.settings import Settings
from tests.databases import TEST_POSTGRES_URL, Databases, open_databases
from tests.e2e.first_start import first_start, watched_python_path
from tests.fakes import FakeEmbedder
from tests.shared_statements import share_statements

__all__ = ["first_start", "watched_python_path"]


# How long an example takes says nothing of a law: that depends on what else the machine does.
hypothesis_settings.register_profile("no deadline", deadline=None)
hypothesis_settings.load_profile("no deadline")

HERE = Path(__file__).parent

LONGEST_FIRST = (
    "e2e/test_start_and_stop.py",
    "rag/test_service_against_a_model.py",
    "test_container_heals.py",
    "indexing/test_compaction.py",
)
"""Files that take longest, in turn: begun last, one of them would keep one worker busy alone."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is about the other database; put first what takes longest."""
    places = {HERE / name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
    unwanted = "sqlite_only" if TEST_POSTGRES_URL else "postgres_only"
    left_out = [item for item in items if item.get_closest_marker(unwanted)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(unwanted)]


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: now and then a test waits for a pause to pass."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect garbage as the service does, never among the many modules and tests."""
    gc.disable()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        share_statements(patch)
        yield


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """Makes databases with all tables; they are migrated once, and copied."""
    databases = open_databases(lambda: tmp_path_factory.mktemp("template"))
    yield databases
    databases.close()


@pytest.fixture(autouse=True)
def _drop_databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop what a test has made once everything else of it has ended."""
    if not TEST_POSTGRES_URL:
        yield
        return
    databases: Databases = request.getfixturevalue("databases")
    mark = databases.mark()
    yield
    databases.drop_since(mark)


@pytest.fixture(scope="session")
def description() -> dict[str, Any]:
    """The OpenAPI description, as `/openapi.json` answers it: making it takes a second."""
    return create_app(Settings(_env_file=None)).openapi()


@pytest.fixture
def source_root(tmp_path: Path) -> Path:
    """A folder whose files may be indexed."""
    root = tmp_path / "sources"
    root.mkdir()
    return root


@pytest.fixture
def settings(tmp_path: Path, source_root: Path, databases: Databases) -> Settings:
    """Settings of a service of the test's own, on the exact index."""
    return settings_on_exact(tmp_path, source_root, databases)


def settings_on_exact(folder: Path, source_root: Path, databases: Databases) -> Settings:
    """Settings of a service that keeps its data in the folder, on the exact index."""
    data_dir = folder / "data"
    data_dir.mkdir()
    return Settings(
        _env_file=None,
        data_dir=data_dir,
        database_url=databases.for_service(data_dir),
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
