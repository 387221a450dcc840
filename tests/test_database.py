"""The database: migrations that agree with the models, transactions, and storage that fails."""

import errno
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event, func, inspect, select, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

import migrations
from app.database import Database
from app.database_address import MOST_PATH_BYTES
from app.errors import SettingError, StorageError
from app.knowledge import queries
from app.knowledge.items import ItemDraft, ItemFilter
from app.models import Base, ItemRow, TagRow
from app.settings import Settings
from app.storage_errors import storage_errors
from app.table_revisions import newest_revision, present_revisions
from tests.databases import Databases, sqlite_only
from tests.patience import PATIENCE_SECONDS

DRAFT = ItemDraft("Guide", "/srv/docs", "markdown")
OPEN_FILES = Path("/proc/self/fd")
KEYS_ON_POSTGRES = {
    "uq_documents_item_id_key",
    "uq_documents_item_id_number",
    "ix_documents_key",
}
"""Indexes of which the models say nothing: see revision 0011."""


@pytest.fixture
def url(tmp_path: Path, databases: Databases) -> str:
    return databases.new(tmp_path)


@pytest.fixture
def path(tmp_path: Path, url: str) -> Path:
    """The file, on SQLite."""
    return tmp_path / "groundwork.db"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url, lock_timeout_seconds=0.1)
    yield database
    database.close()


def add(database: Database, draft: ItemDraft = DRAFT) -> int:
    with database.write() as session:
        return queries.add_item(session, draft, "knowledge_base")


def count_in(session: Session) -> int:
    return queries.count_items(session, ItemFilter())


def count(database: Database) -> int:
    with database.read() as session:
        return count_in(session)


def differences(url: str) -> list[object]:
    """What would have to change for the tables to be as the models say."""
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        found: list[Any] = compare_metadata(context, Base.metadata)
    engine.dispose()
    meant = KEYS_ON_POSTGRES if engine.dialect.name == "postgresql" else set()
    return [one for one in found if not (one[0].endswith("_index") and one[1].name in meant)]


def table_names(url: str) -> set[str]:
    engine = create_engine(url)
    names = set(inspect(engine).get_table_names())
    engine.dispose()
    return names


# Migrations ------------------------------------------------------------------------------------


def test_migrations_lead_to_the_models_and_back_to_nothing_and_up_again(
    tmp_path: Path, databases: Databases
) -> None:
    url = databases.empty(tmp_path, "new.db")
    database = Database(url)
    for _ in range(2):
        database.migrate()
        assert differences(url) == []
        database.migrate("base")
        assert table_names(url) <= {"alembic_version", "sqlite_sequence"}
    database.close()


@pytest.mark.parametrize("folder", ["100% ours", "%(ours)s"])
def test_tables_are_made_wherever_groundwork_is_installed(
    tmp_path: Path, databases: Databases, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / folder).symlink_to(Path(migrations.__file__).parent)
    monkeypatch.setattr("app.table_revisions._FOLDER", tmp_path / folder)
    database = Database(databases.empty(tmp_path, "new.db"))
    database.migrate()
    assert database.missing() is None
    database.close()


def test_migrating_again_changes_nothing(database: Database) -> None:
    add(database)
    database.migrate()
    assert count(database) == 1


def test_present_and_newest_revision_are_those_that_alembic_tells(url: str) -> None:
    engine = create_engine(url)
    with engine.connect() as connection:
        noted = MigrationContext.configure(connection).get_current_heads()
        assert present_revisions(connection) == noted
    engine.dispose()
    assert ScriptDirectory(str(Path(migrations.__file__).parent)).get_heads() == [newest_revision()]


def test_revisions_are_numbered_in_their_order_and_their_files_begin_with_their_numbers() -> None:
    revisions = ScriptDirectory(str(Path(migrations.__file__).parent)).walk_revisions(
        "base", "head"
    )
    oldest_first = list(revisions)[::-1]
    assert [each.revision for each in oldest_first] == [
        f"{number:04}" for number in range(1, len(oldest_first) + 1)
    ]
    assert all(Path(each.path).name.startswith(f"{each.revision}_") for each in oldest_first)


