"""Notices a PostgreSQL that has gone silent without ending its connections, as a frozen machine.

The system answers for it there, so no timeout of TCP is ever reached, and who asked waits for as
long as it lasts.
"""

import functools
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from types import ModuleType
from typing import Any

from sqlalchemy import Dialect

SILENT = "it says nothing, neither to what it was asked nor to who connects"


def connect(dialect: Dialect, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A connection of psycopg's that ends when its server says nothing for `tcp_user_timeout`.

    A statement may take as long as it likes: after half of that time without a word, the server is
    asked by another connection whether it is there.
    """
    driver: Any = dialect.loaded_dbapi
    connection = _watched_connections(driver).connect(*arguments, **options)
    half_seconds = int(options.get("tcp_user_timeout") or 0) / 2000

    def is_there() -> bool:
        patience = {"connect_timeout": max(2, round(half_seconds))}  # 2: libpq's least
        try:
            driver.connect(*arguments, **{**options, **patience}).close()
        except driver.errors.ConnectionTimeout:
            return False
        except driver.Error:  # so it says something, or its system does: then so will the socket
            pass
        return True

    if half_seconds:
        connection.watch = functools.partial(_while_it_is_there, is_there, half_seconds)
    return connection


@functools.cache
def _watched_connections(driver: ModuleType) -> Any:
    base: Any = driver.Connection

    class WatchedConnection(base):  # type: ignore[misc]
        watch: Callable[[Generator[Any, Any, Any]], Generator[Any, Any, Any]] | None = None

        def wait(self, work: Any, *arguments: Any, **options: Any) -> Any:
            if self.watch is None:
                return super().wait(work, *arguments, **options)
            try:
                return super().wait(self.watch(work), *arguments, **options)
            except _SilentError as error:
                self.close()
                raise driver.OperationalError(SILENT) from error

    return WatchedConnection


class _SilentError(Exception):
    """Raised within the wait for a server that has gone silent."""


def _while_it_is_there(
    is_there: Callable[[], bool], seconds: float, work: Generator[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    """Go on with psycopg's work, which is told every 0.1 s that nothing has come meanwhile."""
    try:
        wanted = next(work)
        heard = time.monotonic()
        while True:
            ready = yield wanted
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard >= seconds:
                if not is_there():
                    raise _SilentError
                heard = time.monotonic()
            wanted = work.send(ready)
    except StopIteration as end:
        return end.value
