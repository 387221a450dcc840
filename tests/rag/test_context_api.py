"""`POST /rag/context` over HTTP, from indexing a file to the block for a prompt."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.web.problem_checks import assert_problem

API = "/api/v1"
TEXT = (
    "---\ntitle: Harbour\nlicence: CC-BY-4.0\n---\n# Pilots\n\n"
    + "".join(f"Rule {n} says how the pilot boards a ship.\n" for n in range(1, 31))
    + "\n# Tides\n\nThe tide turns twice a day.\n"
)


@pytest.fixture
def item(client: TestClient, source_root: Path) -> int:
    (source_root / "harbour.md").write_text(TEXT)
    body = {"title": "Docs", "uri": str(source_root), "document_type": "folder"}
    item_id = int(client.post(f"{API}/knowledge", json=body).json()["id"])
    assert client.post(f"{API}/rag/index/{item_id}").json()["success"]
    return item_id


def ask(client: TestClient, **body: object) -> dict[str, Any]:
    response = client.post(f"{API}/rag/context", json={"query": "when does the tide turn"} | body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def source_lines(first: int, last: int) -> str:
    return "\n".join(TEXT.split("\n")[first - 1 : last])


def test_a_context_is_the_lines_of_the_file_under_their_citation(client: TestClient, item: int):
    answer = ask(client, n_results=1)
    (passage,) = answer["passages"]
    first, last = passage["start_line"], passage["end_line"]
    assert "The tide turns twice a day." in passage["content"]
    assert passage["content"] == source_lines(first, last)
    assert answer["context"] == f"# File: harbour.md (lines {first}-{last})\n{passage['content']}"
    assert passage["citation"] == f"harbour.md#L{first}-L{last}"
    assert (passage["knowledge_id"], passage["document"]) == (item, "harbour.md")
    assert (passage["title"], passage["licence"]) == ("Harbour", "CC-BY-4.0")
    assert (answer["format"], answer["max_tokens"]) == ("markdown", 2000)
    assert (answer["truncated"], answer["omitted"], answer["degraded"]) == (False, [], [])
    assert answer["query"] == "when does the tide turn"


def test_every_format_keeps_the_token_limit_and_says_what_is_missing(client: TestClient, item: int):
    for style in ("markdown", "json", "tool"):
        answer = ask(client, n_results=20, max_tokens=80, format=style, context_chunks=1)
        assert answer["format"] == style
        assert 0 < answer["total_tokens"] <= 80
        assert answer["truncated"]
        assert answer["omitted"]
        for omission in answer["omitted"]:
            lines = f"{omission['start_line']}-{omission['end_line']}"
            response = client.get(
                f"{API}/knowledge/{omission['knowledge_id']}/content",
                params={"document": omission["document"], "lines": lines},
            )
            assert response.status_code == 200, response.text


def test_copies_of_a_document_take_no_room_twice(client: TestClient, source_root: Path, item: int):
    alone = ask(client, n_results=3)
    for name in ("copy.md", "another.md"):
        (source_root / name).write_text(TEXT)
    assert client.post(f"{API}/rag/index/{item}").json()["documents"] == 3
    with_copies = ask(client, n_results=3)
    texts = [passage["content"] for passage in with_copies["passages"]]
    assert len(set(texts)) == len(texts) == len(alone["passages"])
    apart = ask(client, n_results=3, group_by="document")
    assert {passage["document"] for passage in apart["passages"]} == {
        "another.md",
        "copy.md",
        "harbour.md",
    }


def test_the_tool_says_when_there_is_nothing(client: TestClient):
    answer = ask(client, format="tool")
    assert answer["context"] == "No relevant documentation found for your query."
    assert (answer["passages"], answer["truncated"]) == ([], False)


def test_the_search_s_own_fields_narrow_the_context(client: TestClient, item: int):
    assert ask(client, knowledge_ids=[item])["passages"]
    assert not ask(client, knowledge_ids=[item + 1])["passages"]
    assert not ask(client, category="Other")["passages"]


@pytest.mark.parametrize("wish", [{"highlight": False}, {"explain": True}])
def test_what_a_context_does_not_heed_is_described_so(
    client: TestClient, item: int, wish: dict[str, bool], description: dict[str, Any]
):
    assert ask(client, **wish) == ask(client)
    schemas = description["components"]["schemas"]
    (name,) = wish
    assert "Changes nothing here" in schemas["ContextBody"]["properties"][name]["description"]
    assert "Changes nothing" not in schemas["SearchBody"]["properties"][name]["description"]


def test_neighbours_come_along(client: TestClient, item: int):
    alone, around = (
        ask(client, n_results=1, context_chunks=number)["passages"][0] for number in (0, 2)
    )
    assert around["start_line"] < alone["start_line"]
    assert around["content"].endswith(alone["content"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 49),
        ("max_tokens", 32_001),
        ("max_tokens", "many"),
        ("max_tokens", True),
        ("context_chunks", 6),
        ("context_chunks", -1),
        ("format", "xml"),
        ("query", " "),
        ("n_results", 0),
        ("unknown", 1),
    ],
)
def test_a_body_that_makes_no_sense_is_422_with_a_pointer(
    client: TestClient, field: str, value: object
):
    response = client.post(f"{API}/rag/context", json={"query": "tide", field: value})
    assert_problem(response, 422, "invalid-request", f"#/{field}")


def test_places_are_counted_in_code_points_as_the_schema_says(
    client: TestClient, source_root: Path, description: dict[str, Any]
):
    text = "Smile \U0001f600\U0001f600 and rotate \U0001d518 the keys.\n\U0001f600 again.\n"
    (source_root / "smile.md").write_text(text)
    body = {"title": "S", "uri": str(source_root / "smile.md"), "document_type": "markdown"}
    item = client.post(f"{API}/knowledge", json=body).json()["id"]
    assert client.post(f"{API}/rag/index/{item}").json()["success"]
    asked = {"query": "rotate the keys"}
    (result,) = client.post(f"{API}/rag/search", json=asked).json()["results"]
    (passage,) = ask(client, **asked)["passages"]
    for found in (result, passage):
        assert text[found["start_index"] : found["end_index"]] == found["content"]
    words = [mark for mark in result["highlights"] if mark["kind"] == "word"]
    assert [(mark["start"], mark["text"]) for mark in words] == [(13, "rotate"), (26, "keys")]
    schemas = description["components"]["schemas"]
    assert "code point" in schemas["Highlight"]["description"]
    for name in ("SearchResult", "Passage"):
        assert "code points" in schemas[name]["properties"]["end_index"]["description"]
