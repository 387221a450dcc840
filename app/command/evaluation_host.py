"""Where `groundwork eval` indexes and asks: a service on a data directory of its own."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from app.command import display
from app.command.ending_signals import end_like_ctrl_c
from app.errors import StartupError, StorageError

# The service is imported when it is opened: `--help` must not wait for it.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from app.container import Container
    from app.settings import Settings

MARK = "groundwork-evaluation.json"
"""Says of a data directory that it was made for an evaluation, and for which question set."""


@dataclass(frozen=True)
class EvaluationHost:
    """Where a command's evaluation runs; tests hand in another."""

    open: "Callable[[Path], AbstractContextManager[Container]]"
    """Opens a service on this data directory."""


def host_of(ctx: typer.Context) -> EvaluationHost:
    """That of this run of the command; tests hand in their own."""
    return ctx.obj if isinstance(ctx.obj, EvaluationHost) else EvaluationHost(_open_service)


@contextmanager
def data_directory_for(question_set: str, keep: Path | None) -> Iterator[Path]:
    """The folder to keep, marked as ours, or one that is gone afterwards.

    Raises StartupError when the folder holds anything else than this question set.
    """
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="groundwork-eval-") as folder:
            yield Path(folder)
        return
    mark, said = keep / MARK, json.dumps({"question_set": question_set}) + "\n"
    try:
        keep.mkdir(parents=True, exist_ok=True)
        if not any(keep.iterdir()):
            mark.write_text(said, "utf-8")
        held = mark.read_text("utf-8") if mark.is_file() else None
    except OSError as error:
        raise StorageError(f"{keep} cannot be used: {error.strerror or error}") from error
    if held != said:
        raise StartupError(
            f"{keep} holds something else than the question set {question_set}, and an evaluation "
            "would delete it: give an empty folder, or one that --keep made for this set."
        )
    yield keep


def settings_of_its_own(settings: "Settings", data_directory: Path) -> "Settings":
    """The same model, chunks and limits on another data directory: nothing of the user's is in it.

    Models that are converted already are used from where they are.
    """
    return settings.model_copy(
        update={
            "data_dir": data_directory,
            "database_url": "",
            "chroma_persist_directory": None,
            "models_dir": settings.models_directory,
        }
    )


@contextmanager
def _open_service(data_directory: Path) -> "Iterator[Container]":
    from app.container import Container
    from app.settings import settings_from_environment

    own = settings_of_its_own(settings_from_environment(), data_directory)
    end_like_ctrl_c()
    with display.working("Opening the service"):
        container = Container.open(own, run_jobs=False)
    try:
        yield container
    finally:
        container.close()
