"""Draws the figures of an evaluation: quality with its intervals, and latency, mode by mode."""

from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import StorageError, UnavailableError
from app.evaluation.extra import HOW_TO_INSTALL
from app.evaluation.report import Figure, Report

if TYPE_CHECKING:  # matplotlib is an optional extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

SUFFIXES = (".svg", ".png", ".pdf")

# Colours that stay apart for colour-blind eyes (Okabe and Ito, 2008), one for each mode.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")

GROUP_WIDTH = 0.8
"""Of the distance between two measures, what their bars take."""


def draw(report: Report, path: Path) -> None:
    """Write the plot; the path's suffix says in which format.

    Raises UnavailableError without matplotlib and StorageError when it cannot be written.
    """
    canvas = canvas_class()(figsize=(12, 5), layout="constrained")
    quality, latency = canvas.subplots(1, 2, width_ratios=(3, 1))
    _draw_quality(quality, report)
    _draw_latency(latency, report)
    for axes in (quality, latency):
        axes.spines[["top", "right"]].set_visible(False)
    canvas.suptitle(
        f"{report.question_set}: {report.questions:,} questions, {report.documents:,} documents, "
        f"{report.chunks:,} chunks, {report.embedding_model}",
        parse_math=False,
    )
    try:
        canvas.savefig(path, dpi=150)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def canvas_class() -> "type[Canvas]":
    """Matplotlib's canvas for files: neither pyplot nor a display. Raises UnavailableError."""
    try:
        from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise UnavailableError(
            f"Plots are drawn by matplotlib, which is not installed: {HOW_TO_INSTALL}"
        ) from error
    return Canvas


def _draw_quality(axes: "Axes", report: Report) -> None:
    measures = list(next(iter(report.modes.values())).measures)
    width = GROUP_WIDTH / len(report.modes)
    for number, (name, mode) in enumerate(report.modes.items()):
        figures = list(mode.measures.values())
        shift = (number - (len(report.modes) - 1) / 2) * width
        places = [place + shift for place in range(len(figures))]
        means = [figure.mean for figure in figures]
        colour = COLOURS[number % len(COLOURS)]
        bars = axes.bar(places, means, width * 0.92, color=colour, alpha=0.85, label=name)
        errors = zip(*(_error(figure) for figure in figures), strict=True)
        axes.errorbar(places, means, list(errors), fmt="none", ecolor="#333333", capsize=2)
        labels = [f"{mean:.3f}" for mean in means]
        axes.bar_label(bars, labels, label_type="center", rotation=90, fontsize=8)
    axes.set_xticks(range(len(measures)), measures)
    axes.set_ylim(0, 1)
    axes.set_ylabel("mean, with its 95 % interval")
    above = (0.5, 1.0)
    axes.legend(ncols=len(report.modes), loc="lower center", bbox_to_anchor=above, frameon=False)


def _error(figure: Figure) -> tuple[float, float]:
    """How far the interval reaches below and above the mean."""
    if figure.low is None or figure.high is None:
        return 0.0, 0.0
    return max(0.0, figure.mean - figure.low), max(0.0, figure.high - figure.mean)


def _draw_latency(axes: "Axes", report: Report) -> None:
    for number, (name, mode) in enumerate(report.modes.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.barh(name, mode.latency.p95_ms, color=colour, alpha=0.35)
        bar = axes.barh(name, mode.latency.p50_ms, color=colour, alpha=0.85)
        axes.bar_label(bar, [f"{mode.latency.p50_ms:.1f}"], label_type="center", fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("ms a search; p95 in the pale part")
