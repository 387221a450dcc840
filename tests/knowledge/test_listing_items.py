"""Listing: filters, sorting, and pages that are complete whatever happens between them."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.knowledge.items import ItemFilter
from app.knowledge.queries import list_name_of
from tests.knowledge.conftest import ITEMS, MakeItem
from tests.web.problem_checks import assert_problem

SORTS = ["id", "title", "created_at", "updated_at"]


def ids(client: TestClient, **query: Any) -> list[int]:
    response = client.get(ITEMS, params=query)
    assert response.status_code == 200, response.text
    page = response.json()
    assert page["total"] == len(page["items"])
    return [item["id"] for item in page["items"]]


def pages(
    client: TestClient, between: Callable[[], object] = lambda: None, **query: Any
) -> list[dict[str, Any]]:
    """All items, page by page; `between` is called after each page."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        given = query | ({"cursor": cursor} if cursor else {})
        response = client.get(ITEMS, params=given)
        assert response.status_code == 200, response.text
        page = response.json()
        assert len(page["items"]) <= query["limit"]
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items
        assert len(page["items"]) == query["limit"]
        between()


def test_a_category_means_itself_and_what_is_below_it_and_no_namesake(
    client: TestClient, make_item: MakeItem
) -> None:
    names = ["Engineering", "Engineering/Security", "Engineering/Security/Keys"]
    below = [make_item(category=name)["id"] for name in names]
    for other in ("EngineeringX", "engineering/Security", "Other/Engineering", None):
        make_item(category=other)
    assert ids(client, category="Engineering") == below
    assert ids(client, category="/Engineering//Security/") == below[1:]
    assert ids(client, category="Engin") == []


APART = "A\u0308pfel"
TOGETHER = "\u00c4pfel"


@pytest.mark.parametrize(("stored", "asked"), [(APART, TOGETHER), (TOGETHER, APART)])
def test_accents_may_be_written_apart_from_their_letters(
    client: TestClient, make_item: MakeItem, stored: str, asked: str
) -> None:
    item = make_item(category=f"Obst/{stored}", tags=[stored, asked], title=stored, uri="/x")
    assert (item["category"], item["tags"]) == (f"Obst/{TOGETHER}", [TOGETHER])
    by_uri = make_item(uri=f"/srv/{stored}")
    assert ids(client, category=f"Obst/{asked}") == ids(client, tag=asked) == [item["id"]]
    assert ids(client, q=asked.lower()) == [item["id"], by_uri["id"]]
    assert by_uri["uri"] == f"/srv/{stored}"


def test_a_label_must_fit_as_it_is_stored(client: TestClient, make_item: MakeItem) -> None:
    two_in_nfc = "\u0958"
    make_item(tags=[two_in_nfc * 100], category=two_in_nfc * 250)
    for field, value in (("tags", [two_in_nfc * 101]), ("category", two_in_nfc * 251)):
        body = {"title": "T", "uri": "/x", "document_type": "folder", field: value}
        assert_problem(client.post(ITEMS, json=body), 422, "invalid-request")


@pytest.mark.parametrize("name", ["100%", "a_b", "a\\b", "%", "[a]", "a*"])
def test_wildcards_in_names_are_letters_like_others(
    client: TestClient, make_item: MakeItem, name: str
) -> None:
    wanted = make_item(category=name + "/x", title=f"about {name}!", tags=[name])["id"]
    for other in ("100x", "axb", "ab", "x"):
        make_item(category=other + "/x", title=f"about {other}!", tags=[other])
    assert ids(client, category=name) == [wanted]
    assert ids(client, q=f"about {name}!") == [wanted]
    assert ids(client, tag=name) == [wanted]


def test_text_is_found_in_title_and_uri_whatever_its_case(
    client: TestClient, make_item: MakeItem
) -> None:
    in_title = make_item(title="Über ÉCLAIRS")["id"]
    in_uri = make_item(uri="/srv/éclairs/a.md")["id"]
    make_item(title="Eclair", category="éclairs", tags=["éclairs"])
    assert ids(client, q="Éclairs") == [in_title, in_uri]
    assert len(ids(client)) == 3


def test_filters_join(client: TestClient, make_item: MakeItem) -> None:
    fields = {
        "status": "archived",
        "category": "A/B",
        "tags": ["x", "y"],
        "document_type": "folder",
        "collection": "mine",
        "title": "Needle",
    }
    wanted = make_item(**fields)["id"]
    other = {
        "status": "pending",
        "category": "C",
        "tags": ["z"],
        "document_type": "markdown",
        "collection": "yours",
        "title": "Hay",
    }
    for name, value in other.items():
        make_item(**(fields | {name: value}))
    query = {
        "status": "archived",
        "category": "A",
        "tag": "x",
        "document_type": "folder",
        "collection": "mine",
        "q": "needle",
    }
    assert ids(client, **query) == [wanted]
    for name in query:
        rest = {key: value for key, value in query.items() if key != name}
        assert len(ids(client, **rest)) == 2, name


