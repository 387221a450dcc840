"""A lexical index that fails is set aside, noted and made anew, and no write is lost or undone."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.adapters.lexical_index.filling import LexicalFilling
from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.lexical_index.unsettled_writes import UNSETTLED_RECORDS
from app.errors import LexicalIndexAwayError, LexicalIndexError, StorageError
from app.protocols import LexicalRecord
from tests.adapters.lexical_index.stores import FlakyStore
from tests.contracts.lexical_index_contract import found, many, record


class Sql:
    """What SQL holds; `between` is called between the pages of a reading."""

    def __init__(self, records: Sequence[LexicalRecord] = ()) -> None:
        self.rows = {r.chunk_id: r for r in records}
        self.between: Callable[[], None] = lambda: None

    def __call__(self) -> Iterator[Sequence[LexicalRecord]]:
        """Pages of ten, each a snapshot of its own, by id."""
        last = ""
        while page := sorted(key for key in self.rows if key > last)[:10]:
            rows = [self.rows[key] for key in page]
            self.between()
            yield rows
            last = page[-1]


@pytest.fixture
def store() -> FlakyStore:
    return FlakyStore()


@pytest.fixture
def sql() -> Sql:
    return Sql(many(35))


@pytest.fixture
def index(store: FlakyStore, sql: Sql) -> Iterator[HealingLexicalIndex]:
    index = HealingLexicalIndex(store, sql)
    yield index
    index.close()


def test_an_index_that_did_not_close_in_order_is_made_anew_by_the_next_start(
    store: FlakyStore, sql: Sql
):
    index = HealingLexicalIndex(store, sql)
    index.rebuild()
    assert store.complete
    assert store.index is not None
    store.index.closes = False
    index.close()
    assert not store.complete


def test_a_writer_goes_on_while_a_rebuild_ends(store: FlakyStore, sql: Sql):
    """It looks twice at what is being filled: that stays while it has the lock."""
    rebuilding, gone = threading.Event(), threading.Event()

    class Watched(HealingLexicalIndex):
        held: LexicalFilling | None = None

        @property
        def _filling(self) -> LexicalFilling | None:
            found, writes = self.held, threading.current_thread() is threading.main_thread()
            if found and writes and not rebuilding.is_set():
                rebuilding.set()
                gone.wait(0.3)
            return found

        @_filling.setter
        def _filling(self, filling: LexicalFilling | None) -> None:
            self.held = filling
            if filling is None and rebuilding.is_set():
                gone.set()

    index, begun = Watched(store, sql), threading.Event()

    def fail_once_somebody_writes() -> None:
        begun.set()
        assert rebuilding.wait(10)
        raise LexicalIndexError("The source is away.")

    sql.between = fail_once_somebody_writes
    with ThreadPoolExecutor() as threads:
        rebuild = threads.submit(index.rebuild)
        assert begun.wait(10)
        index.upsert(many(1))
        with pytest.raises(LexicalIndexError, match="away"):
            rebuild.result()
    index.close()


def test_before_it_is_opened_it_says_so(index: HealingLexicalIndex):
    assert index.degraded_reason is not None
    assert not index.status.ready
    for ask in (lambda: index.search("shared", 5), index.count, index.chunk_ids):
        with pytest.raises(LexicalIndexAwayError, match="opened"):
            ask()


def test_opening_a_missing_index_tells_why_and_does_not_fail(index: HealingLexicalIndex):
    index.open()
    assert index.degraded_reason == "Nothing usable is there."
    assert index.status.count == 0


def test_a_rebuild_takes_everything_from_the_source(
    index: HealingLexicalIndex, store: FlakyStore, sql: Sql
):
    assert index.rebuild() == 35
    assert store.complete
    assert index.degraded_reason is None
    assert index.status.ready
    assert index.status.count == 35
    assert found(index, "shared") == set(sql.rows)


@pytest.mark.parametrize("writes", [20, UNSETTLED_RECORDS + 20])
def test_a_language_of_which_a_closed_index_learnt_nothing_is_made_up_for(
    index: HealingLexicalIndex, store: FlakyStore, sql: Sql, writes: int
):
    """As after a kill: the outbox is settled before the index has been tried out and opened."""
    sql.rows = {r.chunk_id: r for r in many(writes)}
    index.rebuild()
    index.close()
    sql.rows = {r.chunk_id: replace(r, language="german") for r in many(writes)}
    assert store.index is not None
    store.index.reopen()
    again = HealingLexicalIndex(store, sql)
    again.upsert(list(sql.rows.values()))
    again.open(trusted=False)
    assert again.status.ready
    assert again.in_other_language({key: r.language for key, r in sql.rows.items()}) == set()
    again.close()


def test_a_rebuild_counts_the_latest_writes_too(index: HealingLexicalIndex, sql: Sql):
    index.upsert(list(sql.rows.values())[:20])
    assert index.rebuild() == index.count() == 35


def test_a_write_before_a_rebuild_is_in_it_though_sql_has_not_committed(
    index: HealingLexicalIndex, sql: Sql
):
    index.upsert([record("early", "shared early")])
    index.rebuild()
    assert index.chunk_ids() == {*sql.rows, "early"}


def test_a_write_withdrawn_before_a_rebuild_is_not_in_it(index: HealingLexicalIndex, sql: Sql):
    index.upsert([record("early", "shared early")])
    index.remove(["early"])
    index.rebuild()
    assert index.chunk_ids() == set(sql.rows)


def test_writes_during_a_rebuild_are_kept_and_removals_do_not_come_back(
    index: HealingLexicalIndex, sql: Sql
):
    pages = []

    def meanwhile() -> None:
        pages.append(len(pages))
        if len(pages) == 2:
            # The page with chunk-0012 has been read, but not yet written.
            del sql.rows["chunk-0012"]
            index.remove(["chunk-0012", "chunk-0001"])
            index.upsert([record("aaa-new", "shared newcomer"), record("chunk-0013", "replaced")])

    del sql.rows["chunk-0001"]
    sql.between = meanwhile
    index.rebuild()
    assert index.chunk_ids() == {*sql.rows, "aaa-new"}
    assert found(index, "newcomer") == {"aaa-new"}
    assert found(index, "replaced") == {"chunk-0013"}
    assert found(index, '"chunkword13"') == set()


def test_removed_and_written_again_during_a_rebuild_is_held(index: HealingLexicalIndex, sql: Sql):
    def meanwhile() -> None:
        index.remove(["chunk-0030"])
        index.upsert([record("chunk-0030", "shared second")])

    sql.between = meanwhile
    index.rebuild()
    assert found(index, "second") == {"chunk-0030"}


def test_a_failing_write_does_not_fail_the_writer_and_is_noted_on_disk(
    index: HealingLexicalIndex, store: FlakyStore, sql: Sql
):
    index.rebuild()
    assert store.index is not None
    store.index.broken = True
    index.upsert([record("new", "shared")])
    index.remove(["chunk-0000"])
    assert not store.complete
    assert index.degraded_reason is not None
    with pytest.raises(LexicalIndexError):
        index.search("shared", 5)
    del sql.rows["chunk-0000"]
    index.rebuild()
    assert index.chunk_ids() == {*sql.rows, "new"}


def test_a_failing_search_raises_and_sets_the_index_aside(
    index: HealingLexicalIndex, store: FlakyStore
):
    index.rebuild()
    assert store.index is not None
    store.index.broken = True
    with pytest.raises(LexicalIndexError):
        index.search("shared", 5)
    assert not index.status.ready
    assert not store.complete


def test_one_question_that_fails_does_not_switch_off_search(sql: Sql, store: FlakyStore):
    index = HealingLexicalIndex(store, sql)
    index.rebuild()
    assert store.index is not None
    store.index.poison = "poisoned question"
    with pytest.raises(LexicalIndexError) as failure:
        index.search("poisoned question", 5)
    assert not failure.value.is_told
    assert index.status.ready
    assert found(index, "shared") == set(sql.rows)
    index.close()


def test_a_rebuild_that_cannot_begin_or_end_says_why(
    index: HealingLexicalIndex, store: FlakyStore, sql: Sql
):
    store.broken = True
    with pytest.raises(LexicalIndexError, match="full"):
        index.rebuild()
    assert index.degraded_reason == "The disk is full."
    store.broken = False

    def break_it() -> None:
        assert store.index is not None
        store.index.broken = True

    sql.between = break_it
    with pytest.raises(LexicalIndexError, match="broken"):
        index.rebuild()
    assert not index.status.ready
    assert not store.complete
    sql.between = lambda: None
    index.rebuild()
    assert index.status.ready


def test_a_rebuild_that_the_database_refuses_tells_what_that_said(
    index: HealingLexicalIndex, sql: Sql
):
    def refuse() -> None:
        raise StorageError("The database does not answer.")

    sql.between = refuse
    with pytest.raises(StorageError):
        index.rebuild()
    assert index.degraded_reason == "The database does not answer."


def test_an_index_that_is_not_trusted_is_compared_with_the_source(store: FlakyStore, sql: Sql):
    held = store.recreate()
    held.upsert([*many(20), record("stale", "shared stale")])
    store.mark_complete()
    index = HealingLexicalIndex(store, sql)
    told: set[str | None] = set()
    sql.between = lambda: told.add(index.degraded_reason)
    index.open(trusted=False)
    assert told == {"The lexical index is being compared with the database."}
    assert index.status.ready
    assert index.chunk_ids() == set(sql.rows)
    index.close()


def test_a_writer_that_came_before_opening_is_not_forgotten(store: FlakyStore, sql: Sql):
    store.recreate().upsert(list(sql.rows.values()))
    store.mark_complete()
    index = HealingLexicalIndex(store, sql)
    index.upsert([record("early", "shared early")])
    del sql.rows["chunk-0003"]
    index.remove(["chunk-0003"])
    index.open()
    assert index.chunk_ids() == {*sql.rows, "early"}
    index.close()


def test_comparing_adds_what_is_missing_and_removes_the_surplus(store: FlakyStore, sql: Sql):
    held = store.recreate()
    held.upsert([*sql.rows.values(), record("surplus", "shared")])
    held.remove(["chunk-0001", "chunk-0002"])
    store.mark_complete()
    index = HealingLexicalIndex(store, sql)
    index.open(trusted=False)
    assert index.chunk_ids() == set(sql.rows)
    index.close()


def test_it_is_tidied_once_nobody_writes(
    index: HealingLexicalIndex, store: FlakyStore, monkeypatch: pytest.MonkeyPatch
):
    index.rebuild()
    tidied = []
    monkeypatch.setattr(store.index, "keep", lambda: tidied.append(index.count()))
    for write in (lambda: index.remove(["c1"]), lambda: index.upsert([record("c1", "again")])):
        write()
        index.tidy()
        assert not tidied
        index.tidy()
        assert tidied
        tidied.clear()


def test_an_index_that_somebody_has_rebuilt_meanwhile_is_not_healed_again(
    index: HealingLexicalIndex, store: FlakyStore, sql: Sql
):
    assert index.heal() == len(sql.rows)
    made = store.index
    assert index.heal() is None
    assert store.index is made
    assert index.status.ready


def test_an_index_that_cannot_tell_what_it_holds_is_set_aside_though_it_finds_words(
    index: HealingLexicalIndex, store: FlakyStore
):
    index.rebuild()
    assert store.index is not None
    store.index.unreadable = True
    assert index.search("shared", 5)
    with pytest.raises(LexicalIndexError):
        index.documents_of(["chunk-0000"])
    assert not index.status.ready
    assert not store.complete


def test_an_index_whose_files_have_rotted_is_set_aside_when_it_is_examined(
    index: HealingLexicalIndex, store: FlakyStore
):
    index.examine()
    index.rebuild()
    index.examine()
    assert index.status.ready
    store.rotten = "A file has rotted."
    assert index.status.ready
    index.examine()
    assert index.status.degraded_reason == "A file has rotted."
    assert not store.complete


def test_an_index_whose_files_were_changed_is_set_aside_when_somebody_looks(
    index: HealingLexicalIndex, store: FlakyStore
):
    index.rebuild()
    assert index.status.ready
    store.exchanged = "Files of the lexical index were deleted."
    assert index.status.degraded_reason == "Files of the lexical index were deleted."
    assert not index.status.ready
    assert not store.complete
    store.exchanged = None
    index.rebuild()
    assert index.status.ready


def test_closing_ends_a_rebuild_which_stays_incomplete(store: FlakyStore, sql: Sql):
    index = HealingLexicalIndex(store, sql)

    def close_it() -> None:
        index._closed = True  # what `close` does first, while it waits for the rebuild

    sql.between = close_it
    with pytest.raises(LexicalIndexError, match="closed"):
        index.rebuild()
    assert not store.complete
    index.close()
    with pytest.raises(LexicalIndexError, match="closed"):
        index.upsert(many(1))
    with pytest.raises(LexicalIndexError, match="closed"):
        index.search("shared", 1)


def stopped_after(pages: int, store: FlakyStore, sql: Sql) -> None:
    """A rebuild that is closed once the source has shown some pages."""
    index = HealingLexicalIndex(store, sql)
    seen: list[None] = []

    def count_pages() -> None:
        seen.append(None)
        if len(seen) > pages:
            index._closed = True  # what `close` does first, while it waits for the rebuild

    sql.between = count_pages
    with pytest.raises(LexicalIndexError, match="closed"):
        index.rebuild()
    sql.between = lambda: None


def test_a_rebuild_that_was_stopped_goes_on_where_it_was(store: FlakyStore, sql: Sql):
    stopped_after(2, store, sql)
    held = store.index
    assert held is not None
    assert held.count() == 20
    del sql.rows["chunk-0003"]
    sql.rows["chunk-0001b"] = record("chunk-0001b", "shared newcomer")
    index = HealingLexicalIndex(store, sql)
    index.upsert([record("chunk-0004", "shared afresh")])
    told: set[str | None] = set()
    sql.between = lambda: told.add(index.degraded_reason)
    index.open(trusted=False)
    assert told == {"The lexical index is being made."}
    assert store.index is held
    assert store.complete
    assert index.chunk_ids() == set(sql.rows)
    assert found(index, "newcomer") == {"chunk-0001b"}
    assert found(index, "afresh") == {"chunk-0004"}
    index.close()


def test_an_unfinished_index_is_not_finished_before_a_start_goes_on(store: FlakyStore, sql: Sql):
    stopped_after(2, store, sql)
    index = HealingLexicalIndex(store, sql)
    index.open(trusted=True)
    assert not index.status.ready
    assert index.rebuild() == 35
    assert index.status.ready
    index.close()


def test_an_unfinished_index_that_fails_is_made_anew(store: FlakyStore, sql: Sql):
    stopped_after(2, store, sql)
    assert store.index is not None
    store.index.broken = True
    index = HealingLexicalIndex(store, sql)
    index.open(trusted=False)
    assert not index.status.ready
    assert not store.unfinished
    index.rebuild()
    assert index.chunk_ids() == set(sql.rows)
    index.close()


def test_a_comparison_that_was_stopped_leaves_a_complete_index(store: FlakyStore, sql: Sql):
    store.recreate().upsert(many(20))
    store.mark_complete()
    index = HealingLexicalIndex(store, sql)
    sql.between = lambda: setattr(index, "_closed", True)
    index.open(trusted=False)
    assert not index.status.ready
    assert store.complete
    sql.between = lambda: None
    index = HealingLexicalIndex(store, sql)
    index.open(trusted=False)
    assert index.chunk_ids() == set(sql.rows)
    index.close()


def test_the_memory_of_latest_writes_is_bounded(index: HealingLexicalIndex):
    index.upsert(many(UNSETTLED_RECORDS + 10, "early"))
    index.rebuild()
    early = {chunk_id for chunk_id in index.chunk_ids() if chunk_id.startswith("early")}
    assert len(early) == UNSETTLED_RECORDS


class HealingHistory(RuleBasedStateMachine):
    """Whatever fails in between, a rebuild or a reconciliation leaves what SQL holds."""

    def __init__(self) -> None:
        super().__init__()
        self.store, self.sql = FlakyStore(), Sql()
        self.index = HealingLexicalIndex(self.store, self.sql)
        self.index.rebuild()

    def teardown(self) -> None:
        self.index.close()

    @rule(keys=st.lists(st.integers(0, 40), max_size=15))
    def publish(self, keys: list[int]) -> None:
        records = [record(f"chunk-{key:04d}", f"shared word{key}") for key in keys]
        self.index.upsert(records)
        self.sql.rows.update({r.chunk_id: r for r in records})

    @rule(keys=st.lists(st.integers(0, 40), max_size=15))
    def delete(self, keys: list[int]) -> None:
        ids = [f"chunk-{key:04d}" for key in keys]
        for chunk_id in ids:
            self.sql.rows.pop(chunk_id, None)
        self.index.remove(ids)

    @precondition(lambda self: self.index.degraded_reason is None)
    @rule()
    def fail(self) -> None:
        assert self.store.index is not None
        self.store.index.broken = True
        self.index.upsert([])

    @rule(written=st.lists(st.integers(41, 60), max_size=5), removed=st.integers(0, 40))
    def rebuild_beside_writers(self, written: list[int], removed: int) -> None:
        def meanwhile() -> None:
            self.sql.between = lambda: None
            self.publish(written)
            self.delete([removed])

        self.sql.between = meanwhile
        self.index.rebuild()
        self.sql.between = lambda: None

    @invariant()
    def what_answers_is_right(self) -> None:
        if self.index.degraded_reason is None:
            assert self.index.chunk_ids() == set(self.sql.rows)


TestHealingHistory = HealingHistory.TestCase
TestHealingHistory.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
