"""The revision that the tables are at, and the migrations that bring them to another one.

Alembic is imported by what migrates only: it takes 0.15 s, and most starts find the tables as they
should be.
"""
# ruff: noqa: PLC0415

import functools
from pathlib import Path

from sqlalchemy import Connection, inspect

import migrations
from app.errors import StorageError

NEWEST = "head"

_FOLDER = Path(migrations.__file__).parent


def present_revisions(connection: Connection) -> tuple[str, ...]:
    """What Alembic has noted of the tables: one revision, or nothing where they are not ours."""
    if not inspect(connection).has_table("alembic_version"):
        return ()
    return tuple(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars())


@functools.cache
def newest_revision() -> str:
    """By the names of the files, each of which begins with the revision it brings."""
    return max(file.name for file in (_FOLDER / "versions").glob("[0-9]*_*.py")).partition("_")[0]


def bring_to(connection: Connection, revision: str) -> None:
    """Run the migrations from the present revision up to this one, if there are any.

    `base` is before the first one, and the only one below the present that is gone back to. Raises
    StorageError for tables of a newer version of Groundwork.
    """
    present = present_revisions(connection)
    if revision == NEWEST and present == (newest_revision(),):
        return
    newer = [each for each in present if each.isdecimal() and each > newest_revision()]
    if newer:
        raise StorageError(
            "The tables were made by a newer version of Groundwork: they are at revision "
            f"{newer[0]}, and this version knows none after {newest_revision()}. Nothing was "
            "changed; start that version again, or restore a back-up from before the upgrade."
        )
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    # In such a value, % begins the name of another.
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        if revision == "base":
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)
    except CommandError as error:
        raise StorageError(
            f"The tables do not suit this version of Groundwork: {error}. Nothing was "
            "changed; start the version that wrote them, or a newer one."
        ) from error
