"""The lock serves everybody whom `requires-python` invites; `make` turns away all others."""

import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PINNED = [
    Requirement(line).name
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line.strip()
]


def invited() -> SpecifierSet:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return SpecifierSet(project["requires-python"])


def oldest_python() -> str:
    (floor,) = [bound for bound in invited() if bound.operator == ">="]
    return f"{floor.version}.0"


def python_that_it_needs(name: str) -> str | None:
    try:
        return metadata(name).get("Requires-Python")
    except PackageNotFoundError:
        return None  # of another platform, or of an extra that is not installed


def test_every_pinned_package_takes_the_oldest_python() -> None:
    needed = {name: python_that_it_needs(name) for name in PINNED}
    assert sum(python is not None for python in needed.values()) > len(PINNED) / 2
    oldest = oldest_python()
    assert {
        name: python
        for name, python in needed.items()
        if python and not SpecifierSet(python).contains(oldest)
    } == {}


@pytest.mark.parametrize("minor", range(9, 17))
def test_make_builds_an_environment_with_those_versions_alone(tmp_path: Path, minor: int) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.version_info = (3, {minor}, 1)\n"
        "exec(sys.argv[2]) if sys.argv[1] == '-c' else sys.exit('asked for an environment')\n"
    )
    python.chmod(0o755)
    made = subprocess.run(
        ["make", "setup", "PYTHON=./python"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    is_invited = invited().contains(f"3.{minor}.1")
    assert made.returncode
    assert ("asked for an environment" in made.stderr) == is_invited
    assert ("Groundwork needs Python 3.11 to 3.14" in made.stdout) != is_invited
