"""The keeper opens, compares and remakes the lexical index by itself, and knows when to stop."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from app.adapters.healing_pauses import HealingPauses
from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.lexical_index.keeper import LexicalIndexKeeper
from app.errors import DatabaseUnavailableError, LexicalIndexError, StorageError
from app.protocols import LexicalRecord
from tests.adapters.lexical_index.stores import FlakyStore
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.contracts.lexical_index_contract import found, many

WAIT_SECONDS = 20
"""Nothing here takes a hundredth of it."""
CHECK_SECONDS = 0.002


class WatchedIndex(FakeLexicalIndex):
    """Tells when it is counted: so the keeper sees whether it is sound."""

    def __init__(self, counted: Callable[[], None]) -> None:
        super().__init__()
        self._counted = counted
        self.kept = 0

    def count(self) -> int:
        number = super().count()
        self._counted()
        return number

    def keep(self) -> None:
        super().keep()
        self.kept += 1


class CountingStore(FlakyStore):
    """Counts attempts to make the index anew, and looks at it; lets a test wait for them."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts = 0
        self.looks = 0
        self.changed = threading.Condition()

    def recreate(self) -> FakeLexicalIndex:
        with self.changed:
            self.attempts += 1
            self.changed.notify_all()
        super().recreate()
        self.index = WatchedIndex(self._counted)
        return self.index

    def wait_until_looked_after(self) -> None:
        """Until the keeper found a sound index twice: its rest after the first is behind it."""
        self.looks = 0
        self.wait_for(lambda: self.looks >= 2)

    def fail(self) -> None:
        """The index that is there answers nothing any more."""
        self.complete = False
        assert self.index is not None
        self.index.broken = True

    def _counted(self) -> None:
        with self.changed:
            self.looks += 1
            self.changed.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, WAIT_SECONDS)


class Sql:
    """What SQL holds; `failing` readings raise the error."""

    def __init__(self) -> None:
        self.rows = many(5)
        self.failing = 0
        self.error: BaseException = StorageError("The database is locked.")
        self.reading: Callable[[], None] = lambda: None

    def __call__(self) -> Iterator[Sequence[LexicalRecord]]:
        if self.failing:
            self.failing -= 1
            raise self.error
        self.reading()
        yield list(self.rows)


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def sql() -> Sql:
    return Sql()


@pytest.fixture
def index(store: CountingStore, sql: Sql) -> HealingLexicalIndex:
    return HealingLexicalIndex(store, sql)


@pytest.fixture
def keep(index: HealingLexicalIndex) -> Iterator[Callable[..., LexicalIndexKeeper]]:
    """Makes keepers, and ends them as the service does."""
    keepers = []

    def make(pauses: Sequence[float] = (0.0, 0.001, 0.002), retry_seconds: float = 3600.0):
        keepers.append(
            LexicalIndexKeeper(index, HealingPauses(pauses, retry_seconds), CHECK_SECONDS)
        )
        return keepers[-1]

    yield make
    index.close()
    for keeper in keepers:
        keeper.close()


def left_behind(store: CountingStore, records: Sequence[LexicalRecord]) -> None:
    """An index that a process before this one completed."""
    store.index = FakeLexicalIndex()
    store.index.upsert(records)
    store.complete = True


def test_a_trusted_index_answers_as_soon_as_it_is_started(store, index, sql, keep):
    left_behind(store, sql.rows[:2])
    keep().start(trusted=True)
    assert len(found(index, "shared")) == 2  # it is believed, not compared
    assert store.attempts == 0


def test_an_index_at_rest_is_tidied_and_one_that_fails_at_it_is_made_anew(store, index, keep):
    keep().start(trusted=False)
    store.wait_for(lambda: store.attempts == 1 and store.looks > 0)
    store.index.kept = 0
    store.wait_for(lambda: store.index.kept >= 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.index, "keep", refuse)
        store.wait_for(lambda: store.attempts == 2)
    store.wait_until_looked_after()
    assert index.status.ready


def refuse() -> None:
    raise LexicalIndexError("The disk is full.")


def test_an_index_that_is_not_trusted_is_compared_and_mended(store, index, sql, keep):
    left_behind(store, [*sql.rows[1:], *many(2, "surplus")])
    keeper = keep()
    keeper.start(trusted=False)
    assert keeper.settle(WAIT_SECONDS)
    assert index.chunk_ids() == {row.chunk_id for row in sql.rows}
    assert store.attempts == 0


@pytest.mark.parametrize("trusted", [True, False])
def test_an_index_that_is_not_there_is_made(store, index, sql, keep, trusted):
    keeper = keep()
    keeper.start(trusted=trusted)
    assert keeper.settle(WAIT_SECONDS)
    assert index.count() == len(sql.rows)
    assert store.attempts == 1


def test_a_comparison_that_the_database_refuses_is_made_up_for(store, index, sql, keep):
    left_behind(store, sql.rows)
    sql.failing = 2
    keeper = keep()
    keeper.start(trusted=False)
    assert keeper.settle(WAIT_SECONDS)
    assert index.count() == len(sql.rows)


def test_an_index_that_only_lacks_the_database_is_made_soon_after_that_is_back(
    store, index, sql, keep, monkeypatch, caplog
):
    monkeypatch.setattr("app.adapters.healing_pauses.DATABASE_SECONDS", 0.001)
    sql.failing, sql.error = 6, DatabaseUnavailableError("It does not answer.")
    keep((0.0, 3600.0), retry_seconds=3600.0).start(trusted=True)
    store.wait_until_looked_after()
    assert index.count() == len(sql.rows)
    assert store.attempts == 7
    told = [message for message in warnings(caplog) if "It does not answer." in message]
    assert told == ["The lexical index could not be rebuilt: It does not answer."]


