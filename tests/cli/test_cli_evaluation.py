"""`groundwork eval` on a fake model."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import app
from app.command.evaluation_host import MARK, EvaluationHost, settings_of_its_own
from app.container import Container
from app.settings import Settings
from tests.evaluation.question_files import write_fruit
from tests.fakes import FakeEmbedder

Evaluate = Callable[..., Result]


@pytest.fixture
def opened() -> list[Path]:
    """The data directories that were opened."""
    return []


@pytest.fixture
def evaluate(settings: Settings, embedder: FakeEmbedder, opened: list[Path]) -> Evaluate:
    @contextmanager
    def open_service(data_directory: Path) -> Iterator[Container]:
        opened.append(data_directory)
        own = settings.model_copy(update={"data_dir": data_directory})
        container = Container.open(own, embedder=embedder, run_jobs=False)
        yield container
        container.close()

    def run(*arguments: object) -> Result:
        words = ["eval", *map(str, arguments)]
        return CliRunner().invoke(
            app, words, obj=EvaluationHost(open_service), catch_exceptions=False
        )

    return run


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    return write_fruit(tmp_path / "fruit")


def test_the_data_of_the_user_is_out_of_reach_but_the_model_is_shared(tmp_path: Path) -> None:
    given = Settings(
        _env_file=None,
        data_dir=tmp_path / "mine",
        database_url="postgresql+psycopg://host/mine",
        chroma_persist_directory=tmp_path / "mine" / "chroma",
        models_dir=None,
        chunk_size=500,
    )
    own = settings_of_its_own(given, tmp_path / "other")
    assert own.resolved_database_url == f"sqlite:///{tmp_path}/other/groundwork.db"
    assert own.chroma_directory == tmp_path / "other" / "chroma"
    assert own.models_dir == tmp_path / "mine" / "models"
    assert own.chunk_size == 500


def test_figures_of_all_modes_stand_side_by_side(evaluate: Evaluate, fruit: Path) -> None:
    printed = evaluate(fruit)
    assert printed.exit_code == 0, printed.output
    lines = printed.stdout.splitlines()
    assert lines[0].startswith("fruit: 5 questions, 5 documents, 5 chunks")
    assert lines[2].split() == ["hybrid", "dense", "lexical", "rrf"]
    assert lines[3].split() == ["nDCG@10", *["1.000", "(1.000-1.000)"] * 4]
    assert "p against hybrid" in printed.stdout


def test_nothing_is_left_behind_unless_asked_for(
    evaluate: Evaluate, fruit: Path, opened: list[Path], tmp_path: Path
) -> None:
    evaluate(fruit, "--mode", "dense")
    assert not opened[0].exists()
    assert evaluate(fruit, "--mode", "dense", "--keep", tmp_path / "kept").exit_code == 0
    assert (tmp_path / "kept" / "groundwork.db").is_file()


def test_a_kept_directory_is_used_again(
    evaluate: Evaluate, fruit: Path, embedder: FakeEmbedder, tmp_path: Path
) -> None:
    evaluate(fruit, "--mode", "dense", "--keep", tmp_path / "kept")
    embedded = len(embedder.embedded_texts)
    assert evaluate(fruit, "--mode", "dense", "--keep", tmp_path / "kept").exit_code == 0
    assert len(embedder.embedded_texts) == embedded


@pytest.mark.parametrize("held", ["a user's file", "another set"])
def test_a_directory_that_holds_anything_else_is_not_touched(
    evaluate: Evaluate, fruit: Path, opened: list[Path], tmp_path: Path, held: str
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    if held == "another set":
        (kept / MARK).write_text('{"question_set": "vegetables"}\n')
    else:
        (kept / "groundwork.db").write_bytes(b"precious")
    before = {path: path.read_bytes() for path in kept.iterdir()}
    refused = evaluate(fruit, "--keep", kept)
    assert refused.exit_code == 3
    assert "holds something else" in refused.stderr
    assert {path: path.read_bytes() for path in kept.iterdir()} == before
    assert opened == []


def test_json_is_all_of_stdout_and_has_every_question(evaluate: Evaluate, fruit: Path) -> None:
    report = json.loads(evaluate(fruit, "--json", "--limit", 2, "--mode", "lexical,dense").stdout)
    assert (report["questions"], report["documents"]) == (2, 5)
    assert list(report["modes"]) == ["lexical", "dense"]
    assert report["modes"]["dense"]["per_question"] == {"q-apple": 1.0, "q-pear": 1.0}
    assert report["modes"]["lexical"]["p_value"] is None
    assert report["modes"]["dense"]["p_value"] == 1.0
    assert report["modes"]["dense"]["latency"]["p50_ms"] > 0


def test_a_run_that_is_worse_than_the_baseline_fails(
    evaluate: Evaluate, fruit: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    assert evaluate(fruit, "--mode", "dense", "--save", saved).exit_code == 0
    same = evaluate(fruit, "--mode", "dense", "--baseline", saved)
    assert same.exit_code == 0
    assert f"Less the baseline {saved}" in same.stdout

    texts = (fruit / "corpus.jsonl").read_text()
    (fruit / "corpus.jsonl").write_text(texts.replace("the apple", "the pear"))
    worse = evaluate(fruit, "--mode", "dense", "--baseline", saved)
    assert worse.exit_code == 4
    assert "Worse than the baseline: dense" in worse.stderr
    tolerant = ("--baseline", saved, "--tolerance", 0.5)
    assert evaluate(fruit, "--mode", "dense", *tolerant).exit_code == 0


def test_a_graded_run_is_no_baseline_for_a_binary_one(
    evaluate: Evaluate, fruit: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    assert evaluate(fruit, "--mode", "lexical", "--graded", "--save", saved).exit_code == 0
    graded = ("--mode", "lexical", "--graded", "--baseline", saved)
    assert evaluate(fruit, *graded).exit_code == 0
    binary = evaluate(fruit, "--mode", "lexical", "--baseline", saved)
    assert binary.exit_code == 1
    assert "--graded" in binary.stderr


def test_a_plot_is_drawn(evaluate: Evaluate, fruit: Path, tmp_path: Path) -> None:
    assert evaluate(fruit, "--mode", "dense", "--plot", tmp_path / "plot.svg").exit_code == 0
    assert (tmp_path / "plot.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("option", ["--save", "--plot"])
def test_figures_are_printed_though_a_file_cannot_be_written(
    evaluate: Evaluate, fruit: Path, tmp_path: Path, option: str
) -> None:
    failed = evaluate(fruit, "--mode", "dense", option, tmp_path / "none" / "run.svg")
    assert failed.exit_code == 1
    assert "cannot be written" in failed.stderr
    assert "nDCG@10" in failed.stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--mode", "psychic"], "'psychic' is none of hybrid, dense, lexical, rrf"),
        (["--mode", "hybrid+diversity=2"], "diversity is a number from 0 to 1"),
        (["--mode", "dense+feedback_results=0"], "feedback_results is a number from 1 to 20"),
        (["--plot", "plot.doc"], "ends in .svg, .png, .pdf"),
        (["--limit", "0"], "0 is not in the range"),
        (["--tolerance", "nan"], "nan is no number"),
        (["--tolerance", "inf"], "inf is not in the range"),
        (["--tolerance", "-0.1"], "-0.1 is not in the range"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_work(
    evaluate: Evaluate, fruit: Path, opened: list[Path], options: list[str], complaint: str
) -> None:
    refused = evaluate(fruit, *options)
    assert refused.exit_code == 2
    assert complaint in " ".join(refused.stderr.replace("│", " ").split())
    assert opened == []


def test_a_folder_without_questions_and_a_missing_baseline_are_said(
    evaluate: Evaluate, fruit: Path, opened: list[Path], tmp_path: Path
) -> None:
    nothing = evaluate(tmp_path)
    assert nothing.exit_code == 1
    assert "is not a set of judged questions" in nothing.stderr
    missing = evaluate(fruit, "--baseline", tmp_path / "none.json")
    assert missing.exit_code == 1
    assert "There is no saved run" in missing.stderr
    assert opened == []
