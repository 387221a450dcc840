"""`refresh_interval` over HTTP."""

import pytest
from fastapi.testclient import TestClient

from app.database import Database
from app.knowledge.items import ItemDraft
from app.models import ItemRow
from tests.knowledge.conftest import ITEMS
from tests.light_service import LightService
from tests.web.problem_checks import assert_problem


def test_an_item_keeps_its_interval_until_it_is_changed(client: TestClient, make_item) -> None:
    assert make_item()["refresh_interval"] is None
    item = make_item(refresh_interval=600)
    address = f"{ITEMS}/{item['id']}"
    assert item["refresh_interval"] == 600
    assert client.patch(address, json={"title": "New"}).json()["refresh_interval"] == 600
    assert client.patch(address, json={"refresh_interval": 0}).json()["refresh_interval"] == 0
    assert client.get(address).json()["refresh_interval"] == 0
    assert client.patch(address, json={"refresh_interval": None}).json()["refresh_interval"] is None
    whole = {"title": "Guide", "uri": "/srv/docs", "document_type": "markdown"}
    client.patch(address, json={"refresh_interval": 60})
    assert client.put(address, json=whole | {"refresh_interval": 5}).json()["refresh_interval"] == 5
    assert client.put(address, json=whole).json()["refresh_interval"] is None


@pytest.mark.parametrize(
    "value",
    [-1, 31_536_001, 1.5, "60", True, [60]],
    ids=["negative", "over a year", "a fraction", "a text", "a yes", "a list"],
)
def test_an_interval_that_is_none_is_refused_with_its_place(client: TestClient, value) -> None:
    body = {"title": "Guide", "uri": "/srv/docs", "document_type": "markdown"}
    refused = client.post(ITEMS, json=body | {"refresh_interval": value})
    assert_problem(refused, 422, "invalid-request", "#/refresh_interval")


def test_a_program_that_saves_an_item_again_leaves_its_interval(service: LightService) -> None:
    draft = ItemDraft("Guide", "/srv/docs", "markdown", refresh_interval=60)
    item = service.knowledge.save(5, draft)
    again = service.knowledge.save(5, ItemDraft("New", "/srv/docs", "markdown"))
    assert (item.refresh_interval, again.refresh_interval, again.title) == (60, 60, "New")


def test_a_new_interval_counts_from_now_on(
    client: TestClient, database: Database, make_item
) -> None:
    item_id = make_item(uri="https://example.com/")["id"]
    address = f"{ITEMS}/{item_id}"
    client.patch(address, json={"refresh_interval": 100})
    with database.read() as session:
        item = session.get_one(ItemRow, item_id)
    assert item.next_refresh_at is not None
    assert 80 < (item.next_refresh_at - item.updated_at).total_seconds() < 120
    client.patch(address, json={"refresh_interval": 0})
    with database.read() as session:
        assert session.get_one(ItemRow, item_id).next_refresh_at is None


def test_the_failures_of_an_old_source_do_not_keep_a_new_one_waiting(
    client: TestClient, database: Database, make_item
) -> None:
    item_id = make_item(uri="https://example.com/")["id"]
    with database.write() as session:
        session.get_one(ItemRow, item_id).refresh_failures = 6
    client.patch(f"{ITEMS}/{item_id}", json={"uri": "https://example.org/"})
    with database.read() as session:
        assert session.get_one(ItemRow, item_id).refresh_failures == 0
