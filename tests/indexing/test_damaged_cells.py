"""One damaged cell costs neither the start nor an item."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from app.container import Container
from app.search.collection_settings import wishes_of
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


NO_TEXT = b"\xff"

MENDED = [
    ("collection_rankings", "settings", "{broken"),
    ("collection_rankings", "settings", "[]"),
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


@pytest.mark.parametrize(
    ("table", "column", "stored"), [one for one in MENDED if one[2] != NO_TEXT]
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
    assert wishes_of({"tag_boosts": 5}) == NO_WISHES


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
