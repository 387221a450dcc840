"""The index that always answers: whatever the primary does, and whoever writes meanwhile."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from app.adapters.healing_pauses import HealingPauses
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.adapters.vector_index.primary import PrimaryIndex
from app.adapters.vector_index.primary_keeper import CHECK_SECONDS
from app.errors import DatabaseUnavailableError, StorageError, VectorIndexError
from app.protocols import SearchScope, VectorRecord
from app.surviving import WENT_WRONG
from tests.adapters.vector_index.stores import FlakyStore, NoStore, Table, failover
from tests.contracts.vector_index_contract import (
    DIMENSION,
    expected_order,
    records_of,
    unit_vectors,
)
from tests.e2e.server_process import wait_until

RECORDS = records_of(unit_vectors(300))
QUERY = unit_vectors(1, seed=1)[0]


def new_record(chunk_id: str, item: int, vector=QUERY) -> VectorRecord:
    return VectorRecord(chunk_id, item, 7, vector)


def found(index: FailoverVectorIndex, items: list[int] | None = None) -> list[str]:
    return [hit.chunk_id for hit in index.search(QUERY, 10, SearchScope(items))]


def started(index: FailoverVectorIndex, *, trusted: bool = True) -> FailoverVectorIndex:
    index.start(trusted=trusted)
    assert index.settle(30)
    return index


def filled_store() -> FlakyStore:
    """What a process that stopped in order leaves behind."""
    store = FlakyStore()
    index = failover(store, Table(RECORDS))
    index.rebuild()
    index.close()
    return store


# Starting ----------------------------------------------------------------------------------------


def test_without_a_primary_the_scan_answers_and_nobody_waits():
    store = NoStore()
    index = started(failover(store, Table(RECORDS), pauses=(0.0, 0.0)))
    assert store.attempts == 2
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert index.status.degraded_reason == "There is no primary."
    assert (index.status.ready, index.status.loaded, index.status.count) == (False, True, 300)
    with pytest.raises(VectorIndexError, match="no primary"):
        index.rebuild()
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    index.close()


def test_a_primary_that_was_given_up_is_tried_again_later():
    store = FlakyStore()
    store.broken = True
    index = failover(store, Table(RECORDS), pauses=(), retry_seconds=0.0)
    index.start(trusted=False)
    store.wait_for(lambda: store.made >= 2)
    store.broken = False
    wait_until(lambda: index.status.ready, "the primary serves")
    assert store.complete
    assert index.settle(30)
    index.close()


def fail_unexpectedly() -> None:
    raise ValueError("of a row that is damaged")


@pytest.mark.parametrize("failures", [2, 5], ids=["within its pauses", "once it was given up"])
def test_an_unexpected_error_is_a_try_that_failed(failures: int):
    store, table = FlakyStore(), Table(RECORDS)

    def fail_at_first() -> None:
        if table.reads <= failures:
            fail_unexpectedly()

    table.between_batches = fail_at_first
    index = failover(store, table, retry_seconds=0.0)
    index.start(trusted=False)
    wait_until(lambda: index.status.ready, "the primary serves")
    assert index.settle(30)
    assert index.degraded_reason is None
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert table.reads == failures + 1
    index.close()


def test_an_error_that_stays_unexpected_is_given_up_with_a_reason_that_shows_nothing():
    store, table = FlakyStore(), Table(RECORDS)
    table.between_batches = fail_unexpectedly
    index = started(failover(store, table), trusted=False)
    assert (index.status.ready, index.degraded_reason) == (False, WENT_WRONG)
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    index.close()


def test_after_a_rebuild_that_met_an_unexpected_error_the_primary_is_healed():
    store, table = FlakyStore(), Table(RECORDS)
    index = started(failover(store, table))
    reads = table.reads

    def fail_once() -> None:
        if table.reads == reads + 1:
            fail_unexpectedly()

    table.between_batches = fail_once
    with pytest.raises(ValueError, match="damaged"):
        index.rebuild()
    assert index.settle(30)
    assert index.status.ready
    index.close()


def test_a_primary_that_is_damaged_over_and_over_is_healed_each_time():
    store = FlakyStore()
    index = started(failover(store, Table(RECORDS)))
    for _ in range(5):
        assert store.index is not None
        store.index.fail_once.set()
        index.upsert([new_record("new", 7)])
        assert index.settle(30)
        assert index.status.ready
    index.close()


def test_a_trusted_primary_is_not_opened_before_it_is_needed():
    store, table = filled_store(), Table(RECORDS)
    opened_before = store.openings
    index = started(failover(store, table, exact_up_to_records=300))
    assert index.loaded
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert (index.status.ready, index.degraded_reason) == (True, None)
    assert (store.openings, table.reads, table.loads) == (opened_before, 0, 1)
    index.close()
    assert store.complete


@pytest.mark.parametrize("need", ["a write", "a removal", "a search", "its ids"])
def test_a_resting_primary_is_opened_when_it_is_needed_and_misses_nothing(need: str):
    store, table = filled_store(), Table(RECORDS)
    made = store.made
    index = started(failover(store, table))
    if need == "a write":
        index.upsert([new_record("new", 7)])
    elif need == "a removal":
        index.remove([RECORDS[0].chunk_id])
    elif need == "a search":
        found(index)
    ids = index.chunk_ids() if need == "its ids" else set()
    assert index.settle(30)
    assert (index.status.ready, store.complete, store.made) == (True, True, made)
    assert store.index is not None
    assert store.index.chunk_ids() == index.chunk_ids()
    assert ids <= index.chunk_ids()
    assert table.reads == 0
    index.close()


def test_a_primary_that_missed_a_write_is_not_complete_on_disk():
    store = filled_store()
    index = failover(store, Table(RECORDS), pauses=())  # nothing is ever tried
    index.start(trusted=True)
    index.upsert([new_record("new", 7)])
    assert index.settle(30)
    assert not index.status.ready
    assert not store.complete
    index.close()


def test_a_primary_that_did_not_close_in_order_is_compared_at_the_next_start():
    store = filled_store()
    store.closes = False
    index = started(failover(store, Table(RECORDS)))
    index.upsert([new_record("new", 7)])
    assert index.settle(30)
    assert store.complete
    index.close()
    assert not store.complete


def test_after_an_unclean_stop_a_primary_is_compared_and_mended():
    store = filled_store()
    assert store.index is not None
    wrong = VectorRecord(RECORDS[40].chunk_id, RECORDS[40].item_id, 7, QUERY)
    store.index.upsert([wrong, new_record("undead", 3)])
    store.index.remove([record.chunk_id for record in RECORDS[:30]])
    made = store.made
    index = started(failover(store, Table(RECORDS)), trusted=False)
    assert (index.status.ready, store.made) == (True, made)
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert store.index.chunk_ids() == {record.chunk_id for record in RECORDS}
    index.close()


def test_a_primary_that_is_mostly_wrong_is_made_anew():
    store = filled_store()
    others = records_of(unit_vectors(300, seed=3))
    made = store.made
    index = started(failover(store, Table(others)), trusted=False)
    assert (index.status.ready, store.made) == (True, made + 1)
    assert found(index) == expected_order(others, QUERY, 10)
    index.close()


def test_a_fresh_start_with_nothing_stored_is_not_degraded():
    index = started(failover(FlakyStore(), Table()))
    assert (index.status.ready, index.degraded_reason) == (True, None)
    index.close()


def test_a_primary_that_is_doubted_as_soon_as_it_serves_is_healed_once_more():
    told: list[str] = []

    def doubt_once() -> None:
        told.append("healed")
        if len(told) == 1:
            index.distrust("Somebody has seen something.")

    index = failover(FlakyStore(), Table(RECORDS), on_healed=doubt_once)
    started(index, trusted=False)
    assert told == ["healed", "healed"]
    index.close()


@pytest.mark.parametrize("damage", ["lacks records", "is not there"])
def test_whoever_waits_for_an_index_to_be_healed_finds_that_told(damage: str):
    told: list[str] = []

    def tell_after_a_while() -> None:
        threading.Event().wait(0.2)
        told.append("healed")

    store = filled_store() if damage == "lacks records" else FlakyStore()
    if store.index is not None:
        store.index.remove([RECORDS[0].chunk_id])
    index = started(failover(store, Table(RECORDS), on_healed=tell_after_a_while), trusted=False)
    assert told == ["healed"]
    index.close()


@pytest.mark.parametrize(("stored", "healed"), [([], []), (RECORDS, ["healed"])])
def test_what_is_written_while_the_first_primary_is_made_heals_nothing(
    stored: list[VectorRecord], healed: list[str]
) -> None:
    class SlowStore(FlakyStore):
        """Takes so long to make one that something is written meanwhile."""

        def recreate(self) -> PrimaryIndex:
            index.upsert([new_record("first", 1)])
            return super().recreate()

    told: list[str] = []
    table = Table(stored)
    index = FailoverVectorIndex(
        SlowStore(),
        LoadedExactIndex(DIMENSION, table.vector_rows),
        table.records,
        exact_up_to_records=0,
        on_healed=lambda: told.append("healed"),
    )
    started(index)
    assert found(index)[0] == "first"
    assert index.count() == len(stored) + 1
    assert told == healed
    index.close()


def test_a_source_that_cannot_be_read_now_is_read_when_a_search_needs_it():
    table = Table(RECORDS)

    def fail() -> None:
        raise StorageError("The database is locked.")

    table.between_rows = fail
    index = LoadedExactIndex(DIMENSION, table.vector_rows)
    index.start()
    assert not index.settle(30)
    with pytest.raises(StorageError):
        index.search(QUERY, 5)
    table.between_rows = lambda: None
    assert [hit.chunk_id for hit in index.search(QUERY, 5)] == expected_order(RECORDS, QUERY, 5)
    assert index.status.loaded
    index.close()


# Writing while others do -------------------------------------------------------------------------


def test_a_primary_that_only_lacks_the_database_is_made_soon_after_that_is_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("app.adapters.healing_pauses.DATABASE_SECONDS", 0.001)
    table, store = Table(RECORDS), FlakyStore()

    def refuse() -> None:
        if table.loads <= 6:  # by whoever loads it at the start, and by the first tries
            raise DatabaseUnavailableError("It does not answer.")

    table.between_rows = refuse
    index = failover(store, table, pauses=(0.0, 3600.0, 3600.0))
    index.start(trusted=False)
    store.wait_for(lambda: store.complete)
    index.close()
    told = [each for each in caplog.messages if "cannot be used" in each or "is left" in each]
    assert told == ["The flaky index cannot be used: It does not answer."]


def test_what_sql_has_not_committed_when_the_exact_index_loads_is_not_lost():
    table = Table(RECORDS)
    index = failover(filled_store(), table)
    new = new_record("new", 7)
    index.upsert([new])
    assert found(index, [7]) == ["new"]
    started(index)
    table.rows["new"] = new
    assert found(index) == expected_order([*RECORDS, new], QUERY, 10)
    index.close()


def test_a_primary_that_is_mostly_what_was_removed_is_made_anew_while_the_scan_answers():
    healed = []
    store = filled_store()
    made, store.swollen_factor = store.made, 2.0
    index = started(failover(store, Table(RECORDS), on_healed=lambda: healed.append(1)))
    index.upsert(RECORDS[: len(RECORDS) - 1])  # it is awake from here on, and one is lacking
    assert index.settle(30)
    assert store.made == made
    index.upsert(RECORDS[-1:])
    store.wait_for(lambda: store.made == made + 1)
    assert index.settle(30)
    assert index.status.ready
    assert index.chunk_ids() == {record.chunk_id for record in RECORDS}
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert not healed, "nothing was damaged"
    index.close()
    assert store.made == made + 1


def test_what_sql_has_not_committed_when_a_rebuild_begins_is_not_lost():
    index = failover(FlakyStore(), Table(RECORDS))
    index.rebuild()
    index.upsert([new_record("new", 7)])
    index.rebuild()
    assert index.status.ready
    assert found(index)[0] == "new"
    index.close()


def test_writes_during_a_rebuild_win_over_what_the_source_yields():
    store, table = FlakyStore(), Table(RECORDS)
    index = failover(store, table)
    removed, replaced = RECORDS[299], new_record(RECORDS[298].chunk_id, 9)

    def write() -> None:
        index.remove([removed.chunk_id])
        index.upsert([replaced, new_record("new", 9, -QUERY)])

    table.between_batches = write
    index.rebuild()
    expected = [*RECORDS[:298], replaced, new_record("new", 9, -QUERY)]
    assert index.status.ready
    assert store.index is not None
    assert store.index.chunk_ids() == {record.chunk_id for record in expected}
    assert found(index) == expected_order(expected, QUERY, 10)
    assert index.search(-QUERY, 1)[0].chunk_id == "new"
    index.close()


def test_loading_rebuilding_writing_and_searching_at_once_end_in_agreement():
    """Writers keep the order of the service: index first, then SQL; SQL first, then the removal."""
    table = Table(RECORDS)
    store = filled_store()
    for turn in range(5):
        index = failover(store, table)
        index.start(trusted=True)

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
                assert len(index.search(QUERY, 10, SearchScope([1, 2, 3]))) == 10

        with ThreadPoolExecutor(4) as pool:
            work = [pool.submit(write, 0), pool.submit(search), pool.submit(write, 1)]
            work.append(pool.submit(index.rebuild))
            for done in work:
                done.result()
        assert index.settle(30)
        assert index.status.ready
        assert index.chunk_ids() == table.rows.keys()
        assert found(index, list(range(10))) == found(index)
        index.close()


# Who answers -------------------------------------------------------------------------------------


def test_small_indexes_scopes_and_busy_primaries_are_left_to_the_scan():
    store = filled_store()
    index = failover(store, Table(RECORDS), exact_up_to_records=299)
    index.rebuild()
    primary = store.index
    assert primary is not None
    primary.searches = 0
    found(index)
    assert primary.searches == 1
    found(index, [1])
    primary.busy = True
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    primary.busy = False
    index.remove([RECORDS[0].chunk_id])  # 299 are left
    assert found(index) == expected_order(RECORDS[1:], QUERY, 10)
    assert primary.searches == 1
    index.close()


@pytest.mark.parametrize("most_found", [300, 299, 10, 9, 0])
def test_hits_are_as_many_and_with_the_same_cosines_whichever_index_knows_them(most_found: int):
    store = filled_store()
    index = failover(store, Table(RECORDS))
    index.rebuild()
    primary = store.index
    assert primary is not None
    primary.most_found = most_found
    for limit in (1, 9, 10, 300, 1000):
        primary.searches = 0
        hits = index.search(QUERY, limit)
        assert primary.searches == 1
        assert [hit.chunk_id for hit in hits] == expected_order(RECORDS, QUERY, limit)
        cosines, numbers = index.compared(QUERY, [hit.chunk_id for hit in hits])
        assert [hit.score for hit in hits] == cosines.tolist()
        assert [hit.document_number for hit in hits] == numbers.tolist()
    index.close()


def test_a_wrong_vector_in_a_search_is_no_failure_of_the_primary():
    index = failover(FlakyStore(), Table(RECORDS))
    index.rebuild()
    with pytest.raises(VectorIndexError, match="dimensions"):
        index.search(unit_vectors(1, dimension=3)[0], 5)
    assert index.status.ready
    index.close()


# Failing and healing -----------------------------------------------------------------------------


def test_a_primary_that_fails_in_a_search_is_replaced_in_the_same_call():
    store = FlakyStore()
    index = failover(store, Table(RECORDS))
    index.rebuild()
    store.broken = True
    assert found(index) == expected_order(RECORDS, QUERY, 10)
    assert not index.status.ready
    assert index.status.degraded_reason == "The primary is broken."
    assert not store.complete
    index.close()


def test_a_primary_that_fails_in_a_write_is_healed_and_nothing_is_lost():
    store = filled_store()
    index = started(failover(store, Table(RECORDS)), trusted=False)
    assert store.index is not None
    store.index.fail_once.set()
    index.upsert([new_record("new", 7)])
    index.remove([RECORDS[0].chunk_id])
    assert index.settle(30)
    assert index.status.ready
    assert index.degraded_reason is None
    assert store.complete
    assert found(index)[0] == "new"
    assert store.index.chunk_ids() == {"new", *(record.chunk_id for record in RECORDS[1:])}
    index.close()


def test_a_primary_that_fails_during_a_rebuild_leaves_the_scan_to_answer():
    store, table = FlakyStore(), Table(RECORDS)
    index = failover(store, table)

    def break_down() -> None:
        store.broken = True
        index.upsert([new_record("new", 7)])

    table.between_batches = break_down
    with pytest.raises(VectorIndexError, match="broken"):
        index.rebuild()
    assert not index.status.ready
    assert not store.complete
    assert found(index)[0] == "new"
    index.close()


def test_closing_stops_a_rebuild():
    table = Table(RECORDS)
    index = failover(FlakyStore(), table)
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


def test_a_making_that_a_stop_breaks_off_has_not_failed(caplog: pytest.LogCaptureFixture):
    table, store = Table(RECORDS), FlakyStore()
    index = failover(store, table)
    closer = threading.Thread(target=index.close)

    def close_elsewhere() -> None:
        if closer.ident is None:
            closer.start()
            wait_until(lambda: index._keeper._closed, "it is about to close")

    table.between_batches = close_elsewhere
    index.start(trusted=True)
    wait_until(lambda: closer.ident is not None, "the primary is being made")
    closer.join()
    assert not store.complete
    assert not any("cannot be used" in message for message in caplog.messages)


# Between a look and a rest -----------------------------------------------------------------------


class Interrupted(HealingPauses):
    """Of an index that was given up: something happens once its keeper has seen nothing to do."""

    def __init__(self) -> None:
        super().__init__(())
        self.happening: Callable[[], object] | None = None
        self.happened = threading.Event()

    @property
    def retry_is_due(self) -> bool:
        happening, self.happening = self.happening, None
        if happening is not None:
            happening()
            self.happened.set()
        return super().retry_is_due


def given_up(store: FlakyStore, pauses: Interrupted) -> FailoverVectorIndex:
    table = Table(RECORDS)
    exact = LoadedExactIndex(DIMENSION, table.vector_rows)
    return FailoverVectorIndex(store, exact, table.records, healing_pauses=pauses)


def test_closing_is_not_slept_through():
    pauses = Interrupted()
    index = given_up(FlakyStore(), pauses)
    keepers: list[threading.Thread] = []

    def close() -> None:
        keepers.append(threading.current_thread())
        with suppress(RuntimeError):  # it cannot wait for its own end; all before that is done
            index.close()

    pauses.happening = close
    index.start(trusted=False)
    assert pauses.happened.wait(30)
    keepers[0].join(CHECK_SECONDS / 2)
    assert not keepers[0].is_alive()
    index.close()


def test_what_there_is_to_do_is_not_slept_through():
    store, pauses = FlakyStore(), Interrupted()
    store.broken = True
    index = given_up(store, pauses)

    def rebuild() -> None:
        with suppress(VectorIndexError):
            index.rebuild()

    pauses.happening = rebuild
    index.start(trusted=False)
    assert pauses.happened.wait(30)
    assert index.settle(CHECK_SECONDS / 2)
    index.close()
