"""How `groundwork eval` shows its figures to a person."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from app.command.display import line, results
from app.evaluation.report import Comparison, Figure, ModeReport, Report


def print_report(report: Report) -> None:
    """The figures as a table, a mode a column; then what to know of them."""
    console = results()
    console.print(
        f"{line(report.question_set)}: {report.questions:,} questions, {report.documents:,} "
        f"documents, {report.chunks:,} chunks of at most {report.chunk_size:,} characters, "
        f"{line(report.embedding_model)}; indexed in {report.indexing_seconds:,.1f} s",
        soft_wrap=True,
    )
    console.print()
    console.print(_table(report))
    console.print()
    console.print("Means over the questions with 95 % bootstrap intervals.", soft_wrap=True)
    console.print(f"p: {report.main_measure}, {report.test}, not corrected.", soft_wrap=True)
    console.print("p50, p95: one search of ten results, its embedding included.", soft_wrap=True)
    for remark in report.remarks:
        console.print(line(remark), soft_wrap=True)
    for reason in report.degraded:
        console.print(f"Degraded: {line(reason)}", soft_wrap=True)
    if report.comparison:
        console.print()
        console.print(f"Less the baseline {line(report.comparison.baseline)}:", soft_wrap=True)
        console.print(_comparison_table(report.comparison, report.main_measure))


def _table(report: Report) -> Table:
    default, *others = report.modes
    table = _empty_table(report.modes)
    modes = report.modes.values()
    for measure in report.modes[default].measures:
        table.add_row(measure, *(_figure(mode.measures[measure]) for mode in modes))
    for name in ("p50_ms", "p95_ms"):
        times = (f"{getattr(mode.latency, name):.1f} ms" for mode in modes)
        table.add_row(name.removesuffix("_ms"), *times)
    if others:
        table.add_row(f"p against {default}", *(_p_value(mode) for mode in modes))
    return table


def _comparison_table(comparison: Comparison, main_measure: str) -> Table:
    table = _empty_table(comparison.modes)
    changes = comparison.modes.values()
    for measure in next(iter(changes)).differences:
        cells = (f"{change.differences[measure]:+.3f}" for change in changes)
        table.add_row(measure, *cells)
    table.add_row(f"p of {main_measure}", *(f"{change.p_value:.3f}" for change in changes))
    return table


def _empty_table(columns: Iterable[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def _figure(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return f"{figure.mean:.3f}"
    return f"{figure.mean:.3f} ({figure.low:.3f}-{figure.high:.3f})"


def _p_value(mode: ModeReport) -> str:
    if mode.p_value is None:
        return ""
    return "< 0.001" if mode.p_value < 0.001 else f"{mode.p_value:.3f}"
