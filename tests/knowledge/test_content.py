"""The stored text of an item can be read by lines, counted as citations count them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.database import Database
from app.errors import InvalidRequestError, NotFoundError
from app.knowledge.content import MOST_CHARACTERS, ContentService
from app.knowledge.items import ItemFilter
from app.knowledge.queries import list_name_of
from app.settings import Settings
from app.web.pagination import Cursor
from tests.databases import Databases
from tests.knowledge.conftest import ITEMS
from tests.light_service import LightService, light_service
from tests.search.shelf import Shelf
from tests.web.problem_checks import assert_problem

TEN_LINES = "".join(f"line {n}\n" for n in range(1, 11))
TEXTS = st.text(alphabet="ab \n\r\u2028", min_size=1, max_size=120).filter(lambda t: t.strip())

Get = Callable[..., Any]


@pytest.fixture
def service(settings: Settings, databases: Databases) -> Iterator[LightService]:
    made = light_service(settings, databases)
    made.content = ContentService(made.database)  # type: ignore[attr-defined]
    yield made
    made.database.close()


@pytest.fixture
def contents(database: Database) -> ContentService:
    return ContentService(database)


@pytest.fixture
def shelf(database: Database) -> Shelf:
    return Shelf(database)


@pytest.fixture
def get(client: TestClient) -> Get:
    def request(item: int, **query: object) -> Any:
        return client.get(f"{ITEMS}/{item}/content", params=query)

    return request


# One document ----------------------------------------------------------------------------------


def test_the_whole_text_is_answered_with_what_is_known_of_it(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    shelf.put("a.md", TEN_LINES, item_id=item, title="Ten", uri="https://example.com/a")
    assert get(item).json() == {
        "knowledge_id": item,
        "document": "a.md",
        "title": "Ten",
        "uri": "https://example.com/a",
        "first_line": 1,
        "last_line": 10,
        "total_lines": 10,
        "content": TEN_LINES,
        "content_hash": "0" * 64,
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("lines", "first", "last"),
    [
        ("3-5", 3, 5),
        ("3", 3, 3),
        ("8-", 8, 10),
        ("L3-L5", 3, 5),
        ("L3", 3, 3),
        ("1-10", 1, 10),
        ("003-5", 3, 5),
        ("8-11", 8, 10),
        ("10-999999999", 10, 10),
    ],
)
def test_lines_are_answered_as_they_are_asked_for(
    shelf: Shelf, get: Get, lines: str, first: int, last: int
) -> None:
    item = shelf.add_item()
    shelf.put("a.md", TEN_LINES, item_id=item)
    answer = get(item, lines=lines).json()
    assert (answer["first_line"], answer["last_line"]) == (first, last)
    assert answer["content"] == "".join(f"line {n}\n" for n in range(first, last + 1))


@pytest.mark.parametrize("lines", ["0", "11", "11-12", "5-3", "0-3", "999999999"])
def test_lines_that_the_document_does_not_have_are_refused_with_those_it_has(
    shelf: Shelf, get: Get, lines: str
) -> None:
    item = shelf.add_item()
    shelf.put("a.md", TEN_LINES, item_id=item)
    response = get(item, lines=lines)
    assert_problem(response, 422, "invalid-request", "#/lines")
    assert "lines 1-10" in response.json()["detail"]


@pytest.mark.parametrize(
    "lines",
    ["", "-", "-5", "a", "3 - 5", "3-5-7", "1e3", "3,5", "٣", "9" * 20, "3\n", "L", "3-L", "+3"],
)
def test_what_is_no_lines_is_refused(shelf: Shelf, get: Get, lines: str) -> None:
    item = shelf.add_item()
    shelf.put("a.md", TEN_LINES, item_id=item)
    assert_problem(get(item, lines=lines), 422, "invalid-request", "#/lines")


def test_the_lines_of_the_frontmatter_count_and_are_not_there(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    (hit, *_) = shelf.put("a.md", TEN_LINES, item_id=item, first_line=5)
    whole = get(item).json()
    assert (whole["first_line"], whole["last_line"], whole["total_lines"]) == (5, 14, 14)
    cited = get(item, lines=hit.citation.partition("#")[2]).json()
    assert hit.content in cited["content"]
    part = get(item, lines="4-6").json()
    assert (part["first_line"], part["last_line"]) == (5, 6)
    assert part["content"] == "".join(TEN_LINES.splitlines(keepends=True)[:2])
    for lines in ("1-4", "4"):
        response = get(item, lines=lines)
        assert_problem(response, 422, "invalid-request", "#/lines")
        assert "frontmatter" in response.json()["detail"]
    for lines in ("0", "3-1"):
        response = get(item, lines=lines)
        assert_problem(response, 422, "invalid-request", "#/lines")
        assert "frontmatter" not in response.json()["detail"]


@hypothesis_settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(TEXTS, st.integers(1, 30), st.data())
def test_any_two_answers_that_adjoin_are_the_text_and_every_hit_stands_in_its_lines(
    database: Database, text: str, first_line: int, data: st.DataObject
) -> None:
    contents, shelf = ContentService(database), Shelf(database, chunk_size=9, overlap=3)
    item = shelf.add_item()
    results = shelf.put("a.md", text, item_id=item, first_line=first_line)
    whole = contents.read(item, None, None)
    assert whole.content == text
    assert contents.list_documents(item, 10, None).documents[0].total_lines == whole.total_lines
    cut = data.draw(st.integers(first_line, whole.total_lines))
    head = contents.read(item, "a.md", f"{first_line}-{cut}")
    assert whole.total_lines == head.total_lines
    if cut < whole.total_lines:
        assert head.content + contents.read(item, "a.md", f"{cut + 1}-").content == text
    for result in results:
        lines = f"{result.start_line}-{result.end_line}"
        assert result.content in contents.read(item, None, lines).content


def test_a_large_document_is_answered_in_parts_that_join(
    shelf: Shelf, contents: ContentService
) -> None:
    text = "".join(f"line {n} of a log\n" for n in range(30_000))
    item = shelf.add_item()
    Shelf(shelf.database, chunk_size=100_000).put("a.log", text, item_id=item)
    parts, line = [], 1
    while True:
        answer = contents.read(item, None, f"{line}-")
        assert len(answer.content) <= MOST_CHARACTERS
        parts.append(answer.content)
        if not answer.truncated:
            break
        line = answer.last_line + 1
    assert len(parts) > 2
    assert "".join(parts) == text


def test_one_line_is_answered_whole_however_long_it_is(
    shelf: Shelf, contents: ContentService
) -> None:
    text = "x" * (MOST_CHARACTERS + 1) + "\nend\n"
    item = shelf.add_item()
    Shelf(shelf.database, chunk_size=1_000_000).put("min.js", text, item_id=item)
    answer = contents.read(item, None, None)
    assert (answer.last_line, answer.truncated) == (1, True)
    assert len(answer.content) == MOST_CHARACTERS + 2


# Which document --------------------------------------------------------------------------------


def test_a_document_is_named_by_its_key_or_its_address(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    shelf.put("guide/a b#1.md", "one\n", item_id=item, uri="https://example.com/a?b=c#d")
    shelf.put("guide/é.md", "two\n", item_id=item)
    assert get(item, document="guide/a b#1.md").json()["content"] == "one\n"
    assert get(item, document="https://example.com/a?b=c#d").json()["content"] == "one\n"
    assert get(item, document="guide/é.md").json()["content"] == "two\n"


def test_a_key_is_found_however_its_accents_are_written(shelf: Shelf, get: Get) -> None:
    apart, together = "u\u0308.md", "\u00fc.md"
    item = shelf.add_item()
    shelf.put(apart, "apart", item_id=item)
    for asked in (apart, together):
        assert get(item, document=asked).json()["document"] == apart
    shelf.put(together, "together", item_id=item)
    for asked in (apart, together):
        assert get(item, document=asked).json()["document"] == asked


def test_a_key_comes_before_an_address_that_reads_the_same(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    shelf.put("a.md", "by key\n", item_id=item)
    shelf.put("b.md", "by address\n", item_id=item, uri="a.md")
    assert get(item, document="a.md").json()["content"] == "by key\n"


def test_an_address_of_several_documents_has_to_be_made_plain(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    for key in ("a.md", "b.md"):
        shelf.put(key, "text\n", item_id=item, uri="https://example.com")
    response = get(item, document="https://example.com")
    assert_problem(response, 422, "invalid-request", "#/document")


def test_without_a_document_an_item_of_several_says_which_there_are(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    for number in range(12):
        shelf.put(f"{number:02}.md", "text\n", item_id=item)
    response = get(item)
    assert_problem(response, 422, "invalid-request", "#/document")
    detail = response.json()["detail"]
    assert "'00.md', '01.md'" in detail
    assert "and 2 more" in detail
    assert f"/api/v1/knowledge/{item}/documents" in detail


def test_what_is_not_there_is_404_and_says_where_to_look(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    nothing_yet = get(item)
    assert_problem(nothing_yet, 404, "not-found")
    assert f"/rag/index/{item}" in nothing_yet.json()["detail"]
    other = shelf.add_item()
    shelf.put("a.md", "text\n", item_id=other)
    shelf.put("b.md", "text\n", item_id=item)
    unknown = get(item, document="a.md")
    assert_problem(unknown, 404, "not-found")
    assert f"/knowledge/{item}/documents" in unknown.json()["detail"]
    assert_problem(get(4711), 404, "not-found")
    assert_problem(get(item, document=""), 404, "not-found")


@pytest.mark.parametrize("query", [{"document": "a\0b"}, {"document": "x" * 9000}, {"line": "1"}])
def test_queries_that_make_no_sense_are_refused(
    shelf: Shelf, get: Get, query: dict[str, str]
) -> None:
    item = shelf.add_item()
    shelf.put("a.md", "text\n", item_id=item)
    assert_problem(get(item, **query), 422, "invalid-request", f"#/{next(iter(query))}")


def test_an_archived_item_can_be_read(shelf: Shelf, client: TestClient, get: Get) -> None:
    item = shelf.add_item()
    shelf.put("a.md", "text\n", item_id=item)
    assert client.patch(f"{ITEMS}/{item}", json={"status": "archived"}).status_code == 200
    assert get(item).json()["content"] == "text\n"


@pytest.mark.parametrize("lines", ["L1", "L1-L2"])
def test_a_whole_citation_is_told_how_to_ask_for_its_lines(
    shelf: Shelf, get: Get, lines: str
) -> None:
    item = shelf.add_item()
    shelf.put("a.md", "one\ntwo\n", item_id=item)
    refused = get(item, document=f"a.md#{lines}")
    assert_problem(refused, 404, "not-found")
    assert f"before #: ?document=…&lines={lines}" in refused.json()["detail"]
    assert get(item, document="a.md", lines=lines).status_code == 200
    assert "citation" not in get(item, document="a.md#Line").json()["detail"]


def test_a_document_whose_name_ends_like_a_citation_is_found_by_it(shelf: Shelf, get: Get) -> None:
    item = shelf.add_item()
    shelf.put("a.md#L1", "one\n", item_id=item)
    assert get(item, document="a.md#L1").json()["content"] == "one\n"


def test_a_deleted_item_cannot_be_read(
    shelf: Shelf, client: TestClient, get: Get, contents: ContentService
) -> None:
    item = shelf.add_item()
    shelf.put("a.md", "text\n", item_id=item)
    assert client.delete(f"{ITEMS}/{item}").status_code == 204
    assert_problem(get(item), 404, "not-found")
    with pytest.raises(NotFoundError):
        contents.list_documents(item, 10, None)


# Which documents there are ---------------------------------------------------------------------


def test_a_document_is_listed_with_what_is_known_of_it(shelf: Shelf, client: TestClient) -> None:
    item = shelf.add_item(licence="MIT")
    chunks = shelf.put("a.md", TEN_LINES, item_id=item, first_line=5, title="Ten")
    shelf.put("b.md", "text\n\n\n", item_id=item, licence="GPL-3.0-only")
    page = client.get(f"{ITEMS}/{item}/documents").json()
    assert (page["total"], page["next_cursor"]) == (2, None)
    first, second = page["documents"]
    assert first.pop("indexed_at")
    assert first == {
        "key": "a.md",
        "document_id": "a.md",
        "title": "Ten",
        "uri": "/srv/docs/a.md",
        "first_line": 5,
        "total_lines": 14,
        "chunk_count": len(chunks),
        "licence": "MIT",
        "language": None,
        "content_hash": "0" * 64,
    }
    assert (second["licence"], second["total_lines"]) == ("GPL-3.0-only", 3)


def test_pages_show_every_document_once_in_the_order_of_keys_whatever_is_added(
    shelf: Shelf, contents: ContentService
) -> None:
    item, other = shelf.add_item(), shelf.add_item()
    keys = [f"{name}/é {'x' * 200}.md" for name in "hbdfac"]
    for key in keys:
        shelf.put(key, "text\n", item_id=item)
    shelf.put("z.md", "foreign\n", item_id=other)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = contents.list_documents(item, 2, cursor)
        assert page.documents, "no page comes after the last document"
        seen += [document.key for document in page.documents]
        shelf.put("a.md", "added behind\n", item_id=item)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == sorted(keys)
    assert page.total == 7


def test_no_item_and_no_cursor_of_ours_are_refused(shelf: Shelf, client: TestClient) -> None:
    item = shelf.add_item()
    assert client.get(f"{ITEMS}/{item}/documents").json() == {
        "documents": [], "next_cursor": None, "total": 0,
    }  # fmt: skip
    assert_problem(client.get(f"{ITEMS}/4711/documents"), 404, "not-found")
    for cursor in ("x", "", Cursor(f"documents of {item}", 1, 1).encode()):  # keys are texts
        response = client.get(f"{ITEMS}/{item}/documents", params={"cursor": cursor})
        assert_problem(response, 422, "invalid-request", "#/cursor")
        assert "sort" not in response.json()["detail"], "this list has no such parameter"
    response = client.get(f"{ITEMS}/{item}/documents", params={"limit": 201})
    assert_problem(response, 422, "invalid-request", "#/limit")


def test_an_item_list_cursor_is_no_cursor_for_documents(
    shelf: Shelf, contents: ContentService
) -> None:
    item_id, cursor = shelf.add_item(), Cursor(list_name_of(ItemFilter(), "title"), "a.md", 1)
    with pytest.raises(InvalidRequestError):
        contents.list_documents(item_id, 10, cursor.encode())


def test_a_cursor_of_another_items_documents_is_refused(
    shelf: Shelf, contents: ContentService
) -> None:
    item, other = shelf.add_item(), shelf.add_item()
    for key in ("a.md", "b.md"):
        shelf.put(key, "text\n", item_id=item)
    cursor = contents.list_documents(item, 1, None).next_cursor
    assert cursor is not None
    with pytest.raises(InvalidRequestError):
        contents.list_documents(other, 1, cursor)
