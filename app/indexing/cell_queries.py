"""SQL that finds cells with what their columns cannot hold: SQLite stores anything anywhere."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Float,
    Integer,
    Table,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session

from app.column_types import StoredNames, StoredSettings, StoredVector, UTCDateTime
from app.models import (
    Base,
    ChunkRow,
    DocumentRow,
)

KNOWN_OTHERWISE = {DocumentRow.__table__.c.tags, ChunkRow.__table__.c.heading_path}
"""Columns that other checks look at, which know better what to put there."""

_DIALECT = sqlite.dialect()
_TIME = DateTime().dialect_impl(_DIALECT)


class DamagedCell(NamedTuple):
    """A cell whose value is none of its column."""

    column: Column[Any]
    key: str
    """The primary key of its row, to be shown."""
    row: int
    """SQLite's own number of its row."""


def damaged_cells(session: Session, tables: Collection[str] = ()) -> Iterator[DamagedCell]:
    """All of them, or those of some tables.

    PostgreSQL itself takes nothing that is no value of its column.
    """
    if session.get_bind().dialect.name != "sqlite":
        return
    for table in Base.metadata.sorted_tables:
        if not tables or table.name in tables:
            columns = [
                column
                for column in table.columns
                # Of vectors, too, other checks know better.
                if not isinstance(column.type, StoredVector) and column not in KNOWN_OTHERWISE
            ]
            yield from _damaged_cells_of(session, table, columns)


def damaged_names(session: Session) -> Iterator[DamagedCell]:
    """The damaged cells of the columns that are known otherwise."""
    if session.get_bind().dialect.name == "sqlite":
        for table in Base.metadata.sorted_tables:
            columns = [each for each in table.columns if each in KNOWN_OTHERWISE]
            if columns:
                yield from _damaged_cells_of(session, table, [*table.primary_key, *columns])


def put(session: Session, cell: DamagedCell, value: object) -> None:
    """Store another value in the place of the damaged one."""
    of_row = literal_column("rowid") == cell.row
    session.execute(update(cell.column.table).where(of_row).values({cell.column.name: value}))


def _damaged_cells_of(
    session: Session, table: Table, columns: Sequence[Column[Any]]
) -> Iterator[DamagedCell]:
    """Those in these columns, which those of the primary key are among."""
    kinds: list[Any] = [literal_column(f"typeof({column.name})") for column in columns]
    values = [_as_stored(column.name) for column in columns]
    rows = select(literal_column("rowid"), *kinds, *values).select_from(table)
    for row_id, *cells in session.execute(rows.execution_options(yield_per=50)):
        stored = list(zip(columns, cells[: len(columns)], cells[len(columns) :], strict=True))
        for column, kind, value in stored:
            if not _is_readable(column, kind, value):
                key = ", ".join(_shown(part) for each, _, part in stored if each.primary_key)
                yield DamagedCell(column, key, row_id)


def _as_stored(name: str) -> Any:
    """Text as bytes: SQLite's driver refuses to give out one that is none, with all of its row."""
    return literal_column(
        f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
    )


def _shown(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _is_readable(column: Column[Any], kind: str, value: Any) -> bool:
    if kind == "null":
        return bool(column.nullable)
    if isinstance(column.type, Boolean | Integer):
        return kind == "integer"
    if isinstance(column.type, Float):
        return kind in ("integer", "real")
    try:
        return kind == "text" and _is_text_of(column, value.decode())
    except (ValueError, RecursionError):
        return False


def _is_text_of(column: Column[Any], stored: str) -> bool:
    """Whether text is a value of its column; raises ValueError for what is none."""
    if isinstance(column.type, UTCDateTime):
        read = _TIME.result_processor(_DIALECT, None)
        return read is None or read(stored) is not None
    if not isinstance(column.type, JSON | StoredNames | StoredSettings):
        return True
    held = json.loads(stored)
    if held is None and column.nullable:
        return True
    if isinstance(column.type, StoredSettings):
        return isinstance(held, dict)
    if isinstance(column.type, StoredNames):
        return isinstance(held, list) and all(isinstance(name, str) for name in held)
    return True
