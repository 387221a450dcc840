"""What the tests of search share: a database with documents and no index."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database import Database
from tests.databases import Databases
from tests.search.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path, databases: Databases) -> Iterator[Shelf]:
    """Documents with their chunks in SQL, nothing else."""
    database = Database(databases.new(tmp_path, "shelf.db"))
    yield Shelf(database)
    database.close()
