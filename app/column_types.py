"""What columns hold, and what is read in the place of a value that is damaged."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Integer,
    LargeBinary,
    TypeDecorator,
)

UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)
"""What is read in the place of a stored time that is none."""


def _read_or(read: Callable[[Any], Any] | None, stand_in: object) -> Callable[[Any], Any]:
    """Reads what is stored as the database's driver does, or else SQLAlchemy.

    What cannot be read is `stand_in`.
    """

    def held(stored: Any) -> Any:
        try:
            return stored if read is None else read(stored)
        except (ValueError, TypeError, RecursionError):
            return stand_in

    return held


class UTCDateTime(TypeDecorator[datetime]):
    """A point in time: stored in UTC, always read back with its time zone.

    One that is damaged is read as UNKNOWN_TIME; `verify` names it.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, the signature is SQLAlchemy's
        """Turn any time zone into UTC; SQLite stores no zone at all."""
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, the signature is SQLAlchemy's
        """UTC: SQLite forgot the zone, PostgreSQL answers in its session's."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Read a time as SQLAlchemy does, if it is one."""
        return _read_or(super().result_processor(dialect, coltype), UNKNOWN_TIME)


class StoredNames(TypeDecorator[list[str]]):
    """A list of names. One that is damaged, such as JSON cut short, is read as an empty one.

    One bad row among many is no reason to answer nothing, or not to start; `verify` names it.
    """

    impl = JSON
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Read JSON, if it is what it should be."""
        read = _read_or(super().result_processor(dialect, coltype), None)

        def names(stored: Any) -> list[str]:
            held = read(stored)
            if isinstance(held, list) and all(isinstance(each, str) for each in held):
                return held
            return []

        return names


class StoredSettings(TypeDecorator[dict[str, Any]]):
    """Settings by name. What is damaged is read as none at all; `verify` names it."""

    impl = JSON
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Read JSON, if it is what it should be."""
        read = _read_or(super().result_processor(dialect, coltype), None)

        def settings(stored: Any) -> dict[str, Any]:
            held = read(stored)
            return held if isinstance(held, dict) else {}

        return settings


class StoredVector(TypeDecorator[bytes]):
    """The bytes of a vector. What is none, such as text, is read as no bytes, which none has."""

    impl = LargeBinary
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Read bytes, if they are some."""
        read = _read_or(super().result_processor(dialect, coltype), b"")

        def vector(stored: Any) -> bytes | None:
            held = read(stored)
            return held if held is None or isinstance(held, bytes) else b""

        return vector


RowId = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up only columns of the very type INTEGER."""