@pytest.mark.parametrize("trusted", [True, False])
def test_an_unexpected_error_is_a_try_that_failed(store, index, sql, keep, caplog, trusted):
    sql.failing, sql.error = 2, ValueError("of a row that is damaged")
    keeper = keep()
    keeper.start(trusted=trusted)
    assert keeper.settle(WAIT_SECONDS)
    assert index.count() == len(sql.rows)
    assert store.attempts == 3
    assert caplog.text.count("of a row that is damaged") >= 2


def test_an_error_that_stays_unexpected_is_given_up_and_tried_again_later(store, index, sql, keep):
    sql.failing, sql.error = 1000, ValueError("of a row that is damaged")
    keeper = keep((0.0, 0.001), retry_seconds=0.005)
    keeper.start(trusted=True)
    assert keeper.settle(WAIT_SECONDS)
    assert not index.status.ready
    store.wait_for(lambda: store.attempts >= 4)
    sql.failing = 0
    store.wait_until_looked_after()
    assert len(found(index, "shared")) == len(sql.rows)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_keeper_whose_thread_has_ended(index, sql, keep):
    sql.failing, sql.error = 1, SystemExit()
    keeper = keep()
    keeper.start(trusted=True)
    assert keeper.settle(WAIT_SECONDS)
    assert not index.status.ready


def test_an_index_that_cannot_be_tidied_for_an_unexpected_error_is_looked_after_all_the_same(
    store, index, sql, keep
):
    keeper = keep()
    keeper.start(trusted=True)
    assert keeper.settle(WAIT_SECONDS)
    tidied = threading.Event()

    def fail() -> None:
        tidied.set()
        raise ValueError("nobody expected it")

    store.index.keep = fail
    assert tidied.wait(WAIT_SECONDS)
    store.wait_until_looked_after()
    assert keeper.settle(WAIT_SECONDS)
    assert len(found(index, "shared")) == len(sql.rows)


def test_an_index_that_fails_is_made_anew_unasked(store, index, sql, keep):
    keeper = keep()
    keeper.start(trusted=False)
    keeper.settle(WAIT_SECONDS)
    store.fail()
    with pytest.raises(LexicalIndexError):
        index.search("shared", 5)
    store.wait_until_looked_after()
    assert len(found(index, "shared")) == len(sql.rows)


def test_an_index_that_is_damaged_over_and_over_is_healed_each_time(store, index, sql, keep):
    keep().start(trusted=True)
    for _ in range(5):
        store.wait_until_looked_after()
        store.fail()
        with pytest.raises(LexicalIndexError):
            index.search("shared", 5)
        store.wait_until_looked_after()
        assert len(found(index, "shared")) == len(sql.rows)


def test_after_the_last_pause_nobody_waits_for_it_and_a_command_may_rebuild_it(
    store, index, sql, keep
):
    store.broken = True
    keeper = keep((0.0, 0.001, 0.001))
    keeper.start(trusted=True)
    assert keeper.settle(WAIT_SECONDS)
    assert store.attempts == 3
    assert not index.status.ready
    assert "disk is full" in str(index.degraded_reason)
    store.broken = False
    assert index.rebuild() == len(sql.rows)
    assert found(index, "shared")


def test_an_index_that_was_given_up_is_tried_again_later(store, index, sql, keep):
    store.broken = True
    keep((0.0, 0.001), retry_seconds=0.005).start(trusted=True)
    store.wait_for(lambda: store.attempts >= 5)
    store.broken = False
    store.wait_until_looked_after()
    assert len(found(index, "shared")) == len(sql.rows)


def test_an_index_revived_by_command_is_looked_after_again(store, index, sql, keep):
    store.broken = True
    keeper = keep((0.0,))
    keeper.start(trusted=True)
    assert keeper.settle(WAIT_SECONDS)
    store.broken = False
    index.rebuild()
    attempts = store.attempts
    for number in range(1, 4):
        store.wait_until_looked_after()
        store.fail()
        store.wait_for(lambda expected=attempts + number: store.attempts >= expected)
    store.wait_until_looked_after()
    assert len(found(index, "shared")) == len(sql.rows)


def test_a_close_ends_a_pause_at_once(store, index, keep):
    store.broken = True
    keeper = keep((0.0, 3600.0))
    keeper.start(trusted=True)
    store.wait_for(lambda: store.attempts == 1)
    assert not keeper.settle(0.001)  # it is waiting for its second attempt
    index.close()
    keeper.close()
    assert store.attempts == 1
    assert keeper.settle(0)


def test_an_index_closed_before_the_keeper_begins_is_no_error(store, index, sql, keep, caplog):
    left_behind(store, sql.rows)
    index.close()
    keeper = keep()
    keeper.start(trusted=False)
    assert keeper.settle(WAIT_SECONDS)
    keeper.close()
    assert keeper.settle(0)
    assert warnings(caplog) == []


@pytest.mark.parametrize("trusted", [True, False], ids=["making", "comparing"])
def test_what_a_stop_breaks_off_has_not_failed(store, index, sql, keep, caplog, trusted):
    if not trusted:
        left_behind(store, sql.rows)
    began = threading.Event()

    def stop() -> None:
        index._closed = True  # what `close` does first, while it waits for what is under way
        began.set()

    sql.reading = stop
    keeper = keep((0.0, 3600.0))
    keeper.start(trusted=trusted)
    assert began.wait(WAIT_SECONDS)
    keeper.close()
    assert not any("could not be" in message for message in warnings(caplog))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_keeper_that_was_never_started_has_nothing_to_settle(keep):
    keeper = keep()
    assert keeper.settle()
    keeper.close()