def test_a_repeated_tag_means_any_of_them(client: TestClient, make_item: MakeItem) -> None:
    tagged = [make_item(tags=tags)["id"] for tags in (["a"], ["b", "c"], ["c"], ["A"])]
    assert ids(client, tag=["a", "b"]) == tagged[:2]
    assert ids(client, tag="a, b,") == tagged[:2]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_are_complete_and_in_order_both_ways(
    client: TestClient, make_item: MakeItem, sort: str, limit: int
) -> None:
    titles = ["b", "B", "a", "ä", "b", "10", "9"]
    made = [make_item(title=title)["id"] for title in titles]
    client.patch(f"{ITEMS}/{made[1]}", json={"licence": "MIT"})
    everything = client.get(ITEMS).json()["items"]
    up = sorted(everything, key=lambda item: (item[sort], item["id"]))
    assert pages(client, sort=sort, limit=limit) == up
    assert pages(client, sort="-" + sort, limit=limit) == up[::-1]


def test_without_a_sort_items_come_oldest_first(client: TestClient, make_item: MakeItem) -> None:
    made = [make_item(title=title)["id"] for title in "cab"]
    assert ids(client) == made


@pytest.mark.parametrize("sort", [*SORTS, *("-" + sort for sort in SORTS)])
def test_items_that_stay_are_listed_once_while_others_come_and_go(
    client: TestClient, make_item: MakeItem, sort: str
) -> None:
    staying = [make_item(title=f"t{number % 3}")["id"] for number in range(7)]
    going = [make_item(title=f"t{number % 3}")["id"] for number in range(3)]

    def disturb() -> None:
        if going:
            client.delete(f"{ITEMS}/{going.pop()}")
        if len(staying) + len(going) > 7:
            make_item(title="t1")

    listed = [item["id"] for item in pages(client, disturb, sort=sort, limit=2)]
    assert len(listed) == len(set(listed))
    assert set(staying) <= set(listed)


def test_the_row_that_a_cursor_names_may_be_deleted(
    client: TestClient, make_item: MakeItem
) -> None:
    made = [make_item()["id"] for _ in range(3)]
    cursor = client.get(ITEMS, params={"limit": 1}).json()["next_cursor"]
    client.delete(f"{ITEMS}/{made[0]}")
    rest = client.get(ITEMS, params={"cursor": cursor}).json()
    assert [item["id"] for item in rest["items"]] == made[1:]


def test_paging_keeps_to_the_filter_and_total_counts_all_pages(
    client: TestClient, make_item: MakeItem
) -> None:
    wanted = [make_item(category="A")["id"], make_item()["id"], make_item(category="A/B")["id"]]
    page = client.get(ITEMS, params={"category": "A", "limit": 1}).json()
    assert page["total"] == 2
    assert [item["id"] for item in pages(client, category="A", limit=1)] == [wanted[0], wanted[2]]


@pytest.mark.parametrize(
    "other",
    [{}, {"category": "B"}, {"category": "A", "q": "x"}, {"category": "A", "sort": "title"}],
    ids=["no filter", "another filter", "one more filter", "another order"],
)
def test_a_cursor_is_taken_for_its_own_list_alone(
    client: TestClient, make_item: MakeItem, other: dict[str, str]
) -> None:
    for _ in range(3):
        make_item(category="A")
    cursor = client.get(ITEMS, params={"category": "A", "limit": 1}).json()["next_cursor"]
    again = client.get(ITEMS, params={"category": "A", "limit": 5, "cursor": cursor}).json()
    assert len(again["items"]) == 2
    refused = client.get(ITEMS, params=other | {"cursor": cursor})
    assert_problem(refused, 422, "invalid-request", "#/cursor")


@pytest.mark.parametrize("title", ["🎉" * 500, '"' * 500, "\\" * 500, "中" * 500])
def test_the_longest_title_fits_into_a_cursor(
    client: TestClient, make_item: MakeItem, title: str
) -> None:
    made = [make_item(title=title)["id"] for _ in range(3)]
    assert [item["id"] for item in pages(client, sort="title", limit=1)] == made


def base64_of(text: str) -> str:
    encoded = text.encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(encoded).decode().rstrip("=")


