"""`groundwork eval`: how well the service finds what questions with known answers ask for."""

import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.command import display
from app.command.options import Json, refuse_nan
from app.command.shell import PROBLEMS
from app.errors import StartupError, StorageError

# What needs the model, Chroma or numpy is imported where it is used: `--help` must not wait for it.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from app.container import Container
    from app.evaluation.report import Report
    from app.settings import Settings

MARK = "groundwork-evaluation.json"
"""Says of a data directory that it was made for an evaluation, and for which question set."""

DEFAULT_TOLERANCE = 0.005


@dataclass(frozen=True)
class EvaluationHost:
    """Where a command's evaluation runs; tests hand in another."""

    open: "Callable[[Path], AbstractContextManager[Container]]"
    """Opens a service on this data directory."""


@dataclass(frozen=True)
class _Wishes:
    folder: Path
    modes: tuple[str, ...]
    limit: int | None
    keep: Path | None
    binary: bool
    split: str | None


def evaluate(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Judged questions: BEIR's layout, or ours.")
    ],
    mode: Annotated[
        list[str] | None,
        typer.Option(
            help="hybrid, dense, lexical or rrf, also with a ranking: hybrid+profile:code, "
            "hybrid+diversity=0.3; may be repeated. Default: the four."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N questions, for a quick look.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Data directory to index into, and to use again."),
    ] = None,
    binary: Annotated[
        bool,
        typer.Option("--binary/--graded", help="Every score above 0 counts as 1, or as it is."),
    ] = True,
    split: Annotated[
        str | None, typer.Option(help="Table in qrels/. Default: test, or the only one.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the run for later comparison.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with a saved run.")
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            callback=refuse_nan,
            help="How much less than the baseline is no failure.",
        ),
    ] = DEFAULT_TOLERANCE,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the figures (.svg, .png, .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure search on questions with known answers, mode by mode.

    The documents of DIR are indexed into a data directory of their own, through the same steps as
    any other; DATA_DIR is not touched, except that a converted model is kept there. Exit code 4:
    worse than the baseline.
    """
    wishes = _Wishes(folder, _modes(mode), limit, keep, binary, split)
    _require_what_draws(plot)
    report = _measured(wishes, baseline, tolerance, _host(ctx))
    if as_json:
        display.print_json(report)
    else:
        from app.command.evaluation_report import print_report

        print_report(report)
    if save:
        from app.evaluation.report import save as save_report

        save_report(report, save)
    if plot:
        from app.evaluation.plot import draw

        draw(report, plot)
    if report.comparison and report.comparison.worse:
        display.complain(f"Worse than the baseline: {', '.join(report.comparison.worse)}.")
        raise typer.Exit(PROBLEMS)


def _measured(
    wishes: _Wishes, baseline: Path | None, tolerance: float, host: EvaluationHost
) -> "Report":
    from app.evaluation.layouts import read_question_set
    from app.evaluation.report import Report, compare, load, mode_reports
    from app.evaluation.running import ask_all, index_corpus
    from app.evaluation.significance import PAIRED_TEST, require_statistics

    saved = load(baseline) if baseline else None
    with display.working("Reading the questions"):
        found = read_question_set(wishes.folder, binary=wishes.binary, split=wishes.split)
    questions = found.questions[: wishes.limit]
    found.scorer().scores()  # what is not installed is said now, not after minutes
    require_statistics()
    with (
        _data_directory(wishes.keep, found.name) as data_directory,
        host.open(data_directory) as container,
    ):
        with display.indexing_progress(found.name) as progress:
            corpus = index_corpus(container, found, progress)
        with display.working(f"Asking {len(questions):,} questions"):
            runs = ask_all(container.searcher, found, questions, corpus.items, wishes.modes)
        model, settings = container.embedder.model_name, container.settings
    modes = mode_reports(runs)
    report = Report(
        question_set=found.name,
        questions=len(questions),
        documents=len(found.documents),
        chunks=corpus.chunks,
        embedding_model=model,
        chunk_size=settings.chunk_size,
        overlap=settings.overlap,
        indexing_seconds=round(corpus.seconds, 1),
        main_measure=next(iter(modes[wishes.modes[0]].measures)),
        graded=not wishes.binary,
        test=PAIRED_TEST,
        modes=modes,
        remarks=[*found.remarks, *corpus.remarks],
        degraded=sorted({reason for run in runs.values() for reason in run.degraded}),
    )
    if saved is None:
        return report
    comparison = compare(report, saved, str(baseline), tolerance)
    return report.model_copy(update={"comparison": comparison})


def _modes(given: list[str] | None) -> tuple[str, ...]:
    from app.evaluation.running import EVALUATED_MODES, evaluated_mode

    names = [name for part in given or EVALUATED_MODES for name in part.split(",")]
    for name in names:
        try:
            evaluated_mode(name)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--mode") from error
    return tuple(dict.fromkeys(names))


def _require_what_draws(plot: Path | None) -> None:
    """Say now, not after minutes, that a plot cannot be drawn."""
    if plot is None:
        return
    from app.evaluation.plot import SUFFIXES, canvas_class

    if plot.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(
            f"the name of a plot ends in {', '.join(SUFFIXES)}.", param_hint="--plot"
        )
    canvas_class()


# The service -----------------------------------------------------------------------------------


def _host(ctx: typer.Context) -> EvaluationHost:
    return ctx.obj if isinstance(ctx.obj, EvaluationHost) else EvaluationHost(_open_service)


@contextmanager
def _data_directory(keep: Path | None, question_set: str) -> Iterator[Path]:
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
            "models_dir": settings.models_dir or settings.data_dir / "models",
        }
    )


@contextmanager
def _open_service(data_directory: Path) -> "Iterator[Container]":
    from app.container import Container
    from app.settings import settings_from_environment

    own = settings_of_its_own(settings_from_environment(), data_directory)
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    with display.working("Opening the service"):
        container = Container.open(own, run_jobs=False)
    try:
        yield container
    finally:
        container.close()
