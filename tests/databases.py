"""The databases of tests: files of SQLite, or databases of a PostgreSQL server, made in no time.

Which of the two is for the environment to say: TEST_POSTGRES_URL is the SQLAlchemy address of a
server on which databases may be created and dropped (`make test-postgres` sees to one). Each test
has databases of its own, copied from one that is migrated once.
"""

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest
from sqlalchemy import NullPool, create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

import migrations
from app.database import Database
from app.models import Base

TEST_POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "")

sqlite_only = pytest.mark.sqlite_only
"""For tests about files of SQLite; they are left out when the tests run on PostgreSQL."""

postgres_only = pytest.mark.postgres_only
"""For tests about a server; they are left out when the tests run on SQLite."""

NEWEST_REVISION = max(
    file.name[:4] for file in (Path(migrations.__file__).parent / "versions").glob("[0-9]*.py")
)

RESTART_NUMBERS = (
    "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'"
    " AND relnamespace = 'public'::regnamespace"
)
END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


class Databases(Protocol):
    """Makes databases; those of a folder are told apart by their names."""

    is_postgres: bool

    def new(self, folder: Path, name: str = "groundwork.db") -> str:
        """A migrated database for this folder, which exists; gives its address."""
        ...

    def for_service(self, folder: Path) -> str:
        """A migrated database for a data directory; gives what DATABASE_URL must be for it."""
        ...

    def empty(self, folder: Path, name: str = "groundwork.db") -> str:
        """A database without any table; gives its address."""
        ...

    def mark(self) -> int:
        """How many there have been; for `drop_since`."""
        ...

    def drop_since(self, mark: int) -> None:
        """Nobody uses those made since any more."""
        ...

    def close(self) -> None:
        """Drop all."""
        ...


class SqliteDatabases:
    """Files, where a service would put its own; they go with the folders of the tests."""

    is_postgres = False

    def __init__(self, folder: Path) -> None:
        self._template = folder / "template.db"
        _migrate(self.empty(folder, self._template.name))

    def new(self, folder: Path, name: str = "groundwork.db") -> str:
        shutil.copy(self._template, folder / name)
        return self.empty(folder, name)

    def for_service(self, folder: Path) -> str:
        self.new(folder)
        return ""  # it lies where a service looks for it

    def empty(self, folder: Path, name: str = "groundwork.db") -> str:
        return f"sqlite:///{folder / name}"

    def mark(self) -> int:
        return 0

    def drop_since(self, mark: int) -> None:
        """Nothing but files is left."""

    def close(self) -> None:
        """Nothing but files is left."""


class PostgresDatabases:
    """Databases of a server. Those that have tables are emptied after a test, and used again:

    making one takes half a second, emptying it 10 ms.
    """

    is_postgres = True

    def __init__(self, server_url: str) -> None:
        self._url = make_url(server_url)
        self._numbers = count()
        self._in_use: list[str] = []
        self._unused: list[str] = []
        self._migrated: set[str] = set()

    def new(self, folder: Path, name: str = "groundwork.db") -> str:  # noqa: ARG002, files have these
        if not self._unused:
            self._unused.append(self._create())
            _migrate(self._address(self._unused[-1]))
        self._in_use.append(self._unused.pop())
        self._migrated.add(self._in_use[-1])
        return self._address(self._in_use[-1])

    def for_service(self, folder: Path) -> str:
        return self.new(folder)

    def empty(self, folder: Path, name: str = "groundwork.db") -> str:  # noqa: ARG002, files have these
        self._in_use.append(self._create())
        return self._address(self._in_use[-1])

    def mark(self) -> int:
        return len(self._in_use)

    def drop_since(self, mark: int) -> None:
        while len(self._in_use) > mark:
            database = self._in_use.pop()
            if database in self._migrated and self._is_emptied(database):
                self._unused.append(database)
            else:
                self._drop(database)

    def close(self) -> None:
        self.drop_since(0)
        for database in self._unused:
            self._drop(database)

    def _create(self) -> str:
        name = f"groundwork_test_{os.getpid()}_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        return name

    def _drop(self, name: str) -> None:
        self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _is_emptied(self, name: str) -> bool:
        """Whether it is as it was when it was migrated; not so when the test changed its tables."""
        engine = create_engine(self._address(name), poolclass=NullPool)
        try:
            with engine.begin() as connection:
                connection.exec_driver_sql("SET lock_timeout = '1s'")
                for table in reversed(Base.metadata.sorted_tables):
                    connection.execute(table.delete())
                connection.exec_driver_sql(RESTART_NUMBERS)
                connection.exec_driver_sql(END_OTHERS)
                revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version")
                return str(revision.scalar()) == NEWEST_REVISION
        except DBAPIError:
            return False

    def _address(self, name: str) -> str:
        return self._url.set(database=name).render_as_string(hide_password=False)

    def _execute(self, statement: str) -> None:
        server = create_engine(self._url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with server.connect() as connection:
            connection.exec_driver_sql(statement)


def _migrate(url: str) -> None:
    database = Database(url)
    database.migrate()
    database.close()


def open_databases(make_folder: Callable[[], Path]) -> Databases:
    """Those that the environment names."""
    if TEST_POSTGRES_URL:
        return PostgresDatabases(TEST_POSTGRES_URL)
    return SqliteDatabases(make_folder())
