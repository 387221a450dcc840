"""Creating, reading, changing and deleting items, as a client sees it."""

from datetime import datetime
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.database import Database
from app.knowledge import queries
from tests.knowledge.conftest import ITEMS, MakeItem, add_chunks
from tests.web.problem_checks import assert_problem

ITEM_FIELDS = {
    "id",
    "title",
    "uri",
    "document_type",
    "category",
    "tags",
    "collection",
    "licence",
    "refresh_interval",
    "importance",
    "status",
    "content_hash",
    "last_fetched_at",
    "indexed_at",
    "created_at",
    "updated_at",
    "chunk_count",
    "error",
}


def set_status(database: Database, item_id: int, status: str, error: str | None = None) -> None:
    """What indexing would do."""
    with database.write() as session:
        queries.update_item(session, item_id, {"status": status, "error": error})


def test_a_new_item_is_answered_whole_with_its_address(client: TestClient) -> None:
    response = client.post(
        ITEMS, json={"title": "Guide", "uri": "/srv/docs", "document_type": "folder"}
    )
    assert response.status_code == 201
    item = response.json()
    assert response.headers["Location"] == f"{ITEMS}/{item['id']}"
    assert client.get(response.headers["Location"]).json() == item
    assert item.keys() == ITEM_FIELDS
    assert item["status"] == "pending"
    assert item["collection"] == "knowledge_base"
    assert item["tags"] == []
    assert item["chunk_count"] == 0
    for unknown in (
        "category",
        "licence",
        "content_hash",
        "last_fetched_at",
        "indexed_at",
        "error",
    ):
        assert item[unknown] is None
    assert datetime.fromisoformat(item["created_at"]).utcoffset() is not None


def test_what_is_given_is_kept(client: TestClient, make_item: MakeItem) -> None:
    given = {
        "title": "Grüße 🎉 \u4e2d\u6587",
        "uri": "https://example.com/a?b=c#d",
        "document_type": "website",
        "category": "Engineering/Security",
        "tags": ["docker", "Docker", "größe"],
        "collection": "my-set",
        "licence": "GPL-2.0-only WITH Classpath-exception-2.0",
        "status": "archived",
    }
    item = make_item(**given)
    assert {name: item[name] for name in given} == given
    assert client.get(f"{ITEMS}/{item['id']}").json() == item


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("docker, production", ["docker", "production"]),
        (" a ,, a,b, ", ["a", "b"]),
        ("", []),
        (["z", "a", "z", "  ", " m "], ["z", "a", "m"]),
        ([], []),
    ],
)
def test_tags_are_a_list_or_one_string_and_answered_tidy_in_order(
    make_item: MakeItem, given: Any, kept: list[str]
) -> None:
    assert make_item(tags=given)["tags"] == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/Engineering//Security/", "Engineering/Security"),
        (" Engineering / Security ", "Engineering/Security"),
        ("Engineering", "Engineering"),
        ("/", None),
        (" ", None),
        ("", None),
        (None, None),
    ],
)
def test_a_category_is_written_in_one_way(
    make_item: MakeItem, given: str | None, kept: str | None
) -> None:
    assert make_item(category=given)["category"] == kept


def test_surrounding_blanks_of_title_and_uri_are_taken_off(make_item: MakeItem) -> None:
    item = make_item(title="  Guide ", uri=" /srv/docs ")
    assert (item["title"], item["uri"]) == ("Guide", "/srv/docs")


@pytest.mark.parametrize("uri", ["docs", "/srv/a b.md", "file:///srv/a.md", "HTTPS://example.com"])
def test_paths_and_file_and_web_addresses_are_taken(make_item: MakeItem, uri: str) -> None:
    assert make_item(uri=uri)["uri"] == uri


def test_patch_changes_what_is_given_and_nothing_else(
    client: TestClient, make_item: MakeItem
) -> None:
    before = make_item(category="A", tags=["x"], licence="MIT")
    response = client.patch(f"{ITEMS}/{before['id']}", json={"title": "New", "tags": "y,z"})
    assert response.status_code == 200
    after = response.json()
    assert after == client.get(f"{ITEMS}/{before['id']}").json()
    assert after["updated_at"] > before["updated_at"]
    changed = {"title": "New", "tags": ["y", "z"], "updated_at": after["updated_at"]}
    assert after == before | changed


