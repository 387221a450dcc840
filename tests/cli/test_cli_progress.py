"""What the progress bar says, of rate and time left above all."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress as ProgressBar

from app.command.display import TELLING_SECONDS, progress_columns, rate, time_left
from app.protocols import Progress


@pytest.mark.parametrize(
    ("done", "found", "seconds", "shown"),
    [
        (10, 40, 20.0, "1:00 left"),
        (1, 3, 32.6, "1:05 left"),
        (1, 1001, 10.0, "2:46:40 left"),
        (39, 40, 10.0, "0:00 left"),
    ],
)
def test_the_rest_takes_as_long_for_each_document_as_what_is_done(
    done: int, found: int, seconds: float, shown: str
) -> None:
    assert time_left(Progress(documents_found=found, documents_done=done), seconds) == shown


def test_the_rate_is_that_of_embedding() -> None:
    assert rate(Progress(chunks_embedded=930), 10.0) == "93/s"


@given(
    done=st.integers(0, 50),
    found=st.integers(0, 50),
    embedded=st.integers(0, 50),
    seconds=st.floats(0, 1e6),
)
def test_nothing_is_said_that_would_say_little(
    done: int, found: int, embedded: int, seconds: float
) -> None:
    progress = Progress(documents_found=found, documents_done=done, chunks_embedded=embedded)
    tells = seconds >= TELLING_SECONDS
    assert bool(time_left(progress, seconds)) == (tells and 0 < done < found)
    assert bool(rate(progress, seconds)) == (tells and embedded > 0)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_on_a_terminal_of_usual_width_no_figure_is_cut(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    bar = ProgressBar(*progress_columns(width), console=console, expand=True)
    bar.add_task(
        "Indexing a_folder_with_a_name_that_is_longer_than_anybody_would_like",
        total=12_345,
        completed=10_000,
        found="12,345",
        embedded=123_456,
        rate="1,000/s",
        left="0:59 left",
    )
    with console.capture() as captured:
        console.print(bar.get_renderable())
    shown = captured.get()
    assert len(shown.splitlines()) == 1
    for figure in ("10,000/12,345 documents", "123,456 chunks", "1,000/s", "0:00:00", "0:59 left"):
        assert figure in shown
