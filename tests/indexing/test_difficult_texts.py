"""Names and texts that one database would take and the other would not: both take them."""

import hashlib
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.container import Container
from app.indexing.results import IndexingResult
from app.json_numbers import LARGEST_ID
from app.knowledge.items import ItemFilter
from app.knowledge.queries import list_name_of
from app.web.pagination import Cursor
from tests.indexing.conftest import AddItem, Found, Index

JSON = {"content-type": "application/json"}
NAMES = [
    "_c.md",
    "a.md",
    "B.md",
    "é.md",
    "Z.md",
    "z.md",
    "10.md",
    "9.md",
    "a b.md",
    "a-b.md",
    "ab.md",
]


def test_the_hash_of_an_item_does_not_depend_on_how_the_database_sorts(
    source_root: Path, add_item: AddItem, index: Index, container: Container
) -> None:
    for name in NAMES:
        (source_root / name).write_text(f"The text of {name}.\n")
    item = add_item(source_root)
    assert index(item).success
    hashes = {name: hashlib.sha256(f"The text of {name}.\n".encode()).hexdigest() for name in NAMES}
    whole = "".join(f"{name}\0{hashes[name]}\n" for name in sorted(NAMES))
    stored = container.knowledge.get(item.id).content_hash
    assert stored == hashlib.sha256(whole.encode()).hexdigest()


def test_documents_and_items_are_listed_by_their_characters(
    source_root: Path, add_item: AddItem, index: Index, container: Container
) -> None:
    for name in NAMES:
        (source_root / name).write_text("Some text.\n")
    item = add_item(source_root)
    index(item)
    keys: list[str] = []
    cursor = None
    while True:
        page = container.content.list_documents(item.id, 2, cursor)
        keys += [document.key for document in page.documents]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert keys == sorted(NAMES)


@pytest.mark.parametrize("sort", ["id", "-id", "title", "created_at"])
def test_a_cursor_may_name_the_largest_id(container: Container, sort: str) -> None:
    value: str | int = {"id": LARGEST_ID, "title": "z" * 500}.get(sort.strip("-"), "")
    if sort == "created_at":
        value = "2026-01-01T00:00:00+00:00"
    cursor = Cursor(list_name_of(ItemFilter(), sort), value, LARGEST_ID).encode()
    assert container.knowledge.list(ItemFilter(), sort, 10, cursor).items == ()


def test_a_path_of_any_length_is_indexed_and_found_again(
    source_root: Path, add_item: AddItem, index: Index, found: Found
) -> None:
    folder = source_root
    for depth in range(14):  # names that compress badly, 3,500 characters in all
        folder /= "".join(hashlib.sha512(bytes([depth, part])).hexdigest() for part in (1, 2))[:250]
        folder.mkdir()
    path = folder / "deep.md"
    path.write_text("Far below lies the lighthouse.\n")
    item = add_item(source_root)
    assert_indexed(index(item), 1)
    assert found("lighthouse") == ["Far below lies the lighthouse.\n"]
    path.write_text("Far below lies the new lighthouse.\n")
    assert_indexed(index(item), 1)
    path.unlink()
    (source_root / "near.md").write_text("Something else.\n")
    assert index(item).chunks_removed == 1


def test_whatever_frontmatter_says_is_stored(
    source_root: Path, add_item: AddItem, index: Index, found: Found
) -> None:
    for number, field in enumerate(
        ("title", "category", "licence", "language", "id", "source", "tags", "updated", "date")
    ):
        value = f"{field}-" + "ü😀x" * 3000
        (source_root / f"{number}.md").write_text(
            f"---\n{field}: {value}\n---\nThe lighthouse {number} stands.\n"
        )
        (source_root / f"{number}-list.md").write_text(
            f"---\n{field}: [{value}, b]\n---\nThe lighthouse list {number} stands.\n"
        )
        (source_root / f"{number}-nul.md").write_text(
            f'---\n{field}: "a\\0b\\ud800c"\n---\nThe lighthouse nul {number} stands.\n'
        )
    assert_indexed(index(add_item(source_root)), 27)
    assert len(found("lighthouse")) == 27


def test_text_that_sql_cannot_hold_is_cleaned_on_its_way_in(
    source_root: Path, add_item: AddItem, index: Index, found: Found
) -> None:
    (source_root / "nul.md").write_bytes(b"The light\x00house\x00 at night, \xed\xa0\x80 lit.\n")
    (source_root / "sound.md").write_text("The lighthouse by day.\n")
    assert index(add_item(source_root)).success
    assert any("by day" in text for text in found("lighthouse"))


@pytest.mark.parametrize(
    "query",
    ["a\x00b", "\x00", "\ud800", "😀" * 50, "%", "\\", "'; DROP TABLE chunks; --", "\u0130"],
    ids=["nul", "just nul", "half", "wide", "percent", "backslash", "quote", "dotted I"],
)
def test_no_query_is_too_odd_for_the_database(client: TestClient, query: str) -> None:
    body = {"query": query, "category": query, "tags": [query], "languages": [query]}
    for wanted in ({"query": query}, body, body | {"paths": [query]}):
        sent = {"content": json.dumps(wanted), "headers": JSON}
        assert client.post("/api/v1/rag/search", **sent).status_code in (200, 422)
    for path in ("/api/v1/knowledge", "/api/v1/rag/search"):
        for name in ("q", "category", "tag", "tags", "collection"):
            try:
                answer = client.get(path, params={name: query})
            except UnicodeEncodeError:  # no client can send half a character so
                continue
            assert answer.status_code in (200, 422), (path, name)


def assert_indexed(result: IndexingResult, documents: int) -> None:
    assert result.success, result.error
    assert result.error is None
    assert result.documents == documents
