"""The example test of the RAG specification and its endpoints, against the running service."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.server_process import WAIT_SECONDS, ServerProcess

PYTHON_TEXT = """# Python

Python programming is readable: functions, classes and modules are how programs grow.

## Errors

Exceptions are raised and caught; a traceback shows where they came from.
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client(server: ServerProcess) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=server.url, timeout=WAIT_SECONDS, trust_env=False
    ) as client:
        yield client


@pytest.fixture
def sample_markdown_file(shared_sources: Path) -> Path:
    path = shared_sources / f"{uuid.uuid4().hex}.md"
    path.write_text(PYTHON_TEXT)
    return path


@pytest.mark.anyio
@pytest.mark.parametrize("api", ["/api", "/api/v1"])
async def test_rag_search_after_indexing(
    client: httpx.AsyncClient, sample_markdown_file: Path, api: str
) -> None:
    # Create and index a knowledge item
    create_response = await client.post(
        f"{api}/knowledge/",
        json={
            "title": "Search Test Document",
            "document_type": "markdown",
            "uri": f"file://{sample_markdown_file}",
            "category": "SearchTest",
        },
    )
    knowledge_id = create_response.json()["id"]

    await client.post(f"{api}/rag/index/{knowledge_id}")

    # Search for content
    search_response = await client.get(f"{api}/rag/search?q=Python+programming&n=3")
    assert search_response.json()["total_results"] > 0


@pytest.mark.parametrize("api", ["/api", "/api/v1"])
def test_an_item_passes_through_all_documented_endpoints(
    server: ServerProcess, sample_markdown_file: Path, api: str
) -> None:
    http = server.http
    before = http.get(f"{api}/rag/stats").json()
    knowledge_id = server.create(sample_markdown_file, title="Python guide")

    indexed = http.post(f"{api}/rag/index/{knowledge_id}")
    assert indexed.status_code == 200
    result = indexed.json()
    assert result["success"] is True
    assert result["knowledge_id"] == knowledge_id
    assert result["chunks_indexed"] > 0
    assert len(result["content_hash"]) == 64
    assert result.get("error") is None

    item = server.item(knowledge_id)
    assert item["status"] == "active"
    assert item["content_hash"] == result["content_hash"]
    assert item["last_fetched_at"]
    assert item["indexed_at"]

    stats = http.get(f"{api}/rag/stats").json()
    assert stats["total_chunks"] == before["total_chunks"] + result["chunks_indexed"]
    assert stats["unique_knowledge_items"] == before["unique_knowledge_items"] + 1
    assert stats["collection_name"] == "knowledge_base"
    assert stats["embedding_model"] == "all-MiniLM-L6-v2"

    question = {"query": "where did the exception come from?", "knowledge_ids": [knowledge_id]}
    found = http.post(f"{api}/rag/search", json=question)
    assert found.status_code == 200
    answer = found.json()
    assert answer["query"] == question["query"]
    assert answer["total_results"] == len(answer["results"]) > 0
    best = answer["results"][0]
    assert best["title"] == "Python guide"
    assert best["uri"] == str(sample_markdown_file)
    assert best["content"] in PYTHON_TEXT
    assert 0 < best["score"] <= 1
    assert isinstance(best["chunk_index"], int)
    assert PYTHON_TEXT[best["start_index"] : best["end_index"]] == best["content"]

    removed = http.delete(f"{api}/rag/index/{knowledge_id}")
    assert removed.status_code == 200
    assert server.search("exceptions", knowledge_ids=[knowledge_id]) == []
    assert server.item(knowledge_id)["status"] == "pending"
    assert http.delete(f"{api}/knowledge/{knowledge_id}").status_code == 204
    assert http.get(f"{api}/knowledge/{knowledge_id}").status_code == 404


def test_index_all_answers_a_summary_with_a_result_per_item(
    server: ServerProcess, shared_sources: Path
) -> None:
    ids = []
    for name in ("first", "second"):
        path = shared_sources / f"{name}-of-all.md"
        path.write_text(f"# {name}\n\nA document about the {name} of all things.\n")
        ids.append(server.create(path))
        server.index(ids[-1])
    answer = server.http.post("/api/v1/rag/index-all", params={"status": "active"}).json()
    results = {result["knowledge_id"]: result for result in answer["results"]}
    assert set(ids) <= set(results)
    assert all(results[knowledge_id]["success"] for knowledge_id in ids)
    assert answer["total"] == answer["succeeded"] + answer["failed"] == len(results)
    assert answer["chunks_indexed"] == sum(r["chunks_indexed"] for r in results.values())
    assert all(results[knowledge_id]["chunks_embedded"] == 0 for knowledge_id in ids)


