"""What others do to the files of a Chroma index in use is noticed, and its own writes are not."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.vector_index.chroma_file_watch import IndexFileWatch
from app.adapters.vector_index.chroma_process import ChromaProcessIndex
from tests.adapters.two_looks import told_to_both
from tests.contracts.vector_index_contract import DIMENSION, records_of, unit_vectors

RECORDS = records_of(unit_vectors(200))
QUERY = unit_vectors(1, seed=1)[0]


def flushed(process: ChromaProcessIndex, directory: Path) -> Path:
    """A file of the graph, which the process holds in memory; its last state is known."""
    process.upsert(records_of(unit_vectors(500, seed=3), prefix="more"))
    assert process.failure is None
    assert process.failure is None
    return next(directory.rglob("data_level0.bin"))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def replace(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "reason"), [(cut, "changed"), (replace, "changed"), (Path.unlink, "deleted")]
)
def test_what_others_do_to_its_files_is_noticed_without_a_call(
    tmp_path: Path, damage: Callable[[Path], None], reason: str
):
    process = ChromaProcessIndex.start(tmp_path, "knowledge_base", DIMENSION, anew=True)
    damage(flushed(process, tmp_path))
    assert reason in (process.failure or "")
    assert reason in (process.failure or ""), "whoever asks next is told as well"
    process.close()


def test_whoever_asks_while_another_looks_is_told_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    process = ChromaProcessIndex.start(tmp_path, "knowledge_base", DIMENSION, anew=True)
    cut(flushed(process, tmp_path))
    told = told_to_both(monkeypatch, IndexFileWatch, "foreign_change", lambda: process.failure)
    assert all("changed" in (said or "") for said in told)
    process.close()


@pytest.mark.parametrize("cleared", [False, True], ids=["opened", "cleared"])
def test_files_that_are_replaced_before_anybody_has_looked_at_them_are_noticed(
    tmp_path: Path, cleared: bool
):
    """A folder that is put back from a back-up: what the process has open is in no folder then."""
    directory = tmp_path / "chroma"
    process = ChromaProcessIndex.start(directory, "knowledge_base", DIMENSION, anew=True)
    if cleared:
        process.clear()
    process.upsert(RECORDS)
    shutil.copytree(directory, tmp_path / "copy")
    shutil.rmtree(directory)
    (tmp_path / "copy").rename(directory)
    assert "changed" in (process.failure or "")
    process.close()


def test_what_the_process_itself_writes_is_no_damage(tmp_path: Path):
    process = ChromaProcessIndex.start(tmp_path, "knowledge_base", DIMENSION, anew=True)
    for round_ in range(6):
        process.upsert(records_of(unit_vectors(150, seed=round_), prefix=f"round{round_}-"))
        assert process.failure is None
        process.search(QUERY, 5)
        assert process.failure is None
        process.remove(sorted(process.chunk_ids())[:40])
        assert process.failure is None
    process.clear()
    assert process.failure is None
    process.upsert(RECORDS)
    assert process.failure is None
    process.close()
