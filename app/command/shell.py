"""How a command ends: exit codes, errors as sentences, a pipe that is gone."""

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

from app.command import display
from app.errors import AppError, StartupError

if TYPE_CHECKING:
    from pydantic import ValidationError

FAILED, USAGE, UNOPENED, PROBLEMS = 1, 2, 3, 4

EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage or setting; 3 the data directory cannot be "
    "opened, most often because a server holds it; 4 verify found problems and did "
    "not mend them, or eval is worse than its baseline; 130 Ctrl-C.\n\n"
    "Settings such as DATA_DIR, SOURCE_ROOTS, HOST and PORT come from the environment or .env."
)


class Commands(TyperGroup):
    """The commands: turns errors into a sentence on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except StartupError as error:
            code, message = UNOPENED, error.detail
        except AppError as error:
            code, message = FAILED, error.detail
        except ValueError as error:
            from pydantic import ValidationError  # noqa: PLC0415 - what `--help` does not need

            if not isinstance(error, ValidationError):
                raise
            code, message = USAGE, _faults(error)
        display.complain(message)
        raise typer.Exit(code)


def _faults(error: "ValidationError") -> str:
    """What a pydantic model refused, with the names that the person used."""
    is_setting = error.title == "Settings"
    faults = []
    for fault in error.errors(include_url=False):
        name = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        faults.append(f"{name.upper() if is_setting else name}: {message}" if name else message)
    return "; ".join(faults)


def print_any_text() -> None:
    """Write a question mark for what the terminal's encoding lacks, such as Latin-1 or ASCII."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a file here
    sys.stderr.reconfigure(errors="replace")  # type: ignore[union-attr]


def flush_results() -> None:
    """Write out what is buffered; a reader that has gone (`| head`) is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_results()
    except OSError as error:
        fail_to_write(error)


def fail_to_write(error: OSError) -> NoReturn:
    """End the process where its results cannot be written, such as on a full disk."""
    _drop_results()
    display.complain(f"The results cannot be written: {error.strerror}.")
    raise SystemExit(FAILED) from error


def _drop_results() -> None:
    """Python flushes once more on its way out, and would complain there."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
