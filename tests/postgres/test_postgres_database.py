"""What holds of a database on a server: it goes away and comes back, and has one service only."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import NullPool, String, create_engine, literal, select, text
from sqlalchemy.engine import make_url

from app.database import Database
from app.errors import DatabaseUnavailableError, StorageError
from app.knowledge import queries
from app.knowledge.items import ItemDraft, ItemFilter
from app.models import ItemRow
from app.postgres import MOST_MORE_CONNECTIONS, POOL_SIZE, ServiceHold
from app.search.language_tags import in_language
from tests.databases import Databases, postgres_only
from tests.patience import PATIENCE_SECONDS
from tests.postgres.conftest import Line

pytestmark = postgres_only


Open = Callable[..., Database]


@pytest.fixture
def open_database() -> Iterator[Open]:
    """Opens databases, which are closed in the end."""
    opened: list[Database] = []

    def open_one(url: str, **options: float) -> Database:
        opened.append(Database(url, **options))
        return opened[-1]

    yield open_one
    for database in opened:
        database.close()


@pytest.fixture
def database(url: str, open_database: Open) -> Database:
    return open_database(url, lock_timeout_seconds=0.2)


def add(database: Database, title: str = "Guide") -> int:
    with database.write() as session:
        draft = ItemDraft(title, "/srv/docs", "markdown")
        return queries.add_item(session, draft, "knowledge_base")


def counted_by_threads(database: Database, count: int) -> str:
    """What a title comes to that so many threads count on from 0 at once, by five each."""
    item_id = add(database, "0")

    def count_on() -> None:
        for _ in range(5):
            with database.write() as session:
                row = session.get_one(ItemRow, item_id)
                row.title = str(int(row.title) + 1)

    threads = [threading.Thread(target=count_on) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    with database.read() as session:
        return session.get_one(ItemRow, item_id).title


def count(database: Database) -> int:
    with database.read() as session:
        return queries.count_items(session, ItemFilter())


def backends(url: str) -> int:
    """Connections to the database, but for the one that asks."""
    engine = create_engine(url)
    with engine.connect() as connection:
        others = text(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        found = int(connection.execute(others).scalar_one())
    engine.dispose()
    return found


# A server that goes away -----------------------------------------------------------------------


def test_a_server_that_came_back_is_used_as_if_it_had_never_been_away(
    line: Line, line_url: str, open_database: Open
) -> None:
    database = open_database(line_url)
    add(database)
    version = database.version()
    line.drop()
    assert count(database) == 1
    assert database.version() == version
    line.drop()
    add(database)
    assert count(database) == 2


def test_a_server_that_is_away_is_told_with_503_and_everything_works_once_it_is_back(
    line: Line, line_url: str, open_database: Open
) -> None:
    database = open_database(line_url)
    add(database)
    line.cut()
    for ask in (count, add, Database.version, Database.ping):
        with pytest.raises(DatabaseUnavailableError, match="does not answer") as raised:
            ask(database)
        assert raised.value.status == 503
        assert raised.value.is_transient
    line.mend()
    assert count(database) == 1
    add(database)
    database.ping()


def test_a_connection_that_breaks_in_the_middle_is_told_and_changes_nothing(
    line: Line, line_url: str, open_database: Open
) -> None:
    database = open_database(line_url)

    def add_while_the_line_breaks() -> None:
        with database.write() as session:
            queries.add_item(session, ItemDraft("A", "/a", "markdown"), "knowledge_base")
            line.drop()

    with pytest.raises(DatabaseUnavailableError):
        add_while_the_line_breaks()
    assert count(database) == 0


def test_a_connection_that_the_server_ends_is_replaced(database: Database, url: str) -> None:
    add(database)
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    engine.dispose()
    assert count(database) == 1


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux tells what is set")
@pytest.mark.parametrize(("query", "milliseconds"), [("", 30_000), ("tcp_user_timeout=5000", 5000)])
def test_a_server_that_vanishes_without_a_word_is_noticed_within_half_a_minute(
    url: str, open_database: Open, query: str, milliseconds: int
) -> None:
    address = make_url(url).update_query_string(query)
    database = open_database(address.render_as_string(hide_password=False))
    database.hold()
    assert isinstance(database._hold, ServiceHold)
    with database.read() as session:
        pooled = session.connection().connection
        for connection in (pooled, database._hold._connection):
            with socket.socket(fileno=os.dup(connection.fileno())) as end:
                assert _told(end, socket.TCP_USER_TIMEOUT) == milliseconds
                pauses = _told(end, socket.TCP_KEEPCNT) * _told(end, socket.TCP_KEEPINTVL)
                assert _told(end, socket.TCP_KEEPIDLE) + pauses == 30


@pytest.fixture
def hasty_url(line_url: str) -> str:
    """An address whose server is not waited for long, in silence."""
    address = make_url(line_url).update_query_string("tcp_user_timeout=4000&connect_timeout=2")
    return address.render_as_string(hide_password=False)


@pytest.mark.parametrize("ask", [count, add, Database.ping, Database.version])
def test_a_server_that_freezes_is_told_and_everything_goes_on_once_it_is_back(
    line: Line, hasty_url: str, open_database: Open, ask: Callable[[Database], object]
) -> None:
    database = open_database(hasty_url)
    database.hold()
    add(database)
    raised: list[DatabaseUnavailableError] = []

    def ask_in_vain() -> None:
        with pytest.raises(DatabaseUnavailableError, match="does not answer") as error:
            ask(database)
        raised.append(error.value)

    line.freeze()
    asking = [threading.Thread(target=ask_in_vain) for _ in range(3)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(PATIENCE_SECONDS)
    line.thaw()
    for thread in asking:
        thread.join()
    assert [error.status for error in raised] == [503] * 3
    assert count(database) >= 1
    add(database, "Later")


def test_a_statement_may_take_longer_than_a_server_may_be_silent(
    hasty_url: str, open_database: Open
) -> None:
    database = open_database(hasty_url)
    with database.read() as session:
        assert session.scalar(text("SELECT 7 FROM pg_sleep(4.5)")) == 7


def _told(end: socket.socket, option: int) -> int:
    return end.getsockopt(socket.IPPROTO_TCP, option)


def test_an_address_at_which_nobody_listens_is_told_without_the_password(
    url: str, open_database: Open
) -> None:
    nowhere = make_url(url).set(host="127.0.0.1", port=1, password="hunter2")
    database = open_database(nowhere.render_as_string(hide_password=False))
    for ask in (Database.ping, Database.migrate, Database.hold):
        with pytest.raises(DatabaseUnavailableError, match="DATABASE_URL") as raised:
            ask(database)
        assert "hunter2" not in raised.value.detail


def test_a_database_that_is_not_there_is_named_at_the_start(url: str, open_database: Open) -> None:
    missing = make_url(url).set(database="no_such_database")
    database = open_database(missing.render_as_string(hide_password=False))
    with pytest.raises(StorageError, match="no_such_database"):
        database.hold()


def test_a_database_that_cannot_hold_every_text_is_refused_with_what_to_do(
    url: str, open_database: Open
) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    name = f"{make_url(url).database}_latin"
    with engine.connect() as connection:
        provider = "LOCALE_PROVIDER libc" if engine.dialect.server_version_info >= (15,) else ""
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C' {provider}"
        )
        database = open_database(
            make_url(url).set(database=name).render_as_string(hide_password=False)
        )
        try:
            for ask in (Database.hold, Database.ping):
                with pytest.raises(StorageError, match=r"SQL_ASCII.*UTF8"):
                    ask(database)
        finally:
            database.close()
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()


def test_a_user_who_may_not_make_tables_is_told_what_to_do(
    tmp_path: Path, databases: Databases, open_database: Open
) -> None:
    url = databases.empty(tmp_path)
    engine = create_engine(url)
    role = f"{make_url(url).database}_guest"
    with engine.begin() as connection:
        connection.exec_driver_sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN PASSWORD 'guest'")
    try:
        guest = make_url(url).set(username=role, password="guest")
        database = open_database(guest.render_as_string(hide_password=False))
        with pytest.raises(StorageError, match="owner of the database"):
            database.migrate()
        database.close()
    finally:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP ROLE {role}")
        engine.dispose()


def test_a_database_without_a_schema_for_tables_is_told_what_to_do(
    tmp_path: Path, databases: Databases, open_database: Open
) -> None:
    url = databases.empty(tmp_path)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
    engine.dispose()
    with pytest.raises(StorageError, match="CREATE SCHEMA"):
        open_database(url).migrate()


def test_a_database_that_takes_no_writes_says_so(url: str, open_database: Open) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    name = make_url(url).database
    database = open_database(url)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(
                f"ALTER DATABASE {name} SET default_transaction_read_only = on"
            )
        with pytest.raises(StorageError, match="read-only"):
            add(database)
        assert count(database) == 0
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql("SET default_transaction_read_only = off")
            connection.exec_driver_sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        engine.dispose()


# Defaults of a server, a database or a user -----------------------------------------------------


@pytest.fixture
def set_default(url: str) -> Iterator[Callable[[str, str], None]]:
    """Sets defaults of the database for new connections, until the test ends."""
    engine, name = create_engine(url, isolation_level="AUTOCOMMIT"), make_url(url).database
    asked: list[str] = []

    def set_one(setting: str, value: str) -> None:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"ALTER DATABASE {name} SET {setting} = '{value}'")
        asked.append(setting)

    yield set_one
    engine.dispose()
    with engine.connect() as connection:
        for setting in asked:
            connection.exec_driver_sql(f"ALTER DATABASE {name} RESET {setting}")
    engine.dispose()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("timezone", "Asia/Tokyo"),
        ("timezone", "America/New_York"),
        ("datestyle", "German, DMY"),
        ("client_encoding", "LATIN1"),
        ("client_encoding", "SQL_ASCII"),
        ("extra_float_digits", "-10"),
    ],
)
def test_what_is_stored_is_read_as_it_was_whatever_the_defaults_of_the_database(
    set_default: Callable[[str, str], None],
    url: str,
    open_database: Open,
    setting: str,
    value: str,
) -> None:
    set_default(setting, value)
    database = open_database(url)
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    title, importance = "Übung für 5 €", 0.1 + 0.2
    with database.write() as session:
        draft = ItemDraft(title, "/srv/docs", "markdown", importance=importance)
        row = session.get_one(ItemRow, queries.add_item(session, draft, "knowledge_base"))
        row.last_fetched_at, row.indexed_at = first, last
    with database.read() as session:
        stored = session.scalars(select(ItemRow)).one()
        assert (stored.title, stored.importance) == (title, importance)
        assert (stored.last_fetched_at, stored.indexed_at) == (first, last)


def test_a_writer_sees_what_the_one_before_wrote_whatever_the_default_isolation(
    set_default: Callable[[str, str], None], url: str, open_database: Open
) -> None:
    set_default("default_transaction_isolation", "serializable")
    database = open_database(url, lock_timeout_seconds=PATIENCE_SECONDS)
    assert counted_by_threads(database, 4) == "20"


def test_a_service_that_has_nothing_to_do_keeps_its_hold_whatever_the_server_ends(
    set_default: Callable[[str, str], None], url: str, open_database: Open
) -> None:
    first, second = open_database(url), open_database(url)
    with first.read() as session:
        session.execute(text("SELECT 1"))
    if first._engine.dialect.server_version_info < (14,):
        pytest.skip("ends no idle connections")
    set_default("idle_session_timeout", "100ms")
    first.hold()
    hold = ServiceHold(second._engine, wait_seconds=1)  # many times what idle connections are given
    with pytest.raises(StorageError, match="Another Groundwork"):
        hold.ensure()


def test_who_is_refused_is_told_who_is_there_whatever_time_statements_are_given(
    set_default: Callable[[str, str], None], url: str, open_database: Open
) -> None:
    set_default("statement_timeout", "100ms")
    first, second = open_database(url), open_database(url)
    first.hold()
    with pytest.raises(StorageError, match=r"Another Groundwork .*since 20"):
        ServiceHold(second._engine, wait_seconds=0.3).ensure()


def test_a_statement_that_took_too_long_is_told_with_what_to_do(
    set_default: Callable[[str, str], None], url: str, open_database: Open
) -> None:
    set_default("statement_timeout", "100ms")
    database = open_database(url)
    slow = text("SELECT pg_sleep(10)")
    with pytest.raises(StorageError, match="SET statement_timeout"), database.read() as session:
        session.execute(slow)


@pytest.mark.parametrize("language", ["it-IT", "HI_IN", "id"])
def test_a_language_is_found_whatever_language_the_database_has(url: str, language: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    name = f"{make_url(url).database}_turkish"
    turkish = create_engine(make_url(url).set(database=name), poolclass=NullPool)
    with engine.connect() as connection:
        if engine.dialect.server_version_info < (15,):
            pytest.skip("has no databases of ICU")
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
            " LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'"
        )
        stored = literal(language.upper(), String)
        try:
            with turkish.connect() as other:
                assert other.scalar(select(in_language(stored, language)))
        finally:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()


# Transactions ----------------------------------------------------------------------------------


def test_a_writer_that_never_ends_is_waited_for_for_a_while_and_readers_do_not_wait(
    database: Database, open_database: Open, url: str
) -> None:
    other = open_database(url)
    with other.write() as session:
        queries.add_item(session, ItemDraft("A", "/a", "markdown"), "knowledge_base")
        with pytest.raises(StorageError, match="locked by another writer") as raised:
            add(database)
        assert raised.value.status == 507
        assert count(database) == 0
    add(database)
    assert count(database) == 2


def test_what_is_open_for_reading_takes_no_writes(database: Database) -> None:
    forbidden = text("DELETE FROM knowledge_items")
    with pytest.raises(StorageError, match="read-only"), database.read() as session:
        session.execute(forbidden)


def test_many_threads_write_one_after_the_other_and_no_write_is_lost(
    url: str, open_database: Open
) -> None:
    database = open_database(url, lock_timeout_seconds=PATIENCE_SECONDS)
    assert counted_by_threads(database, 6) == "30"


def test_two_that_migrate_at_once_follow_one_another(
    tmp_path: Path, databases: Databases, open_database: Open
) -> None:
    url = databases.empty(tmp_path)
    both = [open_database(url, lock_timeout_seconds=PATIENCE_SECONDS) for _ in range(2)]
    failures: list[BaseException] = []

    def migrate(database: Database) -> None:
        try:
            database.migrate()
        except StorageError as error:
            failures.append(error)

    threads = [threading.Thread(target=migrate, args=(database,)) for database in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert failures == []
    assert count(both[0]) == 0


def test_the_version_changes_with_what_others_commit_and_with_nothing_else(
    database: Database, open_database: Open, url: str
) -> None:
    other = open_database(url)
    before = database.version()
    assert count(other) == count(database) == 0
    assert database.version() == before
    with other.write() as session:
        queries.add_item(session, ItemDraft("A", "/a", "markdown"), "knowledge_base")
        assert database.version() == before
        assert count(database) == 0
    after = database.version()
    assert database.version() == after != before
    add(database)
    assert database.version() != after


def test_the_connections_of_a_service_are_bounded(url: str, open_database: Open) -> None:
    database = open_database(url)
    most = POOL_SIZE + MOST_MORE_CONNECTIONS
    inside, done = threading.Barrier(most + 1), threading.Event()

    def read() -> None:
        with database.read() as session:
            session.execute(text("SELECT 1"))
            inside.wait(PATIENCE_SECONDS)
            done.wait(PATIENCE_SECONDS)

    threads = [threading.Thread(target=read) for _ in range(most)]
    for thread in threads:
        thread.start()
    inside.wait(PATIENCE_SECONDS)
    assert backends(url) == most
    done.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)


# One service a database ------------------------------------------------------------------------


def test_a_second_service_is_refused_and_told_who_is_there(url: str, open_database: Open) -> None:
    first, second = open_database(url), open_database(url)
    first.hold()
    hold = ServiceHold(second._engine, wait_seconds=0.1)
    with pytest.raises(StorageError, match=r"Another Groundwork .*since 20.*--url"):
        hold.ensure()
    first.close()
    hold.ensure()
    hold.release()


def test_a_service_that_ends_is_waited_for(url: str, open_database: Open) -> None:
    first, second = open_database(url), open_database(url)
    first.hold()
    asked = threading.Thread(target=second.hold)
    asked.start()
    first.close()
    asked.join(PATIENCE_SECONDS)
    with pytest.raises(StorageError):
        ServiceHold(first._engine, wait_seconds=0.1).ensure()


def test_the_hold_is_taken_again_after_the_server_was_away(
    line: Line, line_url: str, url: str, open_database: Open
) -> None:
    database = open_database(line_url)
    database.hold()
    line.drop()
    add(database)
    with pytest.raises(StorageError, match="Another"):
        ServiceHold(open_database(url)._engine, wait_seconds=0.1).ensure()


def test_who_lost_the_database_to_another_service_writes_nothing_more(
    line: Line, line_url: str, url: str, open_database: Open
) -> None:
    first, second = open_database(line_url), open_database(url)
    first.hold()
    line.cut()
    second.hold()
    line.mend()
    with pytest.raises(StorageError, match="Another Groundwork"):
        add(first)
    assert count(second) == 0
    second.close()
    add(first)


def test_who_lost_the_database_to_one_that_worked_on_it_never_writes_again(
    line: Line, line_url: str, url: str, open_database: Open
) -> None:
    first, second = open_database(line_url), open_database(url)
    for database in (first, second):
        database.hold()
        database.sign()
        line.cut()
    second.close()  # whoever comes back now would take a hold that is free
    line.mend()
    for ask in (add, Database.ping, add):
        with pytest.raises(StorageError, match="Start this one again"):
            ask(first)
    assert first.lost_because is not None
    assert count(first) == 0


def test_who_signed_last_takes_the_hold_again(
    line: Line, line_url: str, open_database: Open
) -> None:
    database = open_database(line_url)
    database.hold()
    database.sign()
    line.drop()
    add(database)
    assert database.lost_because is None


def test_who_has_no_hold_does_not_call_itself_well(
    line: Line, line_url: str, url: str, open_database: Open
) -> None:
    first, second = open_database(line_url), open_database(url)
    first.hold()
    line.cut()
    second.hold()
    line.mend()
    with pytest.raises(StorageError, match="Another Groundwork"):
        first.ping()


def test_what_is_held_is_not_shared(url: str, open_database: Open) -> None:
    database = open_database(url)
    assert database.may_be_shared
    database.hold()
    assert not database.may_be_shared
