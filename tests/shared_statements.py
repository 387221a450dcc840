"""What SQLAlchemy compiles in a run of tests, kept for all databases of the run.

It is kept for an engine. A service has one engine as long as it runs; each test has its own, and
compiling all that a service says anew took a third of the time of tests that run one.
"""

from collections.abc import Callable

import pytest
from sqlalchemy import Dialect, Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

MOST_STATEMENTS = 2_000


def share_statements(patch: pytest.MonkeyPatch) -> None:
    """Have engines of SQLite that are made from now on share what is compiled for one of them.

    The cache tells statements apart by the dialect they were compiled for, too: those of one
    interpreter are alike.
    """
    statements: LRUCache[object, object] = LRUCache(MOST_STATEMENTS)

    def share(engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=statements)

    def alike(one: Dialect, other: object) -> bool:
        return type(one) is type(other)

    def kind(one: Dialect) -> int:
        return hash(type(one))

    own: dict[str, Callable[..., object]] = {"__eq__": alike, "__hash__": kind}
    for name, function in own.items():
        patch.setattr(SQLiteDialect_pysqlite, name, function)
    patch.setattr(SQLiteDialect_pysqlite, "engine_created", staticmethod(share))
