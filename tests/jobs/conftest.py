"""What the tests of jobs share: a service whose jobs nobody runs unless the test does."""

import pytest

from app.database import Database
from app.jobs.service import JobService
from tests.light_service import LightService, client, client_options, database, service

__all__ = ["client", "client_options", "database", "service"]


@pytest.fixture
def jobs(service: LightService, database: Database) -> JobService:
    return service.jobs
