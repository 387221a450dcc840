"""What is not an item is refused with a pointer to the fault, and nothing is changed."""

import json
import re
import time
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.knowledge.item_fields import URI_PATTERN
from app.settings import Settings
from tests.databases import Databases
from tests.knowledge.conftest import ITEMS
from tests.light_service import http_client, light_service
from tests.processor_speed import is_within
from tests.web.problem_checks import assert_problem

GOOD = {"title": "Guide", "uri": "/srv/docs", "document_type": "markdown"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, databases: Databases) -> Iterator[TestClient]:
    """One service for all these tests: what is refused changes nothing."""
    own = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("validation"))
    with http_client(light_service(own, databases)) as client:
        yield client


@pytest.fixture(scope="module")
def item(client: TestClient) -> dict[str, Any]:
    """The item that must not change."""
    created: dict[str, Any] = client.post(ITEMS, json=GOOD).json()
    return created


def test_a_change_has_no_defaults_that_a_generated_client_would_send(
    description: dict[str, Any],
) -> None:
    schemas = description["components"]["schemas"]
    fields = schemas["ItemUpdate"]["properties"]
    assert [name for name, field in fields.items() if "default" in field] == []


ALPHA = "\u1f82"
"""Four characters in NFD, as no other letter is more."""


@pytest.mark.parametrize(
    ("field", "label"),
    [("category", ALPHA * 500), ("tags", [ALPHA * 200])],
    ids=["category", "tag"],
)
def test_a_label_is_as_long_as_it_is_kept(client: TestClient, field: str, label: Any) -> None:
    apart = json.loads(unicodedata.normalize("NFD", json.dumps(label, ensure_ascii=False)))
    created = client.post(ITEMS, json=GOOD | {field: apart})
    assert created.status_code == 201
    assert created.json()[field] == label


@pytest.mark.parametrize("field", ["category", "tags"])
def test_a_label_of_accents_without_end_is_refused_at_once(client: TestClient, field: str) -> None:
    """To put these in order takes 3 s, and four times as long for twice as many."""
    started = time.process_time()
    refused = client.post(ITEMS, json=GOOD | {field: "a" + "\u0301\u0316" * 30_000})
    assert is_within(1, started)
    assert_problem(refused, 422, "invalid-request")


BAD_VALUES: list[tuple[str, Any, str]] = [
    ("title", "", "#/title"),
    ("title", " \u00a0 ", "#/title"),
    ("title", "a\x00b", "#/title"),
    ("title", "a\nb", "#/title"),
    ("title", "a\x7fb", "#/title"),
    ("title", "x" * 501, "#/title"),
    ("title", "x" * 900_000, "#/title"),
    ("title", 5, "#/title"),
    ("title", {"a": 1}, "#/title"),
    ("title", ["a"], "#/title"),
    ("uri", "", "#/uri"),
    ("uri", "\t", "#/uri"),
    ("uri", "/srv/\x00", "#/uri"),
    ("uri", "x" * 4097, "#/uri"),
    ("uri", "ftp://example.com/a", "#/uri"),
    ("uri", "javascript://alert", "#/uri"),
    ("document_type", "pdf", "#/document_type"),
    ("document_type", "", "#/document_type"),
    ("document_type", 2**70, "#/document_type"),
    ("category", "a\x00", "#/category"),
    ("category", "x" * 501, "#/category"),
    ("category", 5, "#/category"),
    ("tags", None, "#/tags"),
    ("tags", 5, "#/tags"),
    ("tags", {"a": "b"}, "#/tags"),
    ("tags", ["a", 5], "#/tags/1"),
    ("tags", ["a\x1f"], "#/tags/0"),
    ("tags", ["x" * 201], "#/tags/0"),
    ("tags", [f"t{number}" for number in range(101)], "#/tags"),
    ("tags", ",".join(f"t{number}" for number in range(101)), "#/tags"),
    ("collection", "", "#/collection"),
    ("collection", "../x", "#/collection"),
    ("collection", "x" * 501, "#/collection"),
    ("licence", "", "#/licence"),
    ("licence", "MIT\n", "#/licence"),
    ("licence", "<b>", "#/licence"),
    ("status", "gone", "#/status"),
    ("status", 2**70, "#/status"),
    ("surprise", 1, "#/surprise"),
    ("a/b~c", 1, "#/a~1b~0c"),
]