def test_tables_that_are_as_they_should_be_are_found_so_without_alembic(url: str) -> None:
    code = (
        "import sys; from app.database import Database; Database(sys.argv[1]).migrate();"
        " assert 'alembic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, url], check=True)


def test_migrated_and_model_made_tables_have_the_same_constraints(
    url: str, tmp_path: Path, databases: Databases
) -> None:
    # Alembic compares neither CHECK nor ON DELETE nor AUTOINCREMENT.
    modelled = create_engine(databases.empty(tmp_path, "modelled.db"))
    Base.metadata.create_all(modelled)
    migrated = create_engine(url)
    for table in Base.metadata.tables:
        sides = []
        for engine in (migrated, modelled):
            inspector = inspect(engine)
            checks = sorted(c["sqltext"] for c in inspector.get_check_constraints(table))
            keys = sorted(
                (k["constrained_columns"], k["referred_table"], str(k["options"]))
                for k in inspector.get_foreign_keys(table)
            )
            counts_on = databases.is_postgres or _counts_on(engine, table)
            sides.append((checks, keys, counts_on))
        assert sides[0] == sides[1], table
    modelled.dispose()
    migrated.dispose()


def _counts_on(engine: Engine, table: str) -> bool:
    """Whether the id of a deleted row never comes back; PostgreSQL's never do."""
    with engine.connect() as connection:
        statement = text("SELECT sql FROM sqlite_master WHERE name = :name")
        return "AUTOINCREMENT" in connection.scalar(statement, {"name": table})


def test_tables_of_a_newer_version_are_left_alone_with_advice(database: Database) -> None:
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    add(database)
    told = f"newer version .* revision 9999, .* none after {newest_revision()}.*back-up"
    with pytest.raises(StorageError, match=told):
        database.migrate()
    assert count(database) == 1


# Transactions ----------------------------------------------------------------------------------


def test_a_write_that_ends_is_kept_and_one_that_raises_changes_nothing(
    database: Database,
) -> None:
    add(database)

    def add_and_fail() -> None:
        with database.write() as session:
            queries.add_item(session, DRAFT, "knowledge_base")
            assert session.scalar(select(func.count()).select_from(ItemRow)) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        add_and_fail()
    assert count(database) == 1


def test_what_was_read_can_be_used_after_its_session(database: Database) -> None:
    item_id = add(database)
    with database.read() as session:
        row = session.get_one(ItemRow, item_id)
    assert row.title == "Guide"
    assert row.created_at.utcoffset() is not None


def test_a_reference_to_nothing_is_refused(database: Database) -> None:
    with pytest.raises(IntegrityError), database.write() as session:
        session.add(TagRow(item_id=999, tag="a", position=0))


def test_a_status_that_is_none_is_refused(database: Database) -> None:
    with pytest.raises(IntegrityError), database.write() as session:
        session.add(ItemRow(title="", uri="", document_type="", collection="", status="lost"))


def test_a_reader_sees_one_state_while_a_writer_commits_another(database: Database) -> None:
    add(database)
    with database.read() as session:
        before = queries.count_items(session, ItemFilter())
        add(database)
        assert queries.count_items(session, ItemFilter()) == before == 1
    assert count(database) == 2


def test_a_writer_keeps_what_it_read_true_until_it_ends(database: Database, url: str) -> None:
    patient = Database(url, lock_timeout_seconds=PATIENCE_SECONDS)
    inside = threading.Barrier(2)

    def add_one_more() -> None:
        inside.wait(PATIENCE_SECONDS)
        add(patient)

    other = threading.Thread(target=add_one_more)
    other.start()
    with patient.write() as session:
        before = queries.count_items(session, ItemFilter())
        inside.wait(PATIENCE_SECONDS)
        queries.add_item(session, DRAFT, "knowledge_base")
        assert queries.count_items(session, ItemFilter()) == before + 1
    other.join(PATIENCE_SECONDS)
    patient.close()
    assert count(database) == 2


@sqlite_only
def test_who_waits_to_write_begins_as_soon_as_the_other_ends(url: str) -> None:
    database = Database(url, lock_timeout_seconds=PATIENCE_SECONDS)
    begun = []

    def write() -> None:
        with database.write() as session:
            queries.count_items(session, ItemFilter())
            begun.append(time.perf_counter())

    delays = []
    for _ in range(3):
        other = threading.Thread(target=write)
        with database.write() as session:
            queries.count_items(session, ItemFilter())
            other.start()
            time.sleep(0.24)  # SQLite alone looks after 0.228 s, and then after 0.328
        ended = time.perf_counter()
        other.join(PATIENCE_SECONDS)
        delays.append(begun[-1] - ended)
    database.close()
    assert min(delays) < 0.04


@sqlite_only
def test_who_waits_too_long_to_write_is_told_so(database: Database) -> None:
    with (
        database.write(),
        ThreadPoolExecutor(1) as other,
        pytest.raises(StorageError, match="locked by another writer"),
    ):
        other.submit(add, database).result(PATIENCE_SECONDS)
    add(database)


@sqlite_only
def test_closing_folds_everything_into_one_file(path: Path) -> None:
    database = Database(f"sqlite:///{path}")
    add(database)
    database.close()
    assert [file.name for file in path.parent.glob("groundwork.db*")] == ["groundwork.db"]


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="only Linux lists the open files")
@pytest.mark.parametrize("folder", ["data", "Ada's data é"])
@sqlite_only
def test_the_copy_that_a_vacuum_makes_lies_on_the_disk_of_the_database(
    tmp_path: Path, folder: str
) -> None:
    seen: set[Path] = set()

    def look() -> int:
        for number in OPEN_FILES.iterdir():
            with suppress(OSError):
                seen.add(number.readlink())
        return 0

    (tmp_path / folder).mkdir()
    database = Database(f"sqlite:///{tmp_path / folder / 'groundwork.db'}")
    database.migrate()
    with database.write() as session:
        for number in range(200):
            queries.add_item(session, replace(DRAFT, uri=f"/{number}" + "x" * 40_000), "c")
    event.listen(database._engine, "connect", lambda it, _: it.set_progress_handler(look, 100))
    database._engine.dispose()
    database.vacuum()
    database.close()
    places = {path.parent for path in seen if path.name.startswith("etilqs")}
    assert places == {tmp_path / folder}


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="elsewhere each name is text")
@sqlite_only
def test_a_database_in_a_folder_whose_name_is_no_text_is_vacuumed_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "\udcff").mkdir()
    database = Database(f"sqlite:///{tmp_path}/\udcff/groundwork.db")
    database.migrate()
    database.vacuum()
    database.close()


