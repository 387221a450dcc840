"""What the tests of search share: a database with documents and no index."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database import Database
from tests.search.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path, database_template: Path) -> Iterator[Shelf]:
    """Documents with their chunks in SQL, nothing else."""
    path = tmp_path / "shelf.db"
    shutil.copy(database_template, path)
    database = Database(f"sqlite:///{path}")
    yield Shelf(database)
    database.close()
