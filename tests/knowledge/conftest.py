"""What the tests of knowledge items share: a light service, and a function that makes items."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.database import Database
from app.settings import Settings
from tests.light_service import LightService, http_client, light_service

ITEMS = "/api/v1/knowledge"

MakeItem = Callable[..., dict[str, Any]]


@pytest.fixture
def service(settings: Settings, database_template: Path) -> LightService:
    return light_service(settings, database_template)


@pytest.fixture
def database(service: LightService) -> Iterator[Database]:
    yield service.database
    service.database.close()


@pytest.fixture
def client(service: LightService) -> Iterator[TestClient]:
    with http_client(service) as client:
        yield client


@pytest.fixture
def make_item(client: TestClient) -> MakeItem:
    """Creates an item with the given fields and returns it as the service answered it."""

    def make(**fields: Any) -> dict[str, Any]:
        body = {"title": "Guide", "uri": "/srv/docs", "document_type": "markdown"} | fields
        response = client.post(ITEMS, json=body)
        assert response.status_code == 201, response.text
        item: dict[str, Any] = response.json()
        return item

    return make
