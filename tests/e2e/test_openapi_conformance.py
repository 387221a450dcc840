"""The HTTP interface keeps what its OpenAPI description promises, whatever it is sent."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.container import Container
from app.settings import Settings
from tests.cli.conftest import serving

PROJECT = Path(__file__).parents[2]
LONGEST_ANSWER_SECONDS = 60
"""`index-all` answers when all the items that were made up before have been tried."""
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Addresses that are made up are not waited for."""
    return settings.model_copy(update={"fetch_timeout_seconds": 0.1})


def run_schemathesis(
    container: Container,
    folder: Path,
    *options: str,
    seconds: int,
    longest_answer_seconds: float = LONGEST_ANSWER_SECONDS,
) -> tuple[int, str]:
    """Run all checks against a real server on a fake model; returns exit code and report."""
    with serving(container) as address:
        finished = subprocess.run(
            [
                SCHEMATHESIS,
                *("run", f"{address}/openapi.json", "--checks", "all", "--no-color"),
                *("--generation-database", "none", "--warnings", "off", "--seed", "1"),
                *("--request-timeout", str(LONGEST_ANSWER_SECONDS)),
                *("--max-response-time", str(longest_answer_seconds)),
                *options,
            ],
            cwd=folder,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.e2e.schemathesis_hooks"}
            | {"PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    return finished.returncode, finished.stdout + finished.stderr


def count_cases(report: str) -> int:
    found = re.search(r"([\d,]+) generated", report)
    assert found, report
    return int(found[1].replace(",", ""))


def test_an_answer_that_takes_too_long_breaks_it(container: Container, tmp_path: Path) -> None:
    one = ("--phases", "fuzzing", "--max-examples", "1", "--include-path", "/health/live")
    code, report = run_schemathesis(
        container, tmp_path, *one, seconds=60, longest_answer_seconds=1e-6
    )
    assert code == 1, report
    assert "Response time limit exceeded" in report


def test_no_answer_breaks_the_description(container: Container, tmp_path: Path) -> None:
    code, report = run_schemathesis(
        container, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "5", seconds=120
    )
    assert code == 0, report


@pytest.mark.slow
def test_no_answer_of_two_thousand_breaks_the_description(
    container: Container, tmp_path: Path
) -> None:
    code, report = run_schemathesis(container, tmp_path, "--max-examples", "170", seconds=1200)
    assert code == 0, report
    assert count_cases(report) >= 2000
