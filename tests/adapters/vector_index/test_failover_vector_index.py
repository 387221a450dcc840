"""The index that always answers: whatever the primary does, and whoever writes meanwhile."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from app.adapters.vector_index.chroma_files import IndexIdentity
from app.adapters.vector_index.chroma_store import ChromaStore
from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.failover import FailoverVectorIndex, PrimaryStore
from app.errors import VectorIndexError
from app.protocols import VectorRecord
from tests.adapters.vector_index.stores import FlakyStore, NoStore
from tests.contracts.vector_index_contract import (
    DIMENSION,
    expected_order,
    records_of,
    unit_vectors,
)

RECORDS = records_of(unit_vectors(300))
QUERY = unit_vectors(1, seed=1)[0]


class Table:
    """Stands for SQL: a snapshot is taken when reading begins, and is read in small batches."""

    def __init__(self, records: Sequence[VectorRecord] = ()) -> None:
        self.rows = {record.chunk_id: record for record in records}
        self.reads = 0
        self.between_batches = lambda: None

    def __call__(self) -> Iterator[Sequence[VectorRecord]]:
        self.reads += 1
        snapshot = list(self.rows.values())
        for start in range(0, len(snapshot), 50):
            yield snapshot[start : start + 50]
            self.between_batches()


def failover(store: PrimaryStore, table: Table) -> FailoverVectorIndex:
    return FailoverVectorIndex(store, ExactVectorIndex(DIMENSION), table)


def found(index: FailoverVectorIndex, items: list[int] | None = None) -> list[str]:
    return [hit.chunk_id for hit in index.search(QUERY, 10, items)]


def test_without_a_primary_the_source_answers():
    index = failover(NoStore(), Table(RECORDS))
    index.open()
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert index.status.degraded_reason == "There is no primary."
    assert index.status.count == 300
    with pytest.raises(VectorIndexError, match="no primary"):
        index.rebuild()
    assert found(index) == expected_order(RECORDS, QUERY, 10)


def test_the_source_is_read_once_and_only_when_needed():
    table = Table(RECORDS)
    store = FlakyStore()
    failover(store, table).rebuild()
    table.reads = 0
    index = failover(store, table)
    index.open()
    found(index)
    assert (index.status.ready, table.reads) == (True, 0)
    found(index, [1])
    found(index, [2])
    assert table.reads == 1


def test_what_sql_has_not_committed_when_the_exact_index_loads_is_not_lost():
    table = Table(RECORDS)
    store = FlakyStore()
    failover(store, table).rebuild()
    index = failover(store, table)
    index.open()
    new = VectorRecord("new", 7, QUERY)
    index.upsert([new])
    assert found(index, [7]) == ["new"]
    table.rows["new"] = new
    assert found(index) == expected_order([*RECORDS, new], QUERY, 10)


def test_what_sql_has_not_committed_when_a_rebuild_begins_is_not_lost():
    table = Table(RECORDS)
    index = failover(FlakyStore(), table)
    index.rebuild()
    index.upsert([VectorRecord("new", 7, QUERY)])
    index.rebuild()
    assert index.status.ready
    assert found(index)[0] == "new"


def test_writes_during_a_rebuild_win_over_what_the_source_yields():
    table = Table(RECORDS)
    index = failover(FlakyStore(), table)
    index.load_exact()
    removed, replaced = RECORDS[299], VectorRecord(RECORDS[298].chunk_id, 9, QUERY)

    def write() -> None:
        index.remove([removed.chunk_id])
        index.upsert([replaced, VectorRecord("new", 9, -QUERY)])

    table.between_batches = write
    index.rebuild()
    expected = [*RECORDS[:298], replaced, VectorRecord("new", 9, -QUERY)]
    assert index.status.ready
    assert index.chunk_ids() == {record.chunk_id for record in expected}
    assert found(index) == expected_order(expected, QUERY, 10)
    assert index.search(-QUERY, 1)[0].chunk_id == "new"


def test_a_primary_that_fails_in_a_search_is_replaced_in_the_same_call():
    store, table = FlakyStore(), Table(RECORDS)
    index = failover(store, table)
    index.rebuild()
    store.broken = True
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert not index.status.ready
    assert index.status.degraded_reason == "The primary is broken."
    assert not store.complete


def test_a_primary_that_fails_in_a_write_is_set_aside_and_nothing_is_lost():
    store, table = FlakyStore(), Table(RECORDS)
    index = failover(store, table)
    index.rebuild()
    store.broken = True
    index.upsert([VectorRecord("new", 7, QUERY)])
    store.broken = False
    index.remove([RECORDS[0].chunk_id])
    assert not index.status.ready
    assert not store.complete
    assert found(index)[0] == "new"
    index.rebuild()
    assert index.status.ready
    assert index.chunk_ids() == {"new", *(record.chunk_id for record in RECORDS[1:])}


def test_a_primary_that_fails_during_a_rebuild_leaves_the_scan_to_answer():
    store, table = FlakyStore(), Table(RECORDS)
    index = failover(store, table)

    def break_down() -> None:
        store.broken = True
        index.upsert([VectorRecord("new", 7, QUERY)])

    index.load_exact()
    table.between_batches = break_down
    with pytest.raises(VectorIndexError, match="broken"):
        index.rebuild()
    assert not index.status.ready
    assert not store.complete
    assert found(index)[0] == "new"


def test_a_wrong_vector_in_a_search_is_no_failure_of_the_primary():
    index = failover(FlakyStore(), Table(RECORDS))
    index.rebuild()
    with pytest.raises(VectorIndexError, match="dimensions"):
        index.search(unit_vectors(1, dimension=3)[0], 5)
    assert index.status.ready


def test_closing_stops_a_rebuild():
    table = Table(RECORDS)
    index = failover(FlakyStore(), table)
    index.load_exact()
    closers: list[threading.Thread] = []
    closing = threading.Event()

    def close() -> None:
        closing.set()
        index.close()

    def close_elsewhere() -> None:
        if not closers:
            closers.append(threading.Thread(target=close))
            closers[0].start()
            closing.wait()

    table.between_batches = close_elsewhere
    with suppress(VectorIndexError):  # it may just have ended
        index.rebuild()
    closers[0].join()
    with pytest.raises(VectorIndexError, match="closed"):
        index.search(QUERY, 5)


def test_loading_rebuilding_writing_and_searching_at_once_end_in_agreement():
    """Writers keep the order of the service: index first, then SQL; SQL first, then the removal."""
    table = Table(RECORDS)
    store = FlakyStore()
    failover(store, table).rebuild()
    for turn in range(5):
        index = failover(store, table)
        index.open()

        def write(seed: int, index: FailoverVectorIndex = index, turn: int = turn) -> None:
            new = records_of(unit_vectors(40, seed=seed + 10 * turn), prefix=f"{turn}-{seed}")
            for record in new:
                index.upsert([record])
                table.rows = {**table.rows, record.chunk_id: record} if seed == 0 else table.rows
            if seed == 1:
                index.remove([record.chunk_id for record in new])

        def search(index: FailoverVectorIndex = index) -> None:
            for _ in range(20):
                assert len(index.search(QUERY, 10)) == 10
                assert len(index.search(QUERY, 10, [1, 2, 3])) == 10

        with ThreadPoolExecutor(4) as pool:
            work = [pool.submit(write, 0), pool.submit(search), pool.submit(write, 1)]
            work.append(pool.submit(index.rebuild))
            for done in work:
                done.result()
        assert index.status.ready
        assert index.chunk_ids() == table.rows.keys()
        assert found(index, list(range(10))) == found(index)


def chroma_store(folder: Path, fingerprint: str = "model") -> ChromaStore:
    return ChromaStore(folder, IndexIdentity("knowledge_base", DIMENSION, fingerprint))


def test_a_rebuilt_chroma_is_opened_next_time_but_not_for_another_model(tmp_path: Path):
    index = failover(chroma_store(tmp_path), Table(RECORDS))
    index.open()
    assert not index.status.ready
    index.rebuild()
    index.close()
    for fingerprint, ready in (("model", True), ("other model", False)):
        index = failover(chroma_store(tmp_path, fingerprint), Table(RECORDS))
        index.open()
        assert index.status.ready is ready
        assert found(index) == expected_order(RECORDS, QUERY, 10)
        index.close()


def test_a_rebuild_that_did_not_end_is_not_opened_next_time(tmp_path: Path):
    table = Table(RECORDS)
    index = failover(chroma_store(tmp_path), table)
    index.rebuild()

    def fail() -> None:
        raise VectorIndexError("The source ended early.")

    table.between_batches = fail
    with pytest.raises(VectorIndexError, match="ended early"):
        index.rebuild()
    assert not index.status.ready
    index.close()
    index = failover(chroma_store(tmp_path), Table(RECORDS))
    index.open()
    assert not index.status.ready
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    index.rebuild()
    assert index.status.ready
    index.close()


def test_clear_leaves_a_complete_empty_index(tmp_path: Path):
    index = failover(chroma_store(tmp_path), Table(RECORDS))
    index.rebuild()
    index.clear()
    assert found(index) == []
    index.close()
    index = failover(chroma_store(tmp_path), Table())
    index.open()
    assert index.status.ready
    assert index.count() == 0
    index.close()
