"""The lock serves everybody whom `requires-python` invites, not only the newest patch of it."""

import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PINNED = [
    Requirement(line).name
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line.strip()
]


def oldest_python() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (floor,) = SpecifierSet(project["requires-python"])
    assert floor.operator == ">="
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