def case_name(value: object) -> str:
    return repr(value)[:20]


@pytest.mark.parametrize(("field", "value", "pointer"), BAD_VALUES, ids=case_name)
def test_a_bad_value_is_refused_with_its_place_by_every_way_to_write(
    client: TestClient, item: dict[str, Any], field: str, value: object, pointer: str
) -> None:
    total = client.get(ITEMS).json()["total"]
    body = GOOD | {field: value}
    address = f"{ITEMS}/{item['id']}"
    for response in (
        client.post(ITEMS, json=body),
        client.put(address, json=body),
        client.patch(address, json={field: value}),
    ):
        assert_problem(response, 422, "invalid-request", pointer)
        assert len(response.content) < 5000
        assert "pattern" not in response.json()["detail"]
    assert client.get(address).json() == item
    assert client.get(ITEMS).json()["total"] == total


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("licence", "", "as in Apache-2.0 or (MIT OR 0BSD); null: nothing is known of it"),
        ("licence", "MIT/X11", "must be an SPDX licence identifier or expression"),
        ("collection", "my docs", "dots, dashes and underscores"),
        ("collection", "-docs", "must begin with an English letter or a digit"),
    ],
)
def test_what_a_name_may_be_made_of_is_said_in_words(
    client: TestClient, field: str, value: str, sentence: str
) -> None:
    response = client.post(ITEMS, json=GOOD | {field: value})
    assert_problem(response, 422, "invalid-request", f"#/{field}")
    assert sentence in response.json()["errors"][0]["detail"]


@pytest.mark.parametrize("field", ["title", "uri", "category", "tags", "licence", "collection"])
def test_half_a_character_is_refused(client: TestClient, field: str) -> None:
    value = '["\\ud800"]' if field == "tags" else '"/\\udfff"'
    body = json.dumps(GOOD)[:-1] + f', "{field}": {value}}}'
    response = client.post(ITEMS, content=body, headers={"content-type": "application/json"})
    assert_problem(response, 422, "invalid-request")


def test_half_a_character_in_a_field_name_is_refused(client: TestClient) -> None:
    body = json.dumps(GOOD)[:-1] + ', "\\ud800": 1}'
    response = client.post(ITEMS, content=body, headers={"content-type": "application/json"})
    assert_problem(response, 422, "invalid-request")


@pytest.mark.parametrize("missing", GOOD)
def test_what_an_item_needs_must_be_given(client: TestClient, missing: str) -> None:
    body = {name: value for name, value in GOOD.items() if name != missing}
    assert_problem(client.post(ITEMS, json=body), 422, "invalid-request", f"#/{missing}")
    assert_problem(client.post(ITEMS, json=body | {missing: None}), 422, "invalid-request")


def refusal(client: TestClient, item: dict[str, Any], uri: str, document_type: str) -> str:
    """What is answered to an address that no item may have, new or changed, nor its schema."""
    change = {"uri": uri, "document_type": document_type}
    response = client.post(ITEMS, json=GOOD | change)
    assert_problem(response, 422, "invalid-request", "#/uri")
    address = f"{ITEMS}/{item['id']}"
    assert_problem(client.patch(address, json=change), 422, "invalid-request", "#/uri")
    assert not re.search(URI_PATTERN, uri)
    return response.text


@pytest.mark.parametrize(
    "uri",
    [
        "http://",
        "https:///path",
        "http://:80/",
        "http://?q",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:65536/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:x/",
        "http://exa mple.com/",
        "http://exa\u00a0mple.com/",
        "http://example.com /",
        "http://[::1/",
        "http://::1/",
    ],
)
@pytest.mark.parametrize("document_type", ["website", "markdown"])
def test_what_cannot_be_a_web_address_is_refused_at_once(
    client: TestClient, item: dict[str, Any], uri: str, document_type: str
) -> None:
    told = refusal(client, item, uri, document_type)
    assert "port from 1 to 65535" in told


