"""How the commands speak: results on stdout, progress and messages on stderr."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

if TYPE_CHECKING:
    from pydantic import BaseModel

    from app.protocols import Progress as IndexingProgress
    from app.protocols import ProgressListener

UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters, and those that reorder or hide text: a document must not steer a terminal.
What joins letters or keeps them apart stays: words of Persian and Hindi, and emoji, need it."""

PIPE_WIDTH = 10_000
"""Columns where no terminal sets a width: nothing is wrapped or cut in a pipe."""

BAR_COLUMNS = 110
"""Narrower terminals get the figures without the bar: what matters must not be cut."""

TELLING_SECONDS = 2.0
"""Sooner, rate and time left say more about how it began than about how it goes."""


def results() -> Console:
    """Writes what was asked for."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def messages() -> Console:
    """Writes everything else."""
    return Console(
        stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=not sys.stderr.isatty()
    )


def printable(text: str) -> str:
    """The text without what could steer a terminal."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """The text on one line, without what could steer a terminal."""
    return printable(" ".join(text.split()))


def address(text: str) -> str:
    """A path or URL on one line with every blank, so that it can be opened; else as `line`."""
    return printable(re.sub(r"[\t\n\r]", "\N{REPLACEMENT CHARACTER}", text))


def print_json(value: "BaseModel") -> None:
    """Write a result for scripts: the JSON that the server answers, in UTF-8."""
    text = json.dumps(value.model_dump(mode="json"), indent=2, ensure_ascii=False)
    typer.echo((text + "\n").encode(), nl=False)


def say(message: str) -> None:
    """Write a message for a person on stderr."""
    messages().print(printable(message))


def complain(message: str) -> None:
    """Write on stderr what went wrong."""
    messages().print(Text("Error: ", "bold red").append(printable(message), "not bold default"))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something goes on, where a person watches."""
    console = messages()
    if not console.is_terminal:
        yield
        return
    with console.status(f"{what} …"):
        yield


def rate(progress: "IndexingProgress", seconds: float) -> str:
    """Chunks embedded a second, such as `93/s`; nothing as long as it would say little."""
    if seconds < TELLING_SECONDS or not progress.chunks_embedded:
        return ""
    return f"{progress.chunks_embedded / seconds:,.0f}/s"


def time_left(progress: "IndexingProgress", seconds: float) -> str:
    """Such as `1:05 left`, if the rest goes like what is done; nothing where that says little."""
    done, found = progress.documents_done, progress.documents_found
    if seconds < TELLING_SECONDS or not done or done >= found:
        return ""
    minutes, rest = divmod(round(seconds * (found - done) / done), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{clock} left"


@contextmanager
def indexing_progress(source: str) -> "Iterator[ProgressListener]":
    """Show how far indexing is, where a person watches."""
    console = messages()
    bar = Progress(
        *progress_columns(console.width),
        console=console,
        expand=True,
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(
            f"Indexing {_name(source)}", total=None, found="?", embedded=0, rate="", left=""
        )

        def show(progress: "IndexingProgress") -> None:
            seconds = bar.tasks[0].elapsed or 0.0
            bar.update(
                task,
                total=progress.documents_found or None,
                completed=progress.documents_done,
                found=f"{progress.documents_found:,}" if progress.documents_found else "?",
                embedded=progress.chunks_embedded,
                rate=rate(progress, seconds),
                left=time_left(progress, seconds),
            )

        yield show


def progress_columns(width: int) -> list[ProgressColumn]:
    """What stands on the line, in so many columns: only the name is cut where it is too long."""
    figures = (
        "{task.completed:,.0f}/{task.fields[found]} documents",
        "{task.fields[embedded]:,} chunks",
        "{task.fields[rate]}",
    )
    return [
        SpinnerColumn(),
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
        ),
        *([BarColumn()] if width >= BAR_COLUMNS else []),
        *(TextColumn(text, table_column=Column(no_wrap=True)) for text in figures),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
    ]


def _name(source: str) -> str:
    """What tells a source from others on a short line: of a path its last part."""
    shown = line(source)
    return shown if "://" in shown else shown.rstrip("/").rpartition("/")[2] or shown