@pytest.mark.parametrize(("given", "kept"), [(" ", None), (" MIT ", "MIT")])
def test_blanks_around_a_licence_are_none_of_it(
    client: TestClient, make_item: MakeItem, given: str, kept: str | None
) -> None:
    item = make_item(licence=given)
    assert item["licence"] == kept
    changed = client.patch(f"{ITEMS}/{item['id']}", json={"licence": given})
    assert changed.json()["licence"] == kept


def test_patch_with_null_clears_what_may_be_empty(client: TestClient, make_item: MakeItem) -> None:
    item = make_item(category="A", licence="MIT")
    after = client.patch(f"{ITEMS}/{item['id']}", json={"category": None, "licence": None}).json()
    assert (after["category"], after["licence"]) == (None, None)


@pytest.mark.parametrize("field", ["title", "uri", "document_type", "tags", "collection", "status"])
def test_patch_refuses_null_where_a_value_is_needed(
    client: TestClient, make_item: MakeItem, field: str
) -> None:
    item = make_item()
    response = client.patch(f"{ITEMS}/{item['id']}", json={field: None})
    assert_problem(response, 422, "invalid-request", pointer=f"#/{field}")
    assert client.get(f"{ITEMS}/{item['id']}").json() == item


def test_an_empty_patch_changes_nothing(client: TestClient, make_item: MakeItem) -> None:
    item = make_item()
    assert client.patch(f"{ITEMS}/{item['id']}", json={}).json() == item


def test_put_gives_what_is_left_out_its_default_but_keeps_the_status(
    client: TestClient, make_item: MakeItem
) -> None:
    item = make_item(category="A", tags=["x"], licence="MIT", collection="other", status="archived")
    body = {"title": "New", "uri": "/srv/docs", "document_type": "markdown"}
    after = client.put(f"{ITEMS}/{item['id']}", json=body).json()
    assert after["title"] == "New"
    assert (after["category"], after["tags"], after["licence"]) == (None, [], None)
    assert after["collection"] == "knowledge_base"
    assert after["status"] == "archived"


@pytest.mark.parametrize("status", ["pending", "active", "error", "archived"])
def test_an_item_that_was_read_can_be_put_back_whatever_its_status(
    client: TestClient, database: Database, make_item: MakeItem, status: str
) -> None:
    item_id = make_item(tags=["x"], category="A/B")["id"]
    set_status(database, item_id, status, error="File not found: /srv/docs")
    item = client.get(f"{ITEMS}/{item_id}").json()
    response = client.put(f"{ITEMS}/{item_id}", json=item)
    assert response.status_code == 200, response.text
    assert response.json() == item


def test_read_only_fields_are_ignored(client: TestClient, make_item: MakeItem) -> None:
    invented = {
        "id": 99,
        "content_hash": "x",
        "chunk_count": 7,
        "error": "x",
        "created_at": "yesterday",
        "updated_at": None,
        "indexed_at": [],
        "last_fetched_at": {},
    }
    item = make_item(**invented)
    after = client.patch(f"{ITEMS}/{item['id']}", json=invented).json()
    assert after == item
    assert item["id"] != 99
    assert (item["content_hash"], item["chunk_count"], item["error"]) == (None, 0, None)


@pytest.mark.parametrize("before", ["pending", "active", "error"])
def test_a_whole_item_that_was_read_earlier_never_sets_its_status_back(
    client: TestClient, database: Database, make_item: MakeItem, before: str
) -> None:
    item_id = make_item()["id"]
    set_status(database, item_id, before)
    read = client.get(f"{ITEMS}/{item_id}").json()
    for meanwhile in ("pending", "active", "error"):
        set_status(database, item_id, meanwhile)
        answer = client.put(f"{ITEMS}/{item_id}", json=read | {"title": f"New {meanwhile}"})
        assert (answer.status_code, answer.json()["status"]) == (200, meanwhile)


