"""SQLite itself is asked about its file: what its indexes lack is found by nobody else."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.container import Container
from app.errors import StorageError
from app.indexing.file_check import RESTORE
from app.indexing.maintenance import NOT_COMPARED
from app.search.requests import SearchRequest
from app.settings import Settings
from tests.databases import sqlite_only

pytestmark = sqlite_only  # PostgreSQL looks at its own pages

INDEX = "ix_chunks_document_id_chunk_index"


@pytest.fixture
def shelf(container: Container, source_root: Path, add_item, index) -> Container:
    (source_root / "0.md").write_text("# Canal\n\nA barge carries coal up the river.\n")
    index(add_item(source_root))
    assert container.maintenance.verify().clean
    container.close()
    return container


@contextmanager
def database_file(settings: Settings) -> Iterator[sqlite3.Connection]:
    path = settings.data_dir / "groundwork.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def empty_an_index(settings: Settings, name: str = INDEX, key: str = "chunk_index") -> None:
    """Leave an index without its rows, as a write that never reached the disk does."""
    define = "UPDATE sqlite_master SET sql = ? WHERE name = ?"
    with database_file(settings) as connection:
        ((sql,),) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,))
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(define, (f"{sql} WHERE {key} < 0", name))
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute(f"REINDEX {name}")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(define, (sql, name))
        connection.execute("PRAGMA writable_schema = RESET")


def break_a_page(settings: Settings) -> None:
    """Overwrite a page that no comparison reads: that of an index of the tables' version."""
    with database_file(settings) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((page,),) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_alembic_version_1'"
        )
        ((size,),) = connection.execute("PRAGMA page_size")
    with (settings.data_dir / "groundwork.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x5a" * size)


@pytest.mark.usefixtures("shelf")
def test_rows_that_an_index_of_sqlite_lacks_are_named_and_put_back(
    settings: Settings, open_container: Callable[[], Container]
) -> None:
    empty_an_index(settings)
    back = open_container()
    report = back.verify()
    assert not report.clean
    assert INDEX in report.problems[0]
    assert report.problems[-1] == NOT_COMPARED
    repaired = back.verify(repair=True)
    assert repaired.clean
    assert all("mended: " in problem for problem in repaired.problems)
    assert back.verify().problems == ()
    assert len(back.searcher.search(SearchRequest("barge")).results) == 1


@pytest.mark.usefixtures("shelf")
def test_a_page_that_cannot_be_read_needs_the_back_up(
    settings: Settings, open_container: Callable[[], Container]
) -> None:
    break_a_page(settings)
    back = open_container()
    assert not back.verify().clean
    report = back.verify(repair=True)
    assert not report.clean
    assert report.problems[0].endswith(RESTORE)
    assert report.problems[-1] == NOT_COMPARED


@pytest.mark.usefixtures("shelf")
def test_a_damaged_file_is_not_compacted_as_texts_in_use_would_pass_for_surplus(
    settings: Settings, open_container: Callable[[], Container]
) -> None:
    empty_an_index(settings, "ix_chunks_text_hash", "text_hash")
    back = open_container()
    with pytest.raises(StorageError, match=r"ix_chunks_text_hash.* Nothing was compacted; run"):
        back.compaction.run()
    assert back.maintenance.verify(repair=True).clean
    assert back.compaction.run().embeddings_dropped == 0
    assert back.maintenance.verify().problems == ()
