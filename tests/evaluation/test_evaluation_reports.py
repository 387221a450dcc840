"""Reports, and their comparison with a saved run."""

from pathlib import Path

import pytest

from app.errors import SourceNotFoundError, SourceUnreadableError, StorageError
from app.evaluation.plot import draw
from app.evaluation.report import Report, compare, load, mode_reports, save
from app.evaluation.running import ModeRun


def run(*values: float, milliseconds: tuple[float, ...] = (1.0, 2.0, 3.0)) -> ModeRun:
    by_question = {f"q{number}": value for number, value in enumerate(values)}
    halves = {question: value / 2 for question, value in by_question.items()}
    return ModeRun({"nDCG@10": by_question, "P@5": halves}, milliseconds, ())


def report(**runs: ModeRun) -> Report:
    return Report(
        question_set="fruit $x$ & more",
        questions=3,
        documents=5,
        chunks=7,
        embedding_model="a-model",
        chunk_size=1000,
        overlap=200,
        indexing_seconds=1.5,
        main_measure="nDCG@10",
        test="a test",
        modes=mode_reports(runs),
        remarks=[],
        degraded=[],
    )


def test_figures_are_means_over_questions() -> None:
    found = report(hybrid=run(1.0, 0.5, 0.0)).modes["hybrid"]
    assert found.measures["nDCG@10"].mean == pytest.approx(0.5)
    assert found.measures["P@5"].mean == pytest.approx(0.25)
    assert (found.latency.p50_ms, found.latency.p95_ms) == (2.0, 2.9)
    assert found.per_question == {"q0": 1.0, "q1": 0.5, "q2": 0.0}


def test_every_mode_but_the_first_is_tested_against_the_first() -> None:
    modes = report(
        hybrid=run(1.0, 0.9, 0.8), dense=run(0.1, 0.0, 0.1), rrf=run(1.0, 0.9, 0.8)
    ).modes
    assert modes["hybrid"].p_value is None
    assert modes["dense"].p_value == pytest.approx(2 / 8)
    assert modes["rrf"].p_value == 1.0


def test_a_saved_run_is_read_as_it_was(tmp_path: Path) -> None:
    before = report(hybrid=run(1.0, 0.5, 0.0), dense=run(0.25, 0.5, 0.75))
    save(before, tmp_path / "run.json")
    assert load(tmp_path / "run.json") == before


def test_what_fell_by_more_than_the_tolerance_is_worse() -> None:
    before = report(hybrid=run(0.5, 0.5, 0.5), dense=run(0.5, 0.5, 0.5), rrf=run(0.1, 0.1, 0.1))
    now = report(hybrid=run(0.44, 0.5, 0.5), dense=run(0.46, 0.5, 0.5), lexical=run(0, 0, 0))
    compared = compare(now, before, "before.json", tolerance=0.015)
    assert compared.worse == ["hybrid"]
    assert set(compared.modes) == {"hybrid", "dense"}
    assert compared.modes["hybrid"].differences == {"nDCG@10": -0.02, "P@5": -0.01}
    assert compared.modes["hybrid"].p_value == 1.0  # one question of three: no evidence


def test_runs_on_other_questions_or_modes_are_not_compared() -> None:
    before = report(hybrid=run(0.5, 0.5, 0.5))
    with pytest.raises(SourceUnreadableError, match="other questions"):
        compare(report(hybrid=run(0.5, 0.5)), before, "before.json", 0.01)
    with pytest.raises(SourceUnreadableError, match="none of these modes: dense"):
        compare(report(dense=run(0.5, 0.5, 0.5)), before, "before.json", 0.01)
    without_measure = before.model_copy(deep=True)
    del without_measure.modes["hybrid"].measures["nDCG@10"]
    with pytest.raises(SourceUnreadableError, match="has no nDCG@10"):
        compare(before, without_measure, "before.json", 0.01)


def test_a_run_on_graded_scores_is_not_compared_with_one_on_binary_scores() -> None:
    binary = report(hybrid=run(0.5, 0.5, 0.5))
    graded = binary.model_copy(update={"graded": True})
    assert compare(graded, graded, "before.json", 0.01).worse == []
    with pytest.raises(SourceUnreadableError, match=r"as they are \(--graded\)"):
        compare(binary, graded, "before.json", 0.01)
    with pytest.raises(SourceUnreadableError, match=r"as 1 \(--binary\)"):
        compare(graded, binary, "before.json", 0.01)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[1]", b'{"question_set": 1}'])
def test_what_is_no_saved_run_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(SourceUnreadableError, match="not a run that --save wrote"):
        load(tmp_path / "run.json")


def test_files_that_are_not_there_or_cannot_be_written_are_said(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="--save"):
        load(tmp_path / "none.json")
    with pytest.raises(SourceUnreadableError, match="cannot be read"):
        load(tmp_path)
    found = report(hybrid=run(1.0, 0.5, 0.0))
    with pytest.raises(StorageError, match="cannot be written"):
        save(found, tmp_path / "no" / "folder.json")
    with pytest.raises(StorageError, match="cannot be written"):
        draw(found, tmp_path / "no" / "folder.svg")


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_a_plot_is_written_in_the_format_of_its_name(
    tmp_path: Path, suffix: str, start: bytes
) -> None:
    path = tmp_path / f"plot.{suffix}"
    draw(report(hybrid=run(1.0, 0.5, 0.0), dense=run(0.0, 0.0, 0.0), rrf=run(1.0, 1.0, 1.0)), path)
    assert path.read_bytes().startswith(start)


def test_a_plot_of_a_single_question_has_no_intervals(tmp_path: Path) -> None:
    draw(report(hybrid=run(1.0)), tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 1000
