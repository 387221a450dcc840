"""A service without model and index: SQL, items and jobs are real, for tests of just these."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from app.container import Container
from app.database import Database
from app.errors import AppError
from app.jobs.bell import JobBell
from app.jobs.service import JobService
from app.jobs.watching import JobWatch
from app.knowledge.history import HistoryService
from app.knowledge.service import KnowledgeService
from app.main import create_app
from app.metrics import Metrics
from app.models import CurrentGenerationRow, GenerationRow
from app.settings import Settings
from app.web.health_schemas import PartHealth
from tests.databases import Databases
from tests.patience import PATIENCE_SECONDS


class LightService:
    """What routers find in a container, as far as items, jobs and health need it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.database = Database(
            settings.resolved_database_url,
            # Writers stand in line, and the line moves slowly on a busy machine. SQLite keeps no
            # order in it: of four that write all the time, one may well have none for a second.
            lock_timeout_seconds=PATIENCE_SECONDS,
        )
        self.database.hold()
        self.knowledge = KnowledgeService(
            self.database, self, settings.chroma_collection_name, settings.lexical_language
        )
        self.bell = JobBell()
        self.jobs = JobService(self.database, on_queued=self.job_queued, bell=self.bell)
        self.job_watch = JobWatch(self.jobs, self.bell)
        self.history = HistoryService(self.database)
        self.told: list[str] = []
        self.parts = {"vector_index": PartHealth(status="ready", detail="exact: 0 records")}

    def deleting_item(self, _session: Session, item_id: int) -> Callable[[], None]:
        return lambda: self.told.append(f"item {item_id} deleted")

    def index_changes_noted(self) -> None:
        self.told.append("index changes noted")

    def job_queued(self) -> None:
        self.told.append("job queued")

    def part_health(self) -> dict[str, PartHealth]:
        try:
            self.database.ping()
            database = PartHealth(status="ready", detail="answers")
        except AppError as error:
            database = PartHealth(status="failed", detail=error.detail)
        return {"database": database} | self.parts

    def refresh_gauges(self) -> None:
        self.metrics.jobs_waiting.set(self.jobs.count_waiting())


def light_service(settings: Settings, databases: Databases) -> LightService:
    """A service in a data directory of its own, on the database of the settings if there is one."""
    settings.data_dir.mkdir(exist_ok=True)
    url = settings.database_url or databases.for_service(settings.data_dir)
    service = LightService(settings.model_copy(update={"database_url": url}))
    add_first_generation(service.database)
    return service


def add_first_generation(database: Database) -> None:
    """Let chunks that a test writes itself be of the generation that answers."""
    with database.write() as session:
        rules = {"embedding_model": "fake", "fingerprint": "0" * 16, "splitter": "test"}
        session.add(GenerationRow(id=1, dimension=64, **rules))
        session.flush()
        session.add(CurrentGenerationRow(generation_id=1))


@contextmanager
def http_client(service: LightService, **options: bool) -> Iterator[TestClient]:
    """An HTTP client of the service; `options` are TestClient's."""
    app = create_app(container=cast("Container", service))
    with TestClient(app, follow_redirects=False, **options) as client:
        yield client
    service.database.close()


# Fixtures: a folder of tests imports those that it wants into its conftest.py -----------------


@pytest.fixture
def service(settings: Settings, databases: Databases) -> Iterator[LightService]:
    made = light_service(settings, databases)
    yield made
    made.database.close()


@pytest.fixture
def database(service: LightService) -> Database:
    return service.database


@pytest.fixture
def client_options() -> dict[str, bool]:
    return {}


@pytest.fixture
def client(
    service: LightService, database: Database, client_options: dict[str, bool]
) -> Iterator[TestClient]:
    with http_client(service, **client_options) as client:
        yield client
