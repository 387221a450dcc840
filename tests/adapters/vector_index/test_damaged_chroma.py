"""Damage of every kind: the probe notices, or the index is mended; rebuilding always helps."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.adapters.vector_index.chroma_files import DATABASE_NAME, IndexIdentity, mark_complete
from app.adapters.vector_index.chroma_store import ChromaStore
from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.adapters.vector_index.probe import probe_chroma
from app.protocols import VectorRecord
from tests.contracts.vector_index_contract import (
    DIMENSION,
    expected_order,
    records_of,
    unit_vectors,
)

IDENTITY = IndexIdentity("knowledge_base", DIMENSION, "model")
RECORDS = records_of(unit_vectors(600))
PROBE_SECONDS = 60.0


@pytest.fixture(scope="module")
def sound_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete index whose HNSW files were flushed, with some changes still in the log."""
    folder = tmp_path_factory.mktemp("sound") / "chroma"
    index = ChromaVectorIndex.open(folder, "knowledge_base", DIMENSION, 250)
    index.upsert(RECORDS)
    index.close()
    mark_complete(folder, IDENTITY)
    return folder


@pytest.fixture
def folder(sound_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound_folder, tmp_path / "chroma"))


def batches() -> Iterator[list[VectorRecord]]:
    for start in range(0, len(RECORDS), 100):
        yield RECORDS[start : start + 100]


def open_after_unclean_stop(folder: Path) -> FailoverVectorIndex:
    store = ChromaStore(folder, IDENTITY, probe_first=True)
    index = FailoverVectorIndex(store, ExactVectorIndex(DIMENSION), batches)
    index.open()
    return index


def recover(index: FailoverVectorIndex) -> None:
    """What the service does after opening; the index must then be right, and is closed."""
    if index.status.ready:
        index.reconcile()
    else:
        index.rebuild()
    assert index.status.ready
    assert_right(index)
    assert index.chunk_ids() == {record.chunk_id for record in RECORDS}
    index.close()


def assert_right(index: FailoverVectorIndex) -> None:
    assert_right_by_filter(index)
    for query in unit_vectors(5, seed=7):
        assert [hit.chunk_id for hit in index.search(query, 5)] == expected_order(RECORDS, query, 5)


def assert_right_by_filter(index: FailoverVectorIndex) -> None:
    """Searches under a filter are answered by the exact scan, whatever became of Chroma."""
    for query in unit_vectors(5, seed=8):
        found = [hit.chunk_id for hit in index.search(query, 5, [1, 2])]
        assert found == expected_order(RECORDS, query, 5, [1, 2])


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def garble(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def test_a_sound_index_passes_the_probe_and_stays_as_it_is(folder: Path):
    assert probe_chroma(folder, "knowledge_base", PROBE_SECONDS) is None
    index = ChromaVectorIndex.open(folder, "knowledge_base", DIMENSION)
    assert index.count() == len(RECORDS)
    index.close()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (DATABASE_NAME, truncate),
        (DATABASE_NAME, Path.unlink),
        ("data_level0.bin", garble),  # crashes the process that opens it
        ("index_metadata.pickle", Path.unlink),
        ("length.bin", truncate),  # opens, and finds only a part of what it holds
        ("link_lists.bin", empty),
    ],
)
def test_damage_is_noticed_and_rebuilt_from_the_source(folder: Path, name: str, damage):
    damage(next(folder.rglob(name)))
    index = open_after_unclean_stop(folder)
    assert not index.status.ready
    assert "did not pass its probe" in (index.status.degraded_reason or "")
    assert_right(index)
    recover(index)


def test_a_file_that_claims_more_than_it_holds_is_never_opened(folder: Path):
    with next(folder.rglob("link_lists.bin")).open("r+b") as file:
        file.truncate(1 << 40)
    reason = probe_chroma(folder, "knowledge_base", PROBE_SECONDS) or ""
    assert "claims 1099511627776 bytes" in reason


def test_a_probe_that_takes_too_long_counts_as_failed(folder: Path):
    reason = probe_chroma(folder, "knowledge_base", 0.01) or ""
    assert "did not answer" in reason


def test_vectors_lost_without_a_trace_are_put_back(folder: Path):
    index = ChromaVectorIndex.open(folder, "knowledge_base", DIMENSION)
    index.remove([record.chunk_id for record in RECORDS[:30]])
    index.upsert(records_of(unit_vectors(3, seed=5), prefix="undead"))
    wrong = unit_vectors(1, seed=6)[0]
    index.upsert([VectorRecord(RECORDS[40].chunk_id, RECORDS[40].item_id, wrong)])
    index.close()
    opened = open_after_unclean_stop(folder)
    assert opened.status.ready
    assert opened.reconcile() == 30 + 3 + 1
    recover(opened)


WRITER = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
from app.adapters.vector_index.chroma import ChromaVectorIndex
from tests.adapters.vector_index.test_damaged_chroma import RECORDS
index = ChromaVectorIndex.open(Path(sys.argv[1]), "knowledge_base", len(RECORDS[0].vector), 20)
while True:
    for start in range(0, len(RECORDS), 20):
        index.upsert(RECORDS[start:start + 20])
        print("flushed", flush=True)
"""


@pytest.mark.parametrize("flushes", [2, 9, 35])
def test_a_writer_killed_amid_its_flushes_leaves_nothing_that_cannot_be_mended(
    tmp_path: Path, flushes: int
):
    folder = tmp_path / "chroma"
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, cwd=root
    ) as writer:
        assert writer.stdout is not None
        for _ in range(flushes):
            assert writer.stdout.readline() == b"flushed\n"
        writer.kill()
    mark_complete(folder, IDENTITY)
    index = open_after_unclean_stop(folder)
    assert_right_by_filter(index)
    recover(index)
