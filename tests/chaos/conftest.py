"""Fixtures of the kill tests: they start the same real server as the end-to-end tests."""

from tests.e2e.conftest import (  # noqa: F401, fixtures
    own_data_dir,
    own_server,
    own_sources,
)
