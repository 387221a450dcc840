"""Whether there is data for a command that looks after it, and is not to make any."""

from contextlib import closing

from app.errors import StartupError, StorageError
from app.settings import Settings

# Asked before the service is imported, and seldom of a database: a mistyped folder is told at once.
# ruff: noqa: PLC0415


def require_data(settings: Settings) -> None:
    """Raise StartupError if there is no data directory: verify would find an empty one clean.

    A database that lies elsewhere, as on PostgreSQL, may be there without the folder.
    """
    try:
        settings.data_dir.stat()
    except FileNotFoundError as error:
        message = f"There is no data directory {settings.data_dir}: check DATA_DIR."
        if settings.database_url:
            missing = _missing_database(settings)
            if missing is None:
                return
            message = (
                f"There is neither a data directory {settings.data_dir} nor a database {missing}: "
                "check DATA_DIR and DATABASE_URL."
            )
        raise StartupError(message) from error
    except OSError:
        return  # whoever opens it says what is wrong with it


def _missing_database(settings: Settings) -> str | None:
    """The name of the database if it is not there or has no tables; raises StartupError."""
    from app.command.display import working
    from app.database import Database

    try:
        with (
            working("Opening the data directory"),
            closing(Database(settings.resolved_database_url)) as database,
        ):
            return database.missing()
    except StorageError as error:
        raise StartupError(error.detail) from error