@pytest.fixture(scope="module")
def filed(server: ServerProcess) -> dict[str, int]:
    """Three items on one subject, by name, under categories that only this test uses."""
    folder = Path(server.environment["SOURCE_ROOTS"])
    ids = {}
    for name, category, tags in [
        ("login", "Filing/Security", ["docker", "production"]),
        ("tokens", "Filing/Security/Tokens", ["docker"]),
        ("kitchen", "FilingCabinet", ["production"]),
    ]:
        path = folder / f"{name}-filed.md"
        path.write_text(f"# {name}\n\nAuthentication in the {name}: steps of the deployment.\n")
        ids[name] = server.create(path, category=category, tags=tags)
        assert server.index(ids[name])["success"]
    return ids


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"category": "Filing"}, {"login", "tokens"}),
        ({"category": "Filing/Security"}, {"login", "tokens"}),
        ({"category": "Filing/Security/Tokens"}, {"tokens"}),
        ({"category": "FilingCabinet"}, {"kitchen"}),
        ({"category": "Filing/Sec"}, set()),
        ({"category": "Filing", "tags": ["production"]}, {"login"}),
        ({"tags": ["docker", "production"]}, {"login", "tokens", "kitchen"}),
        ({"tags": ["docker", "production"], "tags_match": "all"}, {"login"}),
        ({"tags": ["nothing"]}, set()),
    ],
)
def test_a_search_finds_what_its_filter_allows_and_nothing_else(
    server: ServerProcess, filed: dict[str, int], wanted: dict[str, Any], names: set[str]
) -> None:
    question = wanted | {"query": "authentication", "n_results": 100}
    by_post = server.http.post("/api/v1/rag/search", json=question).json()
    assert {result["knowledge_id"] for result in by_post["results"]} == {filed[n] for n in names}
    parameters = wanted | {"q": "authentication", "n": 100}
    by_get = server.http.get("/api/v1/rag/search", params=parameters).json()
    assert by_get["results"] == by_post["results"]


def test_a_search_within_items_finds_just_these(
    server: ServerProcess, filed: dict[str, int]
) -> None:
    wanted = [filed["kitchen"], filed["tokens"], 10**9]
    found = server.search("error handling", knowledge_ids=wanted, n_results=100)
    assert {result["knowledge_id"] for result in found} == {filed["kitchen"], filed["tokens"]}


@pytest.mark.parametrize("address", ["", "file://"])
def test_a_missing_file_is_an_answer_and_not_an_error(server: ServerProcess, address: str) -> None:
    path = Path(server.environment["SOURCE_ROOTS"]) / "nonexistent" / "path" / "file.md"
    knowledge_id = server.create(f"{address}{path}")
    result = server.index(knowledge_id)
    expected = {
        "success": False,
        "knowledge_id": knowledge_id,
        "chunks_indexed": 0,
        "content_hash": "",
        "error": f"File not found: {path}",
    }
    assert {name: result[name] for name in expected} == expected
    assert server.item(knowledge_id)["status"] == "error"


def test_the_specified_missing_file_is_named(own_server: Any) -> None:
    server = own_server(SOURCE_ROOTS="/").start()
    result = server.index(server.create("file:///nonexistent/path/file.md"))
    assert result["success"] is False
    assert result["error"] == "File not found: /nonexistent/path/file.md"


def test_an_unknown_item_cannot_be_indexed(server: ServerProcess) -> None:
    for response in (
        server.http.post("/api/v1/rag/index/987654321"),
        server.http.delete("/api/v1/rag/index/987654321"),
    ):
        assert response.status_code == 404
        assert response.headers["content-type"] == "application/problem+json"
        assert "987654321" in response.json()["detail"]


def test_an_index_without_waiting_is_a_job_at_its_location(
    server: ServerProcess, sample_markdown_file: Path
) -> None:
    knowledge_id = server.create(sample_markdown_file)
    accepted = server.http.post(f"/api/rag/index/{knowledge_id}", params={"wait": "false"})
    assert accepted.status_code == 202
    assert accepted.headers["location"] == f"/api/v1/jobs/{accepted.json()['id']}"
    assert server.http.get(accepted.headers["location"]).status_code == 200
