"""One damaged cell costs neither the start nor an item; `verify` names it and says what to do."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from app.container import Container
from app.errors import StartupError, StorageError
from app.indexing.maintenance import NOT_COMPARED
from app.search.collection_settings import stored_wishes
from app.search.profiles import NO_WISHES, RankingWishes
from app.search.requests import SearchRequest
from tests.databases import sqlite_only

pytestmark = sqlite_only  # PostgreSQL itself takes nothing that is no value of its column


@pytest.fixture
def shelf(container: Container, source_root: Path, add_item, index) -> Container:
    (source_root / "0.md").write_text("# Canal\n\nA barge carries coal up the river.\n")
    index(add_item(source_root))
    container.collection_settings.rank("knowledge_base", RankingWishes(diversity=0.5))
    assert container.maintenance.verify().clean
    return container


def damage(container: Container, table: str, column: str, stored: str | bytes | int) -> None:
    value = "CAST(:stored AS TEXT)" if isinstance(stored, bytes) else ":stored"
    with container.database.write() as session:
        session.execute(
            text(f"UPDATE {table} SET {column} = {value}"),  # noqa: S608, our own names
            {"stored": stored},
        )


def shortened(stored: object) -> str:
    """What a test is called by."""
    return str(stored)[:20]


NO_TEXT = b"\xff"

MENDED = [
    ("collection_rankings", "settings", "{broken"),
    ("collection_rankings", "settings", "[]"),
    ("collection_rankings", "settings", "[" * 5000),
    ("collection_rankings", "updated_at", 7),
    ("documents", "indexed_at", "yesterday"),
    ("documents", "modified_at", ""),
    ("documents", "licence", NO_TEXT),
    ("generations", "created_at", "zzz"),
    ("indexing_runs", "added", "{broken"),
    ("indexing_runs", "changed", '{"a": 1}'),
    ("indexing_runs", "started_at", "2026-13-13"),
    ("indexing_runs", "runs", "many"),
    ("knowledge_items", "created_at", "zzz"),
    ("knowledge_items", "importance", "high"),
    ("knowledge_items", "indexed_at", 5),
    ("knowledge_items", "mounts", "/mnt"),
    ("knowledge_items", "error", NO_TEXT),
]


@pytest.mark.parametrize(("table", "column", "stored"), MENDED, ids=shortened)
def test_a_damaged_cell_is_named_and_mended(
    shelf: Container, table: str, column: str, stored: str | bytes | int
) -> None:
    damage(shelf, table, column, stored)
    problem = shelf.verify().problems[0]
    assert f"table {table}, row " in problem
    assert f": {column} is damaged" in problem
    (mended,) = shelf.verify(repair=True).problems
    assert "mended: it holds " in mended
    assert shelf.verify().problems == ()


@pytest.mark.parametrize(
    ("table", "column", "stored"),
    [
        ("knowledge_items", "title", NO_TEXT),
        ("documents", "content", NO_TEXT),
        ("documents", "first_line", "one"),
        ("chunks", "start_index", "one"),
    ],
)
def test_what_only_a_person_can_put_right_is_said(
    shelf: Container, table: str, column: str, stored: str | bytes
) -> None:
    damage(shelf, table, column, stored)
    for report in (shelf.verify(), shelf.verify(repair=True)):
        cell, rest = report.problems
        assert f"table {table}, row " in cell
        assert cell.endswith(f"by hand: column {column} where rowid is 1")
        assert rest == NOT_COMPARED
        assert not report.clean


@pytest.mark.parametrize(
    ("table", "column", "stored"),
    [one for one in MENDED if one[2] != NO_TEXT],
    ids=shortened,
)
def test_a_damaged_cell_costs_neither_start_nor_search_nor_item(
    shelf: Container,
    open_container: Callable[[], Container],
    table: str,
    column: str,
    stored: str | int,
) -> None:
    damage(shelf, table, column, stored)
    shelf.close()
    back = open_container()
    assert len(back.searcher.search(SearchRequest("barge")).results) == 1
    assert back.knowledge.get(1).title
    assert back.indexer.index(1, force=True).success


def test_boosts_that_are_none_are_left_out() -> None:
    assert stored_wishes({"tag_boosts": 5}) == NO_WISHES


@pytest.mark.parametrize("stored", ["text", 5])
def test_what_is_no_bytes_is_a_damaged_vector(
    shelf: Container, open_container: Callable[[], Container], stored: str | int
) -> None:
    damage(shelf, "embeddings", "vector", stored)
    shelf.close()
    back = open_container()
    assert len(back.searcher.search(SearchRequest("barge")).results) == 1  # by its words
    assert "is damaged: it " in back.verify().problems[0]
    assert back.verify(repair=True).clean
    assert back.verify().problems == ()


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("generations", "dimension"),
        ("generations", "splitter"),
        ("current_generation", "generation_id"),
    ],
)
def test_a_start_that_a_damaged_cell_prevents_names_it(
    shelf: Container, open_container: Callable[[], Container], table: str, column: str
) -> None:
    stored = NO_TEXT if column == "splitter" else "many"
    shelf.close()
    connection = sqlite3.connect(shelf.settings.data_dir / "groundwork.db")
    with closing(connection):
        value = "CAST(? AS TEXT)" if isinstance(stored, bytes) else "?"
        connection.execute(f"UPDATE {table} SET {column} = {value}", (stored,))  # noqa: S608
        connection.commit()
    with pytest.raises(StartupError, match=f"table {table}, row 1: {column} is damaged"):
        open_container()


@pytest.mark.parametrize("stored", ["{}", "[7]", "7"])
@pytest.mark.parametrize(("table", "column"), [("documents", "tags"), ("chunks", "heading_path")])
def test_names_that_are_no_list_of_names_are_damaged(
    shelf: Container, table: str, column: str, stored: str
) -> None:
    damage(shelf, table, column, stored)
    assert len(shelf.verify().problems) == 1
    assert shelf.verify(repair=True).clean
    assert shelf.verify().problems == ()


def test_what_is_no_text_is_told_as_damage_and_not_quoted(
    shelf: Container, caplog: pytest.LogCaptureFixture
) -> None:
    """What stands there may say anything: here that the disk is full."""
    damage(shelf, "knowledge_items", "title", b"full of secrets \xff")
    with pytest.raises(StorageError, match="`groundwork verify` says where"):
        shelf.knowledge.get(1)
    assert "column 'title'" in caplog.text
    assert "secrets" not in caplog.text
