"""How a command ends: exit codes, errors as sentences, a pipe that is gone."""

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from app.command import display
from app.errors import AppError, SettingError, StartupError

if TYPE_CHECKING:
    from pydantic import ValidationError

FAILED, USAGE, UNOPENED, PROBLEMS = 1, 2, 3, 4

_STDOUT, _STDERR = 1, 2

EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage or setting; 3 the data directory cannot be "
    "opened, most often because a server holds it; 4 verify found problems and did "
    "not mend them, or eval is worse than its baseline; 130 Ctrl-C. serve: 1 where anything but a "
    "setting keeps it from starting, 0 when Ctrl-C or a signal has ended it in order.\n\n"
    "Settings such as DATA_DIR, SOURCE_ROOTS, HOST and PORT come from the environment or .env."
)


class Commands(TyperGroup):
    """The commands: turns errors into a sentence on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except SettingError as error:
            code, message = USAGE, error.detail
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


def take_names_as_utf8() -> None:
    """Begin anew in Python's UTF-8 mode, unless names of files are read as UTF-8 already.

    A locale of another encoding gives them other names, by which nobody knows their documents. What
    the terminal shows stays in its encoding, and what was typed in it is taken for what it says.
    """
    if sys.getfilesystemencoding() == "utf-8" or not sys.executable:
        return
    os.environ["PYTHONUTF8"] = "1"  # for the processes that it starts
    shown_in = sys.stdout.encoding if sys.stdout else "ascii"
    if codecs.lookup(shown_in).name != "ascii":
        os.environ.setdefault("PYTHONIOENCODING", shown_in)
    arguments = [as_utf8(each, os.fsencode(each)) for each in sys.orig_argv[1:]]
    os.execv(sys.executable, [os.fsencode(sys.executable), b"-X", b"utf8", *arguments])  # noqa: S606


def as_utf8(argument: str, given: bytes) -> bytes:
    """An argument for UTF-8 mode, which the locale took `given` for.

    Bytes that are UTF-8 stay as they are, since names of files are; so do those that are no text.
    """
    try:
        given.decode("utf-8")
    except UnicodeDecodeError:
        with suppress(UnicodeEncodeError):
            return argument.encode("utf-8")
    return given


def _faults(error: "ValidationError") -> str:
    """What a pydantic model refused, with the names that the person used."""
    is_setting = error.title == "Settings"
    faults = []
    for fault in error.errors(include_url=False):
        name = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        faults.append(f"{name.upper() if is_setting else name}: {message}" if name else message)
    return "; ".join(faults)


class _Outlet(io.FileIO):
    """Where results or messages go; once their reader has gone (`| head`), they are discarded.

    That is no error: the command finishes its work, and its exit code tells how it ended.
    """

    def write(self, data: Any, /) -> int:
        """Write all of it; raises OSError where results cannot be written, as on a full disk."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _drop(self.fileno())
        except OSError:
            if self.fileno() == _STDOUT:
                raise  # a message that cannot be written changes nothing
        return memoryview(data).nbytes


def open_outlets() -> None:
    """Make sure that stdout and stderr can be written to; to be called before files are opened.

    One that was closed (`>&-`) leads to /dev/null: otherwise a database could be opened under its
    number, and get our output written into it. A character that the encoding of a terminal lacks is
    written as a question mark.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(number, True)
    os.close(number)
    if not os.environ.get("COLUMNS", "").strip("0"):
        os.environ.pop("COLUMNS", None)  # 0: not known, as for `shutil`; Rich would write nothing
    sys.stdout, sys.stderr = _outlet(_STDOUT, sys.stdout), _outlet(_STDERR, sys.stderr)


def _outlet(number: int, stream: TextIO | None) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(_Outlet(number, "w", closefd=False)),
        encoding=stream.encoding if stream else "utf-8",
        errors="replace",
        line_buffering=number == _STDERR or os.isatty(number),
    )


def flush_results() -> None:
    """Write out what is buffered."""
    try:
        sys.stdout.flush()
    except OSError as error:
        fail_to_write(error)


def fail_to_write(error: OSError) -> NoReturn:
    """End the process where its results cannot be written, such as on a full disk."""
    _drop(_STDOUT)
    display.complain(f"The results cannot be written: {error.strerror}.")
    raise SystemExit(FAILED) from error


def _drop(number: int) -> None:
    """Discard what is written from now on: Python flushes once more as it exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)
