"""What the tests of the web layer share: a service that answers its own errors as a server does."""

import pytest

from tests.light_service import client, database, service

__all__ = ["client", "database", "service"]


@pytest.fixture
def client_options() -> dict[str, bool]:
    return {"raise_server_exceptions": False}