@sqlite_only
def test_the_size_is_that_of_the_database_and_not_of_copies_beside_it(
    path: Path, database: Database
) -> None:
    add(database)
    files = (path, Path(f"{path}-wal"), Path(f"{path}-shm"))
    expected = sum(file.stat().st_size for file in files)
    Path(f"{path}.backup").write_bytes(b"copy" * 100_000)
    assert database.size_bytes() == expected > 0


@sqlite_only
def test_every_connection_is_durable_and_checks_references(database: Database) -> None:
    with database.read() as session:
        pragmas = {
            name: session.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 100,
    }


# Storage that fails ----------------------------------------------------------------------------


@sqlite_only
def test_a_database_that_another_process_writes_to_is_locked_with_advice(
    database: Database, path: Path
) -> None:
    program = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('BEGIN IMMEDIATE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "locked\n"
        with pytest.raises(StorageError, match="locked by another process"):
            add(database)
        assert count(database) == 0
        assert child.stdin is not None
        child.stdin.close()
    add(database)
    assert count(database) == 1


@sqlite_only
def test_a_read_only_database_is_refused_with_advice(path: Path, database: Database) -> None:
    add(database)
    read_only = Database(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert count(read_only) == 1
    with pytest.raises(StorageError, match="read-only"):
        add(read_only)
    read_only.close()
    assert count(database) == 1


FILL_THE_DISK = """
import resource, sys
from pathlib import Path
from typing import Any
from app.database import Database
from app.errors import StorageError
from app.knowledge import queries
from app.knowledge.items import ItemDraft

path = Path(sys.argv[1])
database = Database(f"sqlite:///{path}")
limit = path.stat().st_size + 200_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
stored = 0
try:
    while stored < 10_000:
        with database.write() as session:
            for _ in range(20):
                draft = ItemDraft("T", "/" + "x" * 4000, "markdown")
                queries.add_item(session, draft, "knowledge_base")
        stored += 20
        print(stored, flush=True)
except StorageError as error:
    print(error.detail, flush=True)
"""


@sqlite_only
def test_a_full_disk_loses_nothing_that_was_acknowledged_and_keeps_nothing_else(
    path: Path, database: Database
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILL_THE_DISK, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    *acknowledged, advice = done.stdout.splitlines()
    assert "Nothing was changed" in advice
    assert "space" in advice
    assert acknowledged, "some writes fitted"
    assert count(database) == int(acknowledged[-1])


@sqlite_only
@pytest.mark.parametrize(
    ("content", "advice"), [(b"no database at all" * 1000, "backup"), (b"", "version|answer")]
)
def test_a_damaged_file_is_a_storage_error(tmp_path: Path, content: bytes, advice: str) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(content)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(StorageError, match=advice):
        database.ping()
    database.close()


@sqlite_only
def test_the_log_that_advice_leads_to_says_what_is_wrong(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with database.write() as session:
        session.execute(text("ALTER TABLE knowledge_items RENAME TO things"))
    with pytest.raises(StorageError, match="see the server's log"):
        database.ping()
    assert "no such table: knowledge_items" in caplog.text


def test_what_the_disk_did_not_confirm_is_not_said_to_be_undone() -> None:
    """SQLite finds it again in its log, if nothing is written over it before the next start."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
    with pytest.raises(StorageError, match="may be there all the same"), storage_errors():
        raise OperationalError("COMMIT", None, error)


@sqlite_only
def test_a_folder_that_is_missing_is_a_storage_error(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'missing' / 'groundwork.db'}")
    with pytest.raises(StorageError, match=r"permissions.* DATABASE_URL"):
        add(database)
    with pytest.raises(StorageError, match=r"permissions.* DATABASE_URL"):
        database.hold()
    assert not (tmp_path / "missing").exists()
    with pytest.raises(StorageError, match="gone"):
        database.ping()
    database.close()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "postgres://someone:hunter2@host/name",
        "nonsense hunter2",
        "",
        "mysql+hunter://host/name",
        "postgresql+psycopg://someone:hunter2/name",
        "postgresql+psycopg://host:someone/name",
        "postgresql+psycopg://someone:p@hunter2@host/name",
        "postgresql+psycopg://someone:p@hunter2/7@host/name",
    ],
)
def test_an_address_that_is_no_use_is_refused_with_advice_and_without_its_password(
    url: str,
) -> None:
    with pytest.raises(SettingError, match="DATABASE_URL") as caught:
        Database(url)
    assert "someone" not in caught.value.detail
    assert "hunter2" not in caught.value.detail


@sqlite_only
def test_a_path_that_is_too_long_for_sqlite_is_refused_and_any_other_is_not(tmp_path: Path) -> None:
    folder = tmp_path
    while len(str(folder)) < MOST_PATH_BYTES - 120:
        folder /= "x" * 100
    folder.mkdir(parents=True)
    name = "y" * (MOST_PATH_BYTES - len(f"{folder}/"))
    with closing(Database(f"sqlite:///{folder}/{name}")) as database:
        database.hold()
        database.migrate()
        with database.read() as session:
            count_in(session)
            add(database)
    with pytest.raises(SettingError, match="shorter DATA_DIR"):
        Database(f"sqlite:///{folder}/{name}y")


@sqlite_only
def test_a_file_serves_one_process_whatever_its_data_directory(tmp_path: Path, path: Path) -> None:
    path.touch()
    link = tmp_path / "link.db"
    link.symlink_to(path)
    first, second = (Database(f"sqlite:///{each}") for each in (path, link))
    first.hold()
    with pytest.raises(StorageError, match=r"Another Groundwork .*--url"):
        second.hold()
    with pytest.raises(StorageError, match="Another Groundwork"):
        add(second)
    first.close()
    second.hold()
    second.close()


@sqlite_only
@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_is_acknowledged_once_the_file_is_gone_or_another(
    path: Path, database: Database, tmp_path: Path, *, replaced: bool
) -> None:
    database.hold()
    database.migrate()
    add(database)
    kept = path.rename(tmp_path / "kept.db")
    if replaced:
        path.write_bytes(kept.read_bytes())
    told = "was replaced by another" if replaced else "is gone"
    with pytest.raises(StorageError, match=told):
        add(database)
    with pytest.raises(StorageError, match=told):
        database.ping()
    assert count(database) == 1  # what is open answers, whole and as it was
    with database.read() as session:
        count_in(session)
        with pytest.raises(StorageError, match=told):
            count(database)  # one more connection: it would begin an empty file, or mix the two
    assert path.exists() == replaced
    kept.replace(path)
    add(database)
    assert count(database) == 2


@sqlite_only
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_goes_while_a_connection_opens_it_is_noticed_and_leaves_none_in_its_place(
    path: Path,
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    replaced: bool,
) -> None:
    database.hold()
    database.migrate()
    add(database)
    kept = tmp_path / "kept.db"
    connect = database._engine.dialect.connect

    def connect_too_late(*arguments: Any, **options: Any) -> Any:
        path.rename(kept)
        if replaced:
            path.write_bytes(b"")
        return connect(*arguments, **options)

    told = "was replaced by another" if replaced else "is gone"
    with database.read() as session:
        count_in(session)
        with monkeypatch.context() as patched:
            patched.setattr(database._engine.dialect, "connect", connect_too_late)
            with pytest.raises(StorageError, match=told):
                count(database)
    assert path.exists() == replaced
    kept.replace(path)
    add(database)
    assert count(database) == 2


@sqlite_only
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_goes_before_its_first_connection_is_not_begun_anew(
    path: Path, database: Database, url: str, *, replaced: bool
) -> None:
    database.migrate()
    add(database)
    database.close()
    later = Database(url)
    later.hold()
    kept = path.rename(path.with_name("kept.db"))
    if replaced:
        path.write_bytes(kept.read_bytes())
    with pytest.raises(StorageError, match="was replaced by another" if replaced else "is gone"):
        later.migrate()
    later.close()
    assert path.exists() == replaced


@sqlite_only
def test_a_file_that_goes_while_writers_write_and_wait_takes_none_of_their_changes(
    path: Path, database: Database
) -> None:
    database.hold()
    database.migrate()
    add(database)
    with database.read() as session:
        add(database)  # one more connection, so that none has to be opened below
        count_in(session)
    begun, may_end = threading.Event(), threading.Event()

    def add_slowly() -> None:
        with database.write() as session:
            queries.add_item(session, DRAFT, "knowledge_base")
            begun.set()
            assert may_end.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(add_slowly)
        assert begun.wait(PATIENCE_SECONDS)
        waiting = pool.submit(add, database)
        kept = path.rename(path.with_name("kept.db"))
        may_end.set()
        told = [each.exception(PATIENCE_SECONDS) for each in (writing, waiting)]
    assert all(isinstance(each, StorageError) and "is gone" in each.detail for each in told)
    kept.replace(path)
    assert count(database) == 2


@sqlite_only
def test_a_file_that_cannot_be_looked_at_is_not_said_to_be_gone(
    path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.hold()
    database.migrate()
    look = Path.stat

    def fail(looked_at: Path, **options: Any) -> os.stat_result:
        if looked_at == path:
            raise OSError(errno.EIO, "Input/output error")
        return look(looked_at, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", fail)
        with pytest.raises(StorageError, match="cannot be opened"):
            add(database)
    add(database)


@sqlite_only
def test_a_file_whose_name_means_something_in_an_address_is_opened_again(tmp_path: Path) -> None:
    folder = tmp_path / "a %41?mode=ro#b \udcff"
    folder.mkdir()
    url = Settings(_env_file=None, data_dir=folder).resolved_database_url
    with closing(Database(url)) as database:
        database.hold()
        database.migrate()
        with database.read() as session:
            count_in(session)
            add(database)
        assert count(database) == 1
    assert list(tmp_path.iterdir()) == [folder]


def _backup_commands() -> list[str]:
    """As the documentation gives them, for a working directory that holds `data`."""
    root = Path(__file__).parents[1]
    pages = [(root / name).read_text("utf-8") for name in ("README.md", "docs/operations.md")]
    lines = {line.strip() for page in pages for line in page.splitlines()}
    return sorted(line for line in lines if re.match("(sqlite3|python3) .*backup.db", line))


@sqlite_only
@pytest.mark.parametrize("command", _backup_commands(), ids=lambda command: command.split()[0])
def test_a_documented_back_up_ends_and_is_whole_however_much_is_written(
    tmp_path: Path, command: str
) -> None:
    program, *arguments = shlex.split(command)
    if not shutil.which(program):
        pytest.skip(f"needs {program}")
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data/groundwork.db", isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA synchronous = OFF")
        writer.execute("CREATE TABLE texts (number INTEGER PRIMARY KEY, text BLOB)")
        writer.execute("INSERT INTO texts VALUES (0, zeroblob(20000000))")
        copying = subprocess.Popen([program, *arguments], cwd=tmp_path)
        end = time.monotonic() + PATIENCE_SECONDS
        while copying.poll() is None and time.monotonic() < end:
            writer.execute("INSERT INTO texts (text) VALUES ('as it comes')")
        copying.kill()
    assert copying.wait() == 0
    with closing(sqlite3.connect(tmp_path / "groundwork-backup.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        texts, last = copy.execute("SELECT count(*), max(number) FROM texts").fetchone()
        assert texts == last + 1
