"""Damage of every kind hurts only the process of the index, and is mended or made good anew."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.adapters.vector_index.chroma_files import DATABASE_NAME, IndexIdentity, mark_complete
from app.adapters.vector_index.chroma_store import ChromaStore
from app.errors import VectorIndexError
from app.protocols import VectorRecord
from tests.adapters.vector_index.stores import Table, failover
from tests.contracts.vector_index_contract import (
    DIMENSION,
    expected_order,
    records_of,
    unit_vectors,
)
from tests.slow import slow

IDENTITY = IndexIdentity("knowledge_base", DIMENSION, "model")
RECORDS = records_of(unit_vectors(600))


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


def assert_it_recovers(folder: Path) -> None:
    """What the service does after an unclean stop; the index must then be right."""
    index = failover(ChromaStore(folder, IDENTITY), Table(RECORDS))
    index.start(trusted=False)
    for query in unit_vectors(5, seed=7):  # before and while it is mended
        found = [hit.chunk_id for hit in index.search(query, 5)]
        assert found == expected_order(RECORDS, query, 5)
    assert index.settle(60)
    assert index.status.ready
    for query in unit_vectors(20, seed=8):
        found = [hit.chunk_id for hit in index.search(query, 5)]
        assert found == expected_order(RECORDS, query, 5)
    assert index.status.ready
    assert index.chunk_ids() == {record.chunk_id for record in RECORDS}
    index.close()


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def garble(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def swell(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    ("name", "damage", "reason"),
    [
        ("data_level0.bin", garble, ""),  # may crash the process that opens it
        ("link_lists.bin", swell, "claims 1099511627776 bytes"),
        slow(DATABASE_NAME, truncate, ""),
        slow(DATABASE_NAME, Path.unlink, "no database"),
        slow("length.bin", truncate, ""),  # opens, and finds only a part of what it holds
    ],
)
def test_damage_is_noticed_and_made_good(
    folder: Path, name: str, damage: Callable[[Path], None], reason: str
):
    damage(next(folder.rglob(name)))
    if reason:
        with pytest.raises(VectorIndexError, match=reason):
            ChromaStore(folder, IDENTITY).open()
    assert_it_recovers(folder)


def test_vectors_lost_without_a_trace_are_put_back(folder: Path):
    index = ChromaVectorIndex.open(folder, "knowledge_base", DIMENSION)
    index.remove([record.chunk_id for record in RECORDS[:30]])
    index.upsert(records_of(unit_vectors(3, seed=5), prefix="undead"))
    wrong = unit_vectors(1, seed=6)[0]
    index.upsert([VectorRecord(RECORDS[40].chunk_id, RECORDS[40].item_id, 7, wrong)])
    index.close()
    assert_it_recovers(folder)
