"""`groundwork eval`: how well the service finds what questions with known answers ask for."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.command import display
from app.command.evaluation_host import EvaluationHost, data_directory_for, host_of
from app.command.options import Json, refuse_nan
from app.command.shell import PROBLEMS

# What needs the model, Chroma or numpy is imported where it is used: `--help` must not wait for it.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from app.evaluation.question_set import QuestionSet
    from app.evaluation.report import Report

DEFAULT_TOLERANCE = 0.005


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
        Path,
        typer.Argument(
            metavar="DIR", help="Judged questions, laid out as docs/evaluation.md says."
        ),
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
    report = _measured(wishes, baseline, tolerance, host_of(ctx))
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
    from app.evaluation.report import compare, load
    from app.evaluation.significance import require_statistics

    saved = load(baseline) if baseline else None
    with display.working("Reading the questions"):
        found = read_question_set(wishes.folder, binary=wishes.binary, split=wishes.split)
    found.scorer().scores()  # what is not installed is said now, not after minutes
    require_statistics()
    report = _asked(found, wishes, host)
    if saved is None:
        return report
    comparison = compare(report, saved, str(baseline), tolerance)
    return report.model_copy(update={"comparison": comparison})


def _asked(found: "QuestionSet", wishes: _Wishes, host: EvaluationHost) -> "Report":
    """Index the documents, ask the questions in every mode, and sum up."""
    from app.evaluation.report import Report, mode_reports
    from app.evaluation.running import ask_all, index_corpus
    from app.evaluation.significance import PAIRED_TEST

    questions = found.questions[: wishes.limit]
    with (
        data_directory_for(found.name, wishes.keep) as data_directory,
        host.open(data_directory) as container,
    ):
        with display.indexing_progress(found.name) as progress:
            corpus = index_corpus(container, found, progress)
        with display.working(f"Asking {len(questions):,} questions"):
            runs = ask_all(container.searcher, found, questions, corpus.items, wishes.modes)
        model, settings = container.embedder.model_name, container.settings
    modes = mode_reports(runs)
    return Report(
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
