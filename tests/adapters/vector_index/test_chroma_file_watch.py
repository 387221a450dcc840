"""What others do to the files of a Chroma index in use is noticed, and its own writes are not."""

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.vector_index.chroma_file_watch import IndexFileWatch
from app.adapters.vector_index.chroma_files import DATABASE_NAME
from app.adapters.vector_index.chroma_process import ChromaProcessIndex
from tests.adapters.no_files import no_file_to_open
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


def test_files_that_cannot_be_opened_for_want_of_descriptors_are_no_damage(tmp_path: Path):
    (tmp_path / DATABASE_NAME).write_bytes(b"x")
    watch = IndexFileWatch(tmp_path)
    watch.remember()
    with no_file_to_open():
        assert watch.foreign_change() is None
    (tmp_path / DATABASE_NAME).unlink()
    assert "deleted" in (watch.foreign_change() or "")


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


def watched_database(directory: Path) -> tuple[IndexFileWatch, sqlite3.Connection]:
    """A database with a change in its log, as an idle Chroma has one; its last state is known."""
    connection = sqlite3.connect(directory / DATABASE_NAME, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE records (vector BLOB)")
    connection.commit()
    watch = IndexFileWatch(directory)
    watch.remember()
    assert watch.foreign_change() is None
    return watch, connection


def test_a_database_that_takes_in_its_log_as_its_last_connection_is_closed_is_no_damage(
    tmp_path: Path,
):
    """Chroma's pool closes its connections when nobody has used them for a while."""
    watch, connection = watched_database(tmp_path)
    before = (tmp_path / DATABASE_NAME).stat()
    connection.close()
    assert (tmp_path / DATABASE_NAME).stat().st_mtime_ns != before.st_mtime_ns
    assert watch.foreign_change() is None
    assert watch.foreign_change() is None


def test_a_look_in_the_middle_of_that_waits_for_its_end(tmp_path: Path):
    watch, connection = watched_database(tmp_path)
    reader = sqlite3.connect(tmp_path / DATABASE_NAME, check_same_thread=False)
    reader.execute("SELECT * FROM records").fetchall()
    connection.execute("PRAGMA wal_checkpoint")
    closing = threading.Timer(0.2, lambda: (connection.close(), reader.close()))
    closing.start()
    assert watch.foreign_change() is None
    closing.join()


def overwrite(path: Path) -> None:
    path.write_bytes(path.read_bytes())


@pytest.mark.parametrize("log_is_empty", [False, True])
def test_a_database_that_another_writes_is_noticed(tmp_path: Path, log_is_empty: bool):
    watch, connection = watched_database(tmp_path)
    if log_is_empty:
        connection.close()
        assert watch.foreign_change() is None
    overwrite(tmp_path / DATABASE_NAME)
    assert "changed" in (watch.foreign_change() or "")
    connection.close()


def test_a_graph_that_changes_while_the_log_is_taken_in_is_noticed(tmp_path: Path):
    segment = tmp_path / "65655bfc-a410-48a2-a335-e2a1a49e9172"
    segment.mkdir()
    (segment / "length.bin").write_bytes(b"1")
    watch, connection = watched_database(tmp_path)
    (segment / "length.bin").write_bytes(b"22")
    connection.close()
    assert "changed" in (watch.foreign_change() or "")
