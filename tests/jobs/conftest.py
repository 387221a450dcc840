"""What the tests of jobs share: a service whose jobs nobody runs unless the test does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.database import Database
from app.jobs.service import JobService
from app.settings import Settings
from tests.light_service import LightService, http_client, light_service


@pytest.fixture
def service(settings: Settings, database_template: Path) -> LightService:
    return light_service(settings, database_template)


@pytest.fixture
def database(service: LightService) -> Iterator[Database]:
    yield service.database
    service.database.close()


@pytest.fixture
def jobs(service: LightService, database: Database) -> JobService:
    return service.jobs


@pytest.fixture
def client(service: LightService, database: Database) -> Iterator[TestClient]:
    with http_client(service) as client:
        yield client
