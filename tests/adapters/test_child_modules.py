"""Modules of ours that run in processes of their own."""

import subprocess
from pathlib import Path

import pytest

from app.adapters.child_modules import module_command, module_environment
from app.adapters.embedding.exported_model import EXPORT_MODULE
from app.adapters.lexical_index.probe import PROBE_MODULE
from app.adapters.vector_index.child_connection import CHILD_MODULE


@pytest.mark.parametrize("module", [EXPORT_MODULE, PROBE_MODULE, CHILD_MODULE])
def test_another_app_in_the_working_directory_is_not_run(module: str, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise SystemExit('another app was run')")
    ended = subprocess.run(
        module_command(module),
        cwd=tmp_path,
        env=module_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "another app was run" not in ended.stderr
    assert f"{module.replace('.', '/')}.py" in ended.stderr  # it misses its arguments
