"""Looks whether SQLite's file is sound in itself, before anything that it says is compared."""

from app.database import Database
from app.errors import StorageError
from app.indexing.findings import Finding

RESTORE = "restore a back-up: what a damaged page held is lost"
_REPAIRABLE = "a repair makes the indexes of its tables anew, which helps if the tables are sound"
_MADE_ANEW = "the indexes of its tables were made anew"


def look_at_file(database: Database, *, mend: bool) -> list[Finding]:
    """What is damaged, and whether it is mended.

    A row that an index of SQLite lacks is in the table, and yet not found, nor deleted.
    """
    damage = database.damage()
    remaining = damage
    if damage and mend:
        try:
            database.reindex()
            remaining = database.damage()
        except StorageError:  # as where the pages of an index cannot be read
            remaining = damage
    mended = not remaining
    remark = _MADE_ANEW if mended else RESTORE if mend else _REPAIRABLE
    return [Finding(f"the database's file is damaged: {each}", mended, remark) for each in damage]