@pytest.mark.parametrize(
    "uri",
    [
        "http://user:secret@example.com/",
        "HTTPS://token@example.com",
        "http://a@b@example.com/",
        "http://:@example.com",
    ],
)
@pytest.mark.parametrize("document_type", ["website", "markdown"])
def test_an_address_with_a_user_or_a_password_is_refused_at_once(
    client: TestClient, item: dict[str, Any], uri: str, document_type: str
) -> None:
    told = refusal(client, item, uri, document_type)
    assert "user name or password" in told
    assert "secret" not in told


@pytest.mark.parametrize(
    "uri",
    [
        "http://example.com",
        "HTTPS://Example.com:443?q=a b",
        "http://example.com:/",
        "http://127.0.0.1:65535/a b#c",
        "http://[::1]:8080/",
        "http://bücher.example/",
        "http://example.com/@name?mail=a@b",
        "http://under_score.lan:1",
    ],
)
def test_web_addresses_of_every_form_are_taken(client: TestClient, uri: str) -> None:
    response = client.post(ITEMS, json=GOOD | {"uri": uri, "document_type": "website"})
    assert (response.status_code, response.json()["uri"]) == (201, uri)
    assert re.search(URI_PATTERN, uri)


@pytest.mark.parametrize(
    ("document_type", "uri"), [("website", "/srv/docs"), ("folder", "https://example.com/")]
)
def test_document_type_and_uri_must_suit_each_other(
    client: TestClient, document_type: str, uri: str
) -> None:
    body = GOOD | {"document_type": document_type, "uri": uri}
    assert_problem(client.post(ITEMS, json=body), 422, "invalid-request", "#")


@pytest.mark.parametrize(
    "knowledge_id",
    ["0", "-1", "x", "1.5", "1.0", "01", "+1", "1_0", "%201", str(2**53), str(2**70), "9" * 5000],
)
@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
def test_an_id_that_cannot_be_is_refused(
    client: TestClient, method: str, knowledge_id: str
) -> None:
    body = GOOD if method in {"PATCH", "PUT"} else None
    response = client.request(method, f"{ITEMS}/{knowledge_id}", json=body)
    assert_problem(response, 422, "invalid-request", "#/knowledge_id")


def test_the_largest_id_is_merely_unknown(client: TestClient) -> None:
    assert_problem(client.get(f"{ITEMS}/{2**53 - 1}"), 404, "not-found")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"5",
        b"NaN",
        b"\xff\xfe\x00",
        b'{"title": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"id": ' + b"9" * 10_000 + b"}",
        b'{"title": 1e99999}',
    ],
    ids=case_name,
)
def test_a_body_that_is_no_item_is_the_clients_fault(client: TestClient, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    response = client.post(ITEMS, content=body, headers=headers)
    assert response.status_code in {400, 422}
    slug = "bad-request" if response.status_code == 400 else "invalid-request"
    assert_problem(response, response.status_code, slug)


def test_broken_json_is_explained(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    response = client.post(ITEMS, content=b'{"title": "a",}', headers=headers)
    assert_problem(response, 422, "invalid-request", pointer="#")
    assert "no JSON" in response.json()["detail"]


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "", "/"]
)
def test_another_content_type_is_the_clients_fault(client: TestClient, content_type: str) -> None:
    headers = {"content-type": content_type}
    response = client.post(ITEMS, content=json.dumps(GOOD), headers=headers)
    assert_problem(response, 422, "invalid-request")


def test_ten_thousand_faults_need_no_ten_thousand_complaints(client: TestClient) -> None:
    body = GOOD | {f"field{number}": number for number in range(10_000)}
    assert len(client.post(ITEMS, json=body).json()["errors"]) == 50


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        name: json_values | st.text()
        for name in ("title", "uri", "category", "tags", "collection", "licence", "status", "error")
    }
    | {"document_type": st.sampled_from(["markdown", "website", "folder"]) | json_values},
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=bodies)
def test_whatever_json_is_sent_an_item_or_a_problem_comes_back(
    client: TestClient, body: dict[str, Any]
) -> None:
    response = client.post(
        ITEMS, content=json.dumps(GOOD | body), headers={"content-type": "application/json"}
    )
    if response.status_code == 201:
        assert client.get(response.headers["Location"]).json() == response.json()
        assert client.put(response.headers["Location"], json=response.json()).status_code == 200
    else:
        assert_problem(response, 422, "invalid-request")
