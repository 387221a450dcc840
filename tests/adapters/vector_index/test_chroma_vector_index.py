"""What holds for the Chroma index beyond the contract: reopening, metadata, wear, its folder."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.adapters.vector_index.chroma_files import DATABASE_NAME
from app.errors import VectorIndexError
from app.protocols import VectorRecord
from tests.contracts.vector_index_contract import (
    DIMENSION,
    expected_order,
    records_of,
    unit_vectors,
)


def open_index(directory: Path, sync_threshold: int = 100) -> ChromaVectorIndex:
    return ChromaVectorIndex.open(directory, "knowledge_base", DIMENSION, sync_threshold)


def test_what_was_stored_is_there_after_reopening(tmp_path: Path):
    records = records_of(unit_vectors(250))
    index = open_index(tmp_path)
    index.upsert(records)
    index.remove([records[0].chunk_id])
    for _ in range(2):
        index.close()
        index = open_index(tmp_path)
        assert index.chunk_ids() == {record.chunk_id for record in records[1:]}
        query = unit_vectors(1, seed=1)[0]
        found = [hit.chunk_id for hit in index.search(query, 10)]
        assert found == expected_order(records[1:], query, 10)
    index.close()


def test_a_deleted_folder_can_be_filled_anew_in_the_same_process(tmp_path: Path):
    folder = tmp_path / "chroma"
    for _ in range(2):
        index = open_index(folder)
        assert index.count() == 0
        index.upsert(records_of(unit_vectors(3)))
        index.close()
        shutil.rmtree(folder)


def test_a_replaced_record_keeps_nothing_of_its_old_metadata(tmp_path: Path):
    index = open_index(tmp_path)
    vector = unit_vectors(1)[0]
    index.upsert(
        [VectorRecord("one", 1, 7, vector, {"category": "Old", "tags": ["x"], "title": "T"})]
    )
    index.upsert([VectorRecord("one", 2, 7, vector, {"title": "T2", "tags": []})])
    assert index.metadata(["one"]) == {"one": {"title": "T2", "knowledge_id": 2}}
    index.close()


def writes(directory: Path) -> list[tuple[str, bool]]:
    """What waits in Chroma's log, in order: the chunk, and whether a vector was written."""
    statement = "SELECT id, vector IS NOT NULL FROM embeddings_queue ORDER BY seq_id"
    with closing(sqlite3.connect(f"file:{directory / DATABASE_NAME}?mode=ro", uri=True)) as log:
        return [(chunk_id, bool(vector)) for chunk_id, vector in log.execute(statement)]


def test_only_what_differs_from_what_is_held_is_written(tmp_path: Path):
    told = {"title": "T", "tags": ["b", "a"], "chunk_index": 3, "category": None}
    records = [replace(record, metadata=told) for record in records_of(unit_vectors(200))]
    index = open_index(tmp_path, sync_threshold=1000)
    index.upsert(records)
    index.remove([records[7].chunk_id])
    before = writes(tmp_path)
    renamed = replace(records[3], metadata={"title": "New"})
    other = replace(records[5], vector=unit_vectors(1, seed=9)[0])
    for _ in range(2):
        index.upsert([*records[:3], renamed, records[4], other, *records[6:]])
        written = dict(writes(tmp_path)[len(before) :])
        assert written == {
            renamed.chunk_id: False, other.chunk_id: True, records[7].chunk_id: True,
        }  # fmt: skip
    assert index.metadata([renamed.chunk_id]) == {
        renamed.chunk_id: {"title": "New", "knowledge_id": renamed.item_id}
    }
    held = index.vectors([record.chunk_id for record in records])
    assert len(held) == len(records)
    for record in (renamed, other):
        assert np.allclose(held[record.chunk_id], record.vector, atol=1e-6)
    index.close()


def test_a_second_opening_is_refused_until_the_first_is_closed(tmp_path: Path):
    first = open_index(tmp_path)
    with pytest.raises(VectorIndexError, match="in use"):
        open_index(tmp_path)
    first.close()
    open_index(tmp_path).close()


def test_a_closed_index_answers_with_an_error(tmp_path: Path):
    index = open_index(tmp_path)
    index.close()
    with pytest.raises(VectorIndexError, match="closed"):
        index.search(unit_vectors(1)[0], 1)
    with pytest.raises(VectorIndexError, match="closed"):
        index.clear()


def test_an_index_of_another_dimension_says_what_to_do(tmp_path: Path):
    open_index(tmp_path).close()
    with pytest.raises(VectorIndexError, match="rebuild"):
        ChromaVectorIndex.open(tmp_path, "knowledge_base", DIMENSION + 1)
    open_index(tmp_path).close()


def test_a_database_that_is_none_is_refused_and_can_be_replaced(tmp_path: Path):
    (tmp_path / DATABASE_NAME).write_bytes(b"no database" * 1000)
    with pytest.raises(VectorIndexError):
        open_index(tmp_path)
    (tmp_path / DATABASE_NAME).unlink()
    open_index(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(VectorIndexError, match="cannot be opened"):
        open_index(tmp_path / "file" / "chroma")


def test_clear_gives_the_bytes_back_and_spares_the_files_of_others(tmp_path: Path):
    index = open_index(tmp_path)
    index.upsert(records_of(unit_vectors(250)))
    (tmp_path / "notes.txt").write_text("mine")
    named_alike = tmp_path / "11111111-1111-1111-1111-111111111111"
    named_alike.mkdir()
    (named_alike / "notes.txt").write_text("mine")
    (tmp_path / "folder").mkdir()
    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert len(folders) == 3
    index.clear()
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {
        *("folder", named_alike.name)
    }
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (named_alike / "notes.txt").read_text() == "mine"
    index.close()


def test_twenty_rounds_of_replacing_do_not_wear_it_out(tmp_path: Path):
    """Recall stays, and no answer is shorter than it could be."""
    index = open_index(tmp_path)
    held = records_of(unit_vectors(400))
    index.upsert(held)
    for turn in range(1, 21):
        gone, held = held[:100], held[100:]
        new = records_of(unit_vectors(100, seed=turn), first=1000 * turn)
        index.upsert(new)
        index.remove([record.chunk_id for record in gone])
        held += new
    right = 0
    queries = unit_vectors(50, seed=99)
    for query in queries:
        found = [hit.chunk_id for hit in index.search(query, 10)]
        right += len(set(found) & set(expected_order(held, query, 10)))
        assert len(found) == 10
        assert len(index.search(query, 128)) == 128
        assert len(index.search(query, 1000)) == 400
    assert right / (10 * len(queries)) >= 0.99
    index.close()


def test_vectors_come_back_as_they_were(tmp_path: Path):
    records = records_of(unit_vectors(30))
    index = open_index(tmp_path)
    index.upsert(records)
    held = index.vectors([record.chunk_id for record in records] + ["unknown"])
    assert len(held) == 30
    for record in records:
        np.testing.assert_allclose(held[record.chunk_id], record.vector, atol=1e-6)
    index.close()


def test_it_can_be_made_anew_in_one_place_again_and_again(tmp_path: Path):
    """Chroma lets go of its files only some time after it is closed."""
    index = open_index(tmp_path)
    for _ in range(8):
        index.upsert(records_of(unit_vectors(20)))
        index.clear()
        index.upsert(records_of(unit_vectors(5)))
        index.close()
        index = open_index(tmp_path)
        assert index.count() == 5
    index.close()
