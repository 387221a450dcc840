"""Names cells of the database that hold no value of their column, and mends what can be mended."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from app.column_types import UNKNOWN_TIME, StoredNames, StoredSettings, UTCDateTime
from app.database import Database
from app.errors import StartupError
from app.indexing.cell_queries import DamagedCell, damaged_cells, put

_READ_INSTEAD: dict[type[Any], Any] = {
    UTCDateTime: UNKNOWN_TIME,
    StoredNames: [],
    StoredSettings: {},
}
"""By type: what is read in the place of a damaged value."""

_COMPARED = (
    "chunks",
    "collection_languages",
    "current_generation",
    "documents",
    "generations",
    "knowledge_items",
)
"""Tables that are read to compare everything else."""


@dataclass(frozen=True)
class CellRepair:
    """A damaged cell, and what became of it."""

    sentence: str
    mended: bool
    remark: str
    """What was done, or what there is to do."""
    is_in_the_way: bool
    """Whether nothing else can be compared as long as it is there."""


def look_at_cells(database: Database, *, mend: bool) -> list[CellRepair]:
    """All damaged cells; with `mend`, those that may hold nothing, or a default, get that."""
    with database.read() as session:
        cells = list(damaged_cells(session))
    if mend and any(_has_stand_in(cell.column) for cell in cells):
        with database.write() as session:
            for cell in cells:
                if _has_stand_in(cell.column):
                    put(session, cell, _stand_in(cell.column))
    return [_repair(cell, mend=mend) for cell in cells]


def require_readable_generations(database: Database) -> None:
    """Raise StartupError where a cell is damaged without which nothing can be opened."""
    with database.read() as session:
        for cell in damaged_cells(session, ("generations", "current_generation")):
            found = _repair(cell, mend=False)
            if found.is_in_the_way:
                raise StartupError(f"The database is damaged: {found.sentence}; {found.remark}.")


def _repair(cell: DamagedCell, *, mend: bool) -> CellRepair:
    column, table = cell.column, cell.column.table
    sentence = f"table {table.name}, row {cell.key}: {column.name} is damaged and cannot be read"
    can_be_mended = _has_stand_in(column)
    is_read_all_the_same = (mend and can_be_mended) or type(column.type) in _READ_INSTEAD
    in_the_way = table.name in _COMPARED and not is_read_all_the_same
    remark = (
        "a repair cannot know what stood there: restore a back-up, or put it right by hand: "
        f"column {column.name} where rowid is {cell.row}"
    )
    if can_be_mended:
        value = _stand_in(column)
        shown = "nothing" if value is None else f"the default {value!r}"
        if type(column.type) in _READ_INSTEAD and value is not None:
            shown = "what is read in its place"
        remark = f"it holds {shown} now" if mend else f"a repair puts {shown} there"
    return CellRepair(sentence, mend and can_be_mended, remark, in_the_way)


def _has_stand_in(column: Column[Any]) -> bool:
    if column.primary_key:
        return False
    return column.nullable or type(column.type) in _READ_INSTEAD or _default(column) is not None


def _stand_in(column: Column[Any]) -> Any:
    if column.nullable:
        return None
    return _READ_INSTEAD.get(type(column.type), _default(column))


def _default(column: Column[Any]) -> Any:
    """A value that new rows get; what a call would make of it is none."""
    return column.default.arg if isinstance(column.default, ScalarElementColumnDefault) else None
