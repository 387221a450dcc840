"""Steps at which tests kill the process: nothing happens unless the command was started for it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import cli, fault_points
from app.errors import StartupError
from app.fault_points import KILL_AT, FaultPoint, arm, reached

APP = Path(fault_points.__file__).parent

PASSING = """
import os, sys
from pathlib import Path
from app.fault_points import FaultPoint, arm, reached

arm(os.environ)
for passing in range(1, 6):
    if sys.argv[1:] and passing == 3:
        Path(sys.argv[1]).touch()
    reached(FaultPoint.OUTBOX_CLOSED)
    print(passing, flush=True)
    reached(FaultPoint.ROWS_SWAPPED)
"""


def passing(value: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, KILL_AT: value, "PYTHONPATH": str(APP.parent)}
    return subprocess.run(
        [sys.executable, "-c", PASSING, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_the_variable_every_step_is_passed():
    arm({})
    for point in FaultPoint:
        reached(point)


def test_the_process_is_killed_at_the_nth_passing_and_not_before():
    done = passing("rows_swapped:3")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == ["1", "2", "3"]


def test_another_step_is_not_meant():
    done = passing("item_created:1")
    assert done.returncode == 0
    assert done.stdout.split() == ["1", "2", "3", "4", "5"]


def test_passings_count_only_while_there_is_the_file(tmp_path: Path):
    file = tmp_path / "now"
    done = passing(f"outbox_closed:2@{file}", str(file))
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == ["1", "2", "3"]


@pytest.mark.parametrize(
    "value",
    ["", "rows_swapped", "rows_swapped:0", "rows_swapped:x", "no_such_step:1", "ROWS_SWAPPED:1"],
)
def test_what_names_no_step_is_refused_with_the_steps_that_there_are(value: str):
    with pytest.raises(StartupError, match=re.escape(KILL_AT)) as refusal:
        arm({KILL_AT: value})
    assert all(point in refusal.value.detail for point in FaultPoint)
    reached(FaultPoint.ROWS_SWAPPED)


def test_a_command_that_is_to_be_killed_nowhere_does_not_begin():
    result = CliRunner().invoke(cli.app, ["version"], env={KILL_AT: "nowhere:1"})
    assert result.exit_code == 3
    assert KILL_AT in result.stderr
    assert result.stdout == ""


def test_every_step_is_marked_in_one_place():
    sources = [path.read_text(encoding="utf-8") for path in APP.rglob("*.py")]
    marks = [mark for text in sources for mark in re.findall(r"reached\(FaultPoint\.(\w+)\)", text)]
    assert sorted(marks) == sorted(point.name for point in FaultPoint)


def test_nothing_but_the_start_of_the_command_arms_a_step():
    """Neither a request nor a library that embeds the service can have it killed."""
    callers = {
        path.name
        for path in APP.rglob("*.py")
        if re.search(r"\barm\(|\b_armed\b|\bKILL_AT\b", path.read_text(encoding="utf-8"))
    }
    assert callers == {"cli.py", "fault_points.py"}