def made_for(sort: str, *rest: object) -> str:
    """A cursor as ours are, for the list without filters, with whatever else in it."""
    document = [list_name_of(ItemFilter(), sort), *rest]
    return base64_of(json.dumps(document, separators=(",", ":"), ensure_ascii=False))


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "!!!!",
        "é",
        "=" * 4000,
        "A" * 4096,
        base64_of("null"),
        base64_of("[]"),
        base64_of('{"sort":"id"}'),
        base64_of("[" * 3000),
        base64_of('["id",' + "9" * 2900 + ",1]"),
        base64_of('["id",1,1]'),
    ],
    ids=lambda cursor: cursor[:20],
)
def test_what_is_no_cursor_is_refused(client: TestClient, cursor: str) -> None:
    response = client.get(ITEMS, params={"sort": "id", "cursor": cursor})
    assert_problem(response, 422, "invalid-request", "#/cursor")


@pytest.mark.parametrize(
    ("sort", "rest"),
    [
        ("id", [1]),
        ("id", ["1", 1]),
        ("id", [1, "1"]),
        ("id", [True, 1]),
        ("id", [1, True]),
        ("id", [1, None]),
        ("id", [2**63, 1]),
        ("id", [1, 2**70]),
        ("id", [1.5, 1]),
        ("id", [[1], 1]),
        ("title", [5, 1]),
        ("title", ["\ud800", 1]),
        ("title", ["\x00", 1]),
        ("created_at", ["yesterday", 1]),
        ("created_at", [5, 1]),
        ("created_at", ["0001-01-01T00:00:00+14:00", 1]),
        ("created_at", ["2026-01-01T00:00:00", 1]),
    ],
    ids=repr,
)
def test_a_cursor_with_values_that_the_list_cannot_have_is_refused(
    client: TestClient, sort: str, rest: list[object]
) -> None:
    response = client.get(ITEMS, params={"sort": sort, "cursor": made_for(sort, *rest)})
    assert_problem(response, 422, "invalid-request", "#/cursor")


@pytest.mark.parametrize(
    ("sort", "value"), [("id", 1), ("title", "a"), ("created_at", "2026-01-01T00:00:00+00:00")]
)
def test_the_same_cursor_with_values_that_the_list_may_have_is_taken(
    client: TestClient, sort: str, value: object
) -> None:
    response = client.get(ITEMS, params={"sort": sort, "cursor": made_for(sort, value, 1)})
    assert response.status_code == 200, response.text


def test_a_damaged_cursor_is_refused(client: TestClient, make_item: MakeItem) -> None:
    for _ in range(2):
        make_item()
    cursor = client.get(ITEMS, params={"limit": 1}).json()["next_cursor"]
    for damaged in (
        cursor[:-1],
        cursor + "A",
        cursor + "=",
        "!" + cursor,
        cursor[:4] + " " + cursor[4:],
    ):
        response = client.get(ITEMS, params={"cursor": damaged})
        assert_problem(response, 422, "invalid-request", "#/cursor")


@pytest.mark.parametrize("other", ["-id", "title", "-created_at"])
def test_a_cursor_of_another_sorting_is_refused(
    client: TestClient, make_item: MakeItem, other: str
) -> None:
    for _ in range(2):
        make_item()
    cursor = client.get(ITEMS, params={"limit": 1, "sort": "id"}).json()["next_cursor"]
    response = client.get(ITEMS, params={"cursor": cursor, "sort": other})
    assert_problem(response, 422, "invalid-request", "#/cursor")
    assert response.json()["errors"][0]["location"] == "query"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", "0"),
        ("limit", "201"),
        ("limit", str(2**70)),
        ("limit", "x"),
        ("category", "/"),
        ("category", " / / "),
        ("category", ""),
        ("categry", "Engineering"),
        ("sort", "uri"),
        ("sort", "--id"),
        ("status", "gone"),
        ("document_type", "x"),
        ("category", "x" * 501),
        ("category", "\x00"),
        ("collection", "\x00"),
        ("q", "a\x00b"),
        ("q", ""),
        ("q", " "),
        ("collection", ""),
        ("q", "x" * 501),
        ("cursor", "x" * 4097),
    ],
)
def test_a_filter_that_cannot_be_is_refused(client: TestClient, name: str, value: str) -> None:
    response = client.get(ITEMS, params={name: value})
    assert_problem(response, 422, "invalid-request", f"#/{name}")
    assert response.json()["errors"][0]["location"] == "query"


@pytest.mark.parametrize("tag", [",", "", " , ,"])
def test_a_tag_that_names_nothing_is_refused(client: TestClient, tag: str) -> None:
    response = client.get(ITEMS, params={"tag": ["a", tag]})
    assert_problem(response, 422, "invalid-request", "#/tag/1")
    assert "names no tag" in response.json()["detail"]


def test_a_tag_that_cannot_be_is_refused(client: TestClient) -> None:
    response = client.get(ITEMS, params={"tag": ["a", "\x00"]})
    assert_problem(response, 422, "invalid-request", "#/tag/1")
