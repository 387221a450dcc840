"""Opens what a service starts from: its data directory, its database, its models."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.adapters.data_directory import DataDirectory
from app.assembly.derived_indexes import any_index
from app.assembly.generation_choice import GenerationChoice, OpenEmbedder, choose_generation
from app.database import Database
from app.errors import AppError, StartupError
from app.indexing.cell_check import require_readable_generations
from app.protocols import Embedder
from app.settings import Settings


@dataclass(frozen=True)
class OpenedData:
    """A data directory that this process holds, before its indexes are opened."""

    data_directory: DataDirectory
    was_clean: bool
    """Whether the last process closed it cleanly."""
    database: Database
    choice: GenerationChoice
    closes_embedder: bool
    """Whether the model of the settings was opened here, and has to be closed here."""

    def close(self) -> None:
        """Close models and database; no index has been touched yet."""
        mine = [self.choice.wanted_embedder] if self.closes_embedder else []
        if self.choice.embedder is not self.choice.wanted_embedder:
            mine.append(self.choice.embedder)
        for model in mine:
            model.close()  # its threads must not outlive the refusal
        self.database.close()
        if self.was_clean:
            self.data_directory.mark_clean()


def open_data(
    settings: Settings,
    embedder: Embedder | None,
    open_model: OpenEmbedder,
    *,
    any_model: bool,
) -> OpenedData:
    """Take the data directory, migrate its database, and find the generation that answers.

    An `embedder` that is passed in stands for the model of the settings, and is not closed here;
    for `open_model` and `any_model` see Container.open. On StartupError, nothing is held.
    """
    _require_utf8()
    data_directory = DataDirectory(settings.data_dir)
    data_directory.acquire()
    with released_on_failure(data_directory):
        was_clean = data_directory.mark_open()  # before a model is put there
        database = Database(settings.resolved_database_url)
        model = embedder
        try:
            model = embedder or open_model(settings)
            database.hold()
            _require_database_of_indexes(settings, database)
            database.migrate()
            database.sign()
            require_readable_generations(database)
            choice = choose_generation(settings, database, model, open_model, any_model=any_model)
        except AppError:
            if model is not None and embedder is None:
                model.close()  # its threads must not outlive the refusal
            database.close()
            if was_clean:
                data_directory.mark_clean()  # no index has been touched yet
            raise
    return OpenedData(data_directory, was_clean, database, choice, closes_embedder=embedder is None)


def _require_utf8() -> None:
    """Raise StartupError where Python would give files other names than those they are known by."""
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        raise StartupError(
            f"Python reads the names of files as {encoding} here, which would give documents other "
            "names. Set PYTHONUTF8=1, or a locale of UTF-8."
        )


def _require_database_of_indexes(settings: Settings, database: Database) -> None:
    """Raise StartupError if a new database would hide that the former one is lost."""
    if not any_index(settings):
        return
    name = database.missing()
    if name is not None:
        raise StartupError(
            f"The database {name} is missing or empty, but {settings.data_dir.absolute()} holds "
            "indexes of one. Put it back, or a back-up of it: nothing can be made from the indexes "
            "alone. Is DATABASE_URL what it was? To begin with nothing, choose another DATA_DIR, "
            "or delete the folders lexical, chroma and generations there."
        )


@contextmanager
def released_on_failure(data_directory: DataDirectory) -> Iterator[None]:
    """Release the data directory if the block fails, and raise its AppError as StartupError."""
    try:
        yield
    except AppError as error:
        data_directory.release()
        raise (error if isinstance(error, StartupError) else StartupError(error.detail)) from error
