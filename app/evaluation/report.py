"""The figures of an evaluation: as they are printed, saved, and compared with a saved run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from app.errors import SourceNotFoundError, SourceUnreadableError, StorageError
from app.evaluation.running import ModeRun
from app.evaluation.significance import confidence_interval, paired_p_value


class Figure(BaseModel):
    """A mean over the questions, with its 95 % bootstrap interval."""

    mean: float
    low: float | None
    high: float | None


class Latency(BaseModel):
    """How long a search of ten results takes, its embedding included."""

    p50_ms: float
    p95_ms: float


class ModeReport(BaseModel):
    """What one mode achieved."""

    measures: dict[str, Figure]
    latency: Latency
    p_value: float | None
    """Of the main measure against the first mode; None for that mode itself."""
    per_question: dict[str, float]
    """The main measure of each question."""


class ModeChange(BaseModel):
    """A mode beside the same mode of a saved run."""

    differences: dict[str, float]
    """This run less the saved one, for each measure."""
    p_value: float
    """Of the main measure."""
    worse: bool
    """The main measure fell by more than the tolerance."""


class Comparison(BaseModel):
    """A run beside a saved one."""

    baseline: str
    tolerance: float
    modes: dict[str, ModeChange]

    @property
    def worse(self) -> list[str]:
        """The modes that got worse."""
        return [name for name, change in self.modes.items() if change.worse]


class Report(BaseModel):
    """Everything that an evaluation found."""

    model_config = ConfigDict(extra="ignore")

    question_set: str
    questions: int
    documents: int
    chunks: int
    embedding_model: str
    chunk_size: int
    overlap: int
    indexing_seconds: float
    main_measure: str
    graded: bool = False
    """Whether judged scores counted as they are, not as 1."""
    test: str
    """How p-values were computed."""
    modes: dict[str, ModeReport]
    """The first one is the default that the others are tested against."""
    remarks: list[str]
    degraded: list[str]
    """What could not take part in the searches: the figures are not those of a sound service."""
    comparison: Comparison | None = None


def mode_reports(runs: Mapping[str, ModeRun]) -> dict[str, ModeReport]:
    """Means, intervals and tests of every mode; the first is what the others are tested against."""
    reports: dict[str, ModeReport] = {}
    default: dict[str, float] | None = None
    for name, run in runs.items():
        main = {key: round(value, 6) for key, value in next(iter(run.scores.values())).items()}
        p_value = None if default is None else _p_value(main, default)
        default = default or main
        reports[name] = ModeReport(
            measures={
                measure: _figure(list(values.values())) for measure, values in run.scores.items()
            },
            latency=_latency(run.milliseconds),
            p_value=p_value,
            per_question=main,
        )
    return reports


def compare(report: Report, saved: Report, baseline: str, tolerance: float) -> Comparison:
    """Lay a saved run beside this one; raises SourceUnreadableError when they do not match."""
    shared = [name for name in report.modes if name in saved.modes]
    if not shared:
        raise SourceUnreadableError(f"{baseline} has none of these modes: {_listed(report.modes)}.")
    if report.graded != saved.graded:
        judged = "as they are (--graded)" if saved.graded else "as 1 (--binary)"
        raise SourceUnreadableError(f"{baseline} counted the judged scores {judged}: do so again.")
    changes = {}
    for name in shared:
        now, before = report.modes[name], saved.modes[name]
        if now.per_question.keys() != before.per_question.keys():
            raise SourceUnreadableError(f"{baseline} was measured on other questions than these.")
        differences = {
            measure: round(figure.mean - before.measures[measure].mean, 6)
            for measure, figure in now.measures.items()
            if measure in before.measures
        }
        if report.main_measure not in differences:
            raise SourceUnreadableError(f"{baseline} has no {report.main_measure}.")
        changes[name] = ModeChange(
            differences=differences,
            p_value=_p_value(now.per_question, before.per_question),
            worse=differences[report.main_measure] < -tolerance,
        )
    return Comparison(baseline=baseline, tolerance=tolerance, modes=changes)


def save(report: Report, path: Path) -> None:
    """Write a run for later comparison; raises StorageError."""
    try:
        path.write_text(report.model_dump_json(indent=1, exclude={"comparison"}) + "\n", "utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def load(path: Path) -> Report:
    """Read a saved run; raises SourceNotFoundError and SourceUnreadableError."""
    try:
        return Report.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise SourceNotFoundError(f"There is no saved run {path}; --save writes one.") from error
    except OSError as error:
        raise SourceUnreadableError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        raise SourceUnreadableError(f"{path} is not a run that --save wrote.") from error


def _figure(values: Sequence[float]) -> Figure:
    interval = confidence_interval(values)
    low, high = interval or (None, None)
    return Figure(mean=fmean(values), low=low, high=high)


def _latency(milliseconds: Sequence[float]) -> Latency:
    p50, p95 = np.percentile(milliseconds, (50, 95)).tolist()
    return Latency(p50_ms=round(p50, 2), p95_ms=round(p95, 2))


def _p_value(values: Mapping[str, float], others: Mapping[str, float]) -> float:
    return paired_p_value(list(values.values()), [others[question] for question in values])


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(names)
