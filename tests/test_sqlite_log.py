"""SQLite's write-ahead log is folded into its file by a thread of its own, not by who writes."""

import logging
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from app.database import Database
from app.errors import StorageError
from app.knowledge import queries
from app.knowledge.items import ItemDraft, ItemFilter
from app.sqlite import LOG_BYTES_KEPT, PAGES_LEFT_IN_LOG
from app.sqlite_log import PAGES_FOLDED_BESIDE, Folded, LogFolding
from tests.databases import Databases, sqlite_only
from tests.patience import PATIENCE_SECONDS

pytestmark = sqlite_only

PAGE_BYTES = 4096
FRAME_BYTES = PAGE_BYTES + 24
"""A page in the log."""
MOST_PAGES = 50 * PAGES_FOLDED_BESIDE
"""400 MB: a busy machine may give the thread its turn late."""
MEGABYTE = 1_000_000
WHOLE = Folded(1, is_whole=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "groundwork.db"


@pytest.fixture
def database(tmp_path: Path, databases: Databases) -> Iterator[Database]:
    database = Database(databases.new(tmp_path))
    yield database
    database.close()


def add(database: Database, title: str = "Guide") -> None:
    draft = ItemDraft(title, "/srv/docs", "markdown")
    with database.write() as session:
        queries.add_item(session, draft, "knowledge_base")


def count_in_file_alone(path: Path) -> int:
    """Items in a copy of the file without its log."""
    copy = path.with_name("copy.db")
    shutil.copyfile(path, copy)
    database = Database(f"sqlite:///{copy}")
    try:
        with database.read() as session:
            return queries.count_items(session, ItemFilter())
    finally:
        database.close()


def becomes_true(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)
    return True


def log_bytes(path: Path) -> int:
    return path.with_name(f"{path.name}-wal").stat().st_size


def test_what_was_written_is_in_the_file_soon_after(database: Database, path: Path) -> None:
    database.hold()
    for number in range(1, 3):
        add(database)
        assert becomes_true(lambda wanted=number: count_in_file_alone(path) == wanted)  # type: ignore[misc]


def test_a_writer_folds_nothing_in_before_the_log_is_long(database: Database, path: Path) -> None:
    add(database)
    before = path.stat().st_size
    for _ in range(6):
        add(database, "word " * (MEGABYTE // 5))
    assert log_bytes(path) > 1000 * FRAME_BYTES, "more than SQLite leaves there by default"
    assert path.stat().st_size == before


def test_a_log_that_nobody_folds_in_stays_bounded_all_the_same(
    database: Database, path: Path
) -> None:
    for _ in range(60):
        add(database, "word " * (MEGABYTE // 5))
    assert log_bytes(path) < PAGES_LEFT_IN_LOG * FRAME_BYTES + 2 * MEGABYTE
    assert path.stat().st_size > 25 * MEGABYTE


def test_what_a_long_reader_made_of_the_log_is_given_back_once_it_is_done(
    database: Database, path: Path
) -> None:
    add(database)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM knowledge_items").fetchone()
        while log_bytes(path) < 1.2 * LOG_BYTES_KEPT:
            add(database, "word " * (4 * MEGABYTE // 5))
    for _ in range(3):
        add(database)
    assert log_bytes(path) <= LOG_BYTES_KEPT


@contextmanager
def log_of(path: Path) -> Iterator[tuple[sqlite3.Connection, Callable[[], Folded]]]:
    """A writer's connection, which folds in nothing itself, and what folds the log in."""
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as writer,
        closing(sqlite3.connect(path, check_same_thread=False)) as folder,
    ):
        for pragma in ("journal_mode = WAL", "wal_autocheckpoint = 0", "synchronous = NORMAL"):
            writer.execute(f"PRAGMA {pragma}")
        writer.execute("CREATE TABLE texts (text)")

        def fold() -> Folded:
            return Folded.told_by(folder.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone())

        yield writer, fold


def test_a_log_that_is_always_written_to_begins_anew_now_and_then(path: Path) -> None:
    turn = threading.Lock()
    nobody_may, asked, over = (threading.Event() for _ in range(3))
    answers: queue.Queue[Folded] = queue.Queue()

    @contextmanager
    def nobody_writes() -> Iterator[None]:
        with turn:
            nobody_may.set()
            yield
            nobody_may.clear()

    with log_of(path) as (writer, fold):

        def fold_beside() -> Folded:
            """Amid a transaction as a rule: there is always one, as long as somebody may write."""
            if nobody_may.is_set() or over.is_set():
                return fold()
            asked.set()
            return answers.get(timeout=PATIENCE_SECONDS)

        folding = LogFolding(fold_beside, nobody_writes, rest_seconds=60, latest_seconds=0.02)
        written = 0  # pages
        while log_bytes(path) >= 0.7 * written * FRAME_BYTES and written < MOST_PAGES:
            with turn:
                writer.execute("BEGIN IMMEDIATE")
                writer.execute("INSERT INTO texts VALUES (?)", ("x" * 20 * PAGE_BYTES,))
                if asked.is_set():
                    asked.clear()
                    answers.put(fold())
                writer.execute("COMMIT")
            written += 20
            folding.note_write()
            threading.Event().wait(0.0005)  # what writers do between two transactions
        over.set()
        answers.put(WHOLE)  # to what was asked since
        folding.close()
        assert PAGES_FOLDED_BESIDE < written < MOST_PAGES


def test_a_log_that_cannot_be_folded_in_now_is_later_though_nothing_more_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    folded = threading.Event()
    tries = []

    def fold() -> Folded:
        tries.append(time.monotonic())
        if len(tries) <= 3:
            raise StorageError("The disk is full.")
        folded.set()
        return WHOLE

    folding = LogFolding(fold, _no_turn, rest_seconds=0.01, failure_seconds=0.1)
    with caplog.at_level(logging.WARNING):
        folding.note_write()
        assert folded.wait(PATIENCE_SECONDS)
        threading.Event().wait(0.3)
    folding.close()
    assert len(tries) == 4, "once all is in the file, there is nothing more to do"
    assert all(later - earlier >= 0.1 for earlier, later in pairwise(tries))
    assert ["The disk is full." in record.message for record in caplog.records] == [True]


def test_a_failure_that_nobody_expected_is_one_of_that_time_only() -> None:
    folded = threading.Event()
    tries = []

    def fold() -> Folded:
        tries.append(1)
        if len(tries) == 1:
            raise MemoryError
        folded.set()
        return WHOLE

    folding = LogFolding(fold, _no_turn, rest_seconds=0.01, failure_seconds=0.1)
    folding.note_write()
    assert folded.wait(PATIENCE_SECONDS)
    folding.close()


def test_after_a_failure_it_is_left_alone_for_a_while_whatever_is_written() -> None:
    tries = []

    def fold() -> Folded:
        tries.append(time.monotonic())
        raise StorageError("The disk is full.")

    folding = LogFolding(fold, _no_turn, rest_seconds=0.01, latest_seconds=0.02)
    folding.note_write()
    assert becomes_true(lambda: bool(tries))
    for _ in range(20):
        folding.note_write()
        threading.Event().wait(0.02)
    folding.close()
    assert len(tries) == 1


def test_what_a_reader_kept_out_of_the_file_is_there_soon_after_it_ends(path: Path) -> None:
    tries: list[Folded] = []

    def texts_in_file() -> int:
        copy = path.with_name("copy.db")
        shutil.copyfile(path, copy)
        with closing(sqlite3.connect(copy)) as alone:
            found: int = alone.execute("SELECT count(*) FROM texts").fetchone()[0]
            return found

    with log_of(path) as (writer, fold), closing(sqlite3.connect(path)) as reader:
        fold()

        def fold_and_tell() -> Folded:
            tries.append(fold())
            return tries[-1]

        reader.execute("BEGIN")
        reader.execute("SELECT * FROM texts").fetchall()
        folding = LogFolding(fold_and_tell, _no_turn, rest_seconds=0.01, latest_seconds=0.1)
        writer.execute("INSERT INTO texts VALUES ('a')")
        folding.note_write()
        assert becomes_true(lambda: len(tries) > 1)
        assert not any(folded.is_whole for folded in tries)
        assert texts_in_file() == 0
        reader.rollback()
        assert becomes_true(lambda: texts_in_file() == 1)
        assert becomes_true(lambda: tries[-1].is_whole)
        done = len(tries)
        threading.Event().wait(0.3)
        folding.close()
        assert len(tries) == done


@pytest.mark.parametrize(
    ("answer", "is_whole"), [((0, 7, 7), True), ((0, 7, 6), False), ((1, -1, -1), False)]
)
def test_all_of_the_log_is_in_the_file_where_sqlite_says_so(
    answer: tuple[int, int, int], is_whole: bool
) -> None:
    assert Folded.told_by(answer).is_whole == is_whole


def test_nothing_is_folded_in_between_two_writes_that_follow_each_other() -> None:
    tries: list[float] = []

    def fold() -> Folded:
        tries.append(time.monotonic())
        return WHOLE

    folding = LogFolding(fold, threading.Lock, rest_seconds=0.5, latest_seconds=60)
    writes: list[tuple[float, float]] = []  # from when to when each was noted
    for _ in range(20):
        began = time.monotonic()
        folding.note_write()
        writes.append((began, time.monotonic()))
        threading.Event().wait(0.01)
    _, last = writes[-1]
    assert becomes_true(lambda: tries[-1:] > [last])
    folding.close()
    assert len([each for each in tries if each > last]) == 1
    # Whoever writes may be held up so long that those two do not follow each other any more.
    assert not [each for each in tries for began, noted in writes if noted < each < began + 0.5]


def test_once_closed_nothing_is_folded_in_any_more() -> None:
    tries: list[float] = []

    def fold() -> Folded:
        tries.append(time.monotonic())
        return WHOLE

    before = set(threading.enumerate())
    folding = LogFolding(fold, _no_turn, rest_seconds=PATIENCE_SECONDS)
    folding.note_write()
    folding.close()
    assert set(threading.enumerate()) <= before, "nobody is left who would"
    assert not tries


def _no_turn() -> AbstractContextManager[None]:
    raise AssertionError("A short log needs no turn.")