@pytest.mark.parametrize("status", ["active", "error", "gone"])
def test_a_new_item_is_pending_or_archived(client: TestClient, status: str) -> None:
    body = {"title": "T", "uri": "/x", "document_type": "markdown"}
    for allowed in ("pending", "archived"):
        assert client.post(ITEMS, json=body | {"status": allowed}).json()["status"] == allowed
    response = client.post(ITEMS, json=body | {"status": status})
    assert_problem(response, 422, "invalid-request", pointer="#/status")


@pytest.mark.parametrize("before", ["pending", "active", "error", "archived"])
@pytest.mark.parametrize("wish", ["pending", "archived"])
def test_any_item_can_be_archived_or_asked_to_be_indexed_again(
    client: TestClient, database: Database, make_item: MakeItem, before: str, wish: str
) -> None:
    item_id = make_item()["id"]
    set_status(database, item_id, before, error="File not found: /srv/docs")
    item = client.patch(f"{ITEMS}/{item_id}", json={"status": wish}).json()
    assert item["status"] == wish
    is_asked_for = wish == "pending" != before
    assert item["error"] == (None if is_asked_for else "File not found: /srv/docs")


@pytest.mark.parametrize("before", ["pending", "error"])
def test_an_item_that_is_not_indexed_cannot_be_made_active(
    client: TestClient, database: Database, make_item: MakeItem, before: str
) -> None:
    item_id = make_item()["id"]
    set_status(database, item_id, before)
    response = client.patch(f"{ITEMS}/{item_id}", json={"status": "active"})
    assert_problem(response, 409, "conflict")
    assert f"POST /api/v1/rag/index/{item_id}" in response.json()["detail"]
    assert client.get(f"{ITEMS}/{item_id}").json()["status"] == before


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize("indexed", [True, False])
def test_an_archived_item_comes_back_as_what_it_was(
    client: TestClient, database: Database, make_item: MakeItem, method: str, indexed: bool
) -> None:
    item = make_item(status="archived")
    address = f"{ITEMS}/{item['id']}"
    if indexed:
        with database.write() as session:
            add_chunks(session, item["id"], 2)
            queries.update_item(session, item["id"], {"content_hash": "0" * 64})
    body = {"status": "active"} if method == "PATCH" else item | {"status": "active"}
    answer = client.request(method, address, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == ("active" if indexed else "pending")


def test_an_archived_item_whose_source_has_changed_comes_back_as_pending(
    client: TestClient, database: Database, make_item: MakeItem
) -> None:
    item_id = make_item()["id"]
    with database.write() as session:
        add_chunks(session, item_id, 2)
        queries.update_item(session, item_id, {"content_hash": "0" * 64, "status": "archived"})
    client.patch(f"{ITEMS}/{item_id}", json={"uri": "/srv/other"})
    back = client.patch(f"{ITEMS}/{item_id}", json={"status": "active"}).json()
    assert (back["status"], back["content_hash"], back["chunk_count"]) == ("pending", None, 2)


@pytest.mark.parametrize("before", ["error", "active", "archived"])
def test_the_error_of_an_old_source_goes_with_it(
    client: TestClient, database: Database, make_item: MakeItem, before: str
) -> None:
    item_id = make_item()["id"]
    set_status(database, item_id, before, error="File not found: /srv/docs")
    item = client.patch(f"{ITEMS}/{item_id}", json={"title": "Other"}).json()
    assert item["error"] == "File not found: /srv/docs"
    assert client.patch(f"{ITEMS}/{item_id}", json={"uri": "/srv/right"}).json()["error"] is None


def test_nobody_but_the_service_sets_the_status_error(
    client: TestClient, make_item: MakeItem
) -> None:
    item = make_item()
    for response in (
        client.post(ITEMS, json=item | {"status": "error"}),
        client.patch(f"{ITEMS}/{item['id']}", json={"status": "error"}),
    ):
        assert_problem(response, 422, "invalid-request", pointer="#/status")
    put = client.put(f"{ITEMS}/{item['id']}", json=item | {"status": "error"})
    assert put.json() == item


@pytest.mark.parametrize(
    ("before", "after"),
    [("active", "pending"), ("error", "pending"), ("pending", "pending"), ("archived", "archived")],
)
@pytest.mark.parametrize(
    "change", [{"uri": "/srv/other"}, {"document_type": "folder"}], ids=["uri", "document_type"]
)
def test_an_item_whose_source_changes_waits_to_be_indexed_again(
    client: TestClient,
    database: Database,
    make_item: MakeItem,
    before: str,
    after: str,
    change: dict[str, str],
) -> None:
    item_id = make_item()["id"]
    set_status(database, item_id, before)
    assert client.patch(f"{ITEMS}/{item_id}", json=change).json()["status"] == after


def test_other_changes_leave_the_status_alone(
    client: TestClient, database: Database, make_item: MakeItem
) -> None:
    item_id = make_item()["id"]
    set_status(database, item_id, "active")
    changes = {"title": "New", "category": "B", "tags": ["q"], "uri": "/srv/docs"}
    assert client.patch(f"{ITEMS}/{item_id}", json=changes).json()["status"] == "active"


def test_a_status_that_is_given_wins_over_a_changed_source(
    client: TestClient, database: Database, make_item: MakeItem
) -> None:
    item_id = make_item()["id"]
    set_status(database, item_id, "active")
    changes = {"uri": "/srv/other", "status": "archived"}
    assert client.patch(f"{ITEMS}/{item_id}", json=changes).json()["status"] == "archived"


@pytest.mark.parametrize(
    ("stored", "change"),
    [
        (("/srv/docs", "markdown"), {"document_type": "website"}),
        (("https://example.com", "website"), {"uri": "/srv/docs"}),
        (("https://example.com", "website"), {"document_type": "folder"}),
    ],
)
def test_a_patch_may_not_part_document_type_and_uri(
    client: TestClient, make_item: MakeItem, stored: tuple[str, str], change: dict[str, str]
) -> None:
    item = make_item(uri=stored[0], document_type=stored[1])
    assert_problem(client.patch(f"{ITEMS}/{item['id']}", json=change), 409, "conflict")
    assert client.get(f"{ITEMS}/{item['id']}").json() == item


def test_delete_answers_204_and_the_item_is_gone(client: TestClient, make_item: MakeItem) -> None:
    address = f"{ITEMS}/{make_item()['id']}"
    response = client.delete(address)
    assert (response.status_code, response.content) == (204, b"")
    assert "content-type" not in response.headers  # which would have clients read no text as JSON
    for again in (
        client.get(address),
        client.delete(address),
        client.patch(address, json={}),
        client.put(address, json={"title": "a", "uri": "b", "document_type": "markdown"}),
    ):
        assert_problem(again, 404, "not-found")
    assert client.get(ITEMS).json() == {"items": [], "next_cursor": None, "total": 0}


def test_the_id_of_a_deleted_item_never_comes_back(client: TestClient, make_item: MakeItem) -> None:
    seen: set[int] = set()
    for _ in range(4):
        item_id = make_item()["id"]
        assert item_id not in seen
        seen.add(item_id)
        client.delete(f"{ITEMS}/{item_id}")


@pytest.mark.parametrize(
    "alias", ["/api/knowledge", "/api/knowledge/", "/api/v1/knowledge/", "/api/v1/knowledge"]
)
def test_every_way_to_write_the_path_leads_to_the_same_items(
    client: TestClient, alias: str
) -> None:
    body = {"title": "T", "uri": "/x", "document_type": "markdown"}
    created = client.post(alias, json=body, follow_redirects=False)
    assert created.status_code == 201
    assert created.headers["Location"] == f"{ITEMS}/{created.json()['id']}"
    assert client.get(alias, follow_redirects=False).json() == client.get(ITEMS).json()
    slash = "/" if alias.endswith("/") else ""
    one = f"{alias.rstrip('/')}/{created.json()['id']}{slash}"
    assert client.get(one, follow_redirects=False).json() == created.json()
    assert client.delete(one, follow_redirects=False).status_code == 204
