"""Converted models: found again, checked, made anew when damaged, and never half there."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.embedding.exported_model import (
    MANIFEST,
    MODEL,
    TOKENIZER,
    WEIGHTS,
    WORK_PREFIX,
    ensure_exported,
    load_export,
    new_work_folder,
    publish,
)
from app.adapters.embedding.model_files import ModelFiles, find_model
from app.errors import StartupError


@pytest.fixture
def model() -> ModelFiles:
    return find_model("all-MiniLM-L6-v2")


@pytest.fixture
def exported_copy(model_directory: Path, tmp_path: Path, model: ModelFiles) -> Path:
    """A data directory of one's own with the converted model; returns the model's folder."""
    shutil.copytree(model_directory, tmp_path, dirs_exist_ok=True)
    return tmp_path / model.fingerprint


def test_a_second_start_finds_the_export_and_leaves_it_alone(
    exported_copy: Path, tmp_path: Path, model: ModelFiles
) -> None:
    before = {path: path.stat().st_mtime_ns for path in exported_copy.iterdir()}
    assert ensure_exported(model, tmp_path).folder == exported_copy
    assert {path: path.stat().st_mtime_ns for path in exported_copy.iterdir()} == before


def test_the_manifest_says_what_the_model_is(exported_copy: Path, model: ModelFiles) -> None:
    found = load_export(exported_copy)
    assert found is not None
    assert found.manifest.fingerprint == model.fingerprint == exported_copy.name
    assert (found.manifest.dimension, found.manifest.window_tokens) == (384, 256)
    assert found.manifest.lowest_cosine >= 0.999


@pytest.mark.parametrize("name", [MODEL, WEIGHTS, TOKENIZER, MANIFEST])
@pytest.mark.parametrize("damage", ["truncated", "changed", "missing"])
def test_a_damaged_export_is_no_export(exported_copy: Path, name: str, damage: str) -> None:
    path = exported_copy / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif name == MANIFEST:
        path.write_text(json.dumps({"files": {}}))
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    assert load_export(exported_copy) is None


def test_publishing_replaces_a_damaged_export(exported_copy: Path) -> None:
    work = new_work_folder(exported_copy)
    shutil.copytree(exported_copy, work, dirs_exist_ok=True)
    (exported_copy / WEIGHTS).write_bytes(b"damaged")
    publish(work, exported_copy)
    assert load_export(exported_copy) is not None
    assert not list(exported_copy.parent.glob(f"{WORK_PREFIX}*"))


def test_publishing_at_once_from_many_leaves_one_sound_export(exported_copy: Path) -> None:
    works = [new_work_folder(exported_copy) for _ in range(4)]
    for work in works:
        shutil.copytree(exported_copy, work, dirs_exist_ok=True)
    (exported_copy / WEIGHTS).unlink()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda work: publish(work, exported_copy), works))
    assert load_export(exported_copy) is not None
    assert not list(exported_copy.parent.glob(f"{WORK_PREFIX}*"))


def test_what_a_killed_export_left_is_removed(model: ModelFiles, tmp_path: Path) -> None:
    abandoned = tmp_path / f"{WORK_PREFIX}abandoned"
    abandoned.mkdir(parents=True)
    os.utime(abandoned, (0, 0))
    with pytest.raises(StartupError):  # a quick way to start an export
        ensure_exported(replace(model, folder=tmp_path / "gone"), tmp_path)
    assert not abandoned.exists()


def test_a_failed_export_says_why_where_to_look_and_what_to_do(
    model: ModelFiles, tmp_path: Path
) -> None:
    with pytest.raises(StartupError) as caught:
        ensure_exported(replace(model, folder=tmp_path / "gone"), tmp_path)
    assert "there is no such folder" in caught.value.detail
    assert f"export-{model.fingerprint}.log" in caught.value.detail
    assert "EMBEDDING_PROVIDER=sentence-transformers" in caught.value.detail
    assert [path.suffix for path in tmp_path.iterdir()] == [".log"]


def test_a_models_directory_that_cannot_be_written_is_named(
    model: ModelFiles, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(StartupError, match="DATA_DIR"):
        ensure_exported(model, tmp_path / "data")


LIMITED = """
import resource, signal, sys
from pathlib import Path
from app.adapters.embedding.exported_model import ensure_exported
from app.adapters.embedding.model_files import find_model
from app.errors import StartupError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, 10_000_000))
try:
    ensure_exported(find_model("all-MiniLM-L6-v2"), Path(sys.argv[1]))
except StartupError as error:
    print(error.detail)
"""


def test_a_full_disk_fails_the_start_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "free some space" in done.stdout.lower(), done.stdout
    assert [path.suffix for path in tmp_path.iterdir()] == [".log"]
