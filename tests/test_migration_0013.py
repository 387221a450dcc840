"""What revision 0013 leaves behind when it is taken back."""

import importlib
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import inspect, text

from app.database import Database
from tests.databases import Databases

REVISION = importlib.import_module("migrations.versions.0013_collection_languages")


def test_without_languages_the_lexical_index_is_not_trusted_any_more(
    tmp_path: Path, databases: Databases
) -> None:
    database = Database(databases.empty(tmp_path))
    database.migrate("0013")
    with database.write() as session:
        for name in ("lexical", "vector"):
            row = {"name": name}
            session.execute(text("INSERT INTO index_stamps VALUES (:name, 'stamp')"), row)
        with Operations.context(MigrationContext.configure(session.connection())):
            REVISION.downgrade()
        stamps = session.scalars(text("SELECT index_name FROM index_stamps"))
        assert list(stamps) == ["vector"]
        assert not inspect(session.connection()).has_table("collection_languages")
        with Operations.context(MigrationContext.configure(session.connection())):
            REVISION.upgrade()
        assert inspect(session.connection()).has_table("collection_languages")
    database.migrate("base")
    database.close()
