"""`/rag` over HTTP, as the contract has it."""

import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.container import Container

RAG = "/api/v1/rag"


@pytest.fixture
def guide(source_root: Path) -> Path:
    path = source_root / "guide.md"
    path.write_text(
        "# Configuration\n\nThe database connection is configured in `settings.toml`.\n"
    )
    return path


@pytest.fixture
def add(client: TestClient):
    def create(path: object, document_type: str = "markdown", **fields: object) -> int:
        body = {"title": "Guide", "uri": str(path), "document_type": document_type, **fields}
        response = client.post("/api/v1/knowledge", json=body)
        assert response.status_code == 201, response.text
        return response.json()["id"]

    return create


def wait_for_jobs(container: Container) -> None:
    """Until no job is queued or running; the worker's own threads do the work."""
    deadline = time.monotonic() + 30
    while any(job.state in ("queued", "running") for job in container.jobs.list(None, None, 100)):
        assert time.monotonic() < deadline


def test_indexing_answers_with_counts_and_makes_the_item_active(client, add, guide):
    item = add(guide)
    response = client.post(f"{RAG}/index/{item}")
    body = response.json()
    assert response.status_code == 200
    assert body["success"] is True
    assert body["error"] is None
    assert (body["knowledge_id"], body["chunks_indexed"], body["documents"]) == (item, 1, 1)
    assert (body["chunks_added"], body["chunks_removed"], body["chunks_unchanged"]) == (1, 0, 0)
    stored = client.get(f"/api/v1/knowledge/{item}").json()
    assert (stored["status"], stored["chunk_count"]) == ("active", 1)
    assert stored["content_hash"] == body["content_hash"]


def test_a_source_that_cannot_be_read_answers_200_and_says_why(client, add, source_root):
    path = source_root / "missing.md"
    response = client.post(f"{RAG}/index/{add(path)}")
    body = response.json()
    assert response.status_code == 200
    assert (body["success"], body["chunks_indexed"], body["content_hash"]) == (False, 0, "")
    assert body["error"] == f"File not found: {path}"


def test_the_documented_error_of_a_missing_path_holds(client, add):
    response = client.post(f"{RAG}/index/{add('/nonexistent/path/file.md')}")
    assert response.json()["error"].startswith("File not found: /nonexistent/path/file.md")


@pytest.mark.parametrize("method", ["post", "delete"])
def test_an_unknown_item_is_404(client, method):
    response = client.request(method, f"{RAG}/index/4711")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert "4711" in response.json()["detail"]


def test_wait_false_promises_a_job_that_ends_like_the_call_would_have(
    client, add, guide, container
):
    response = client.post(f"{RAG}/index/{add(guide)}?wait=false")
    assert response.status_code == 202
    location = response.headers["location"]
    assert location == f"/api/v1/jobs/{response.json()['id']}"
    wait_for_jobs(container)
    job = client.get(location).json()
    assert (job["state"], job["error"]) == ("succeeded", None)
    assert job["result"]["chunks_indexed"] == 1
    assert client.post(f"{RAG}/index/99?wait=false").status_code == 404


def test_a_job_whose_source_cannot_be_read_fails_with_the_reason(
    client, add, source_root, container
):
    location = client.post(f"{RAG}/index/{add(source_root / 'no.md')}?wait=false").headers[
        "location"
    ]
    wait_for_jobs(container)
    job = client.get(location).json()
    assert job["state"] == "failed"
    assert job["error"].startswith("File not found: ")


def test_index_all_sums_up_and_one_failure_does_not_stop_the_others(
    client, add, guide, source_root
):
    good, bad, archived = add(guide), add(source_root / "no.md"), add(guide, status="archived")
    body = client.post(f"{RAG}/index-all").json()
    assert (body["success"], body["total"], body["succeeded"], body["failed"]) == (False, 2, 1, 1)
    assert [result["knowledge_id"] for result in body["results"]] == [good, bad]
    assert archived not in {result["knowledge_id"] for result in body["results"]}
    active = client.post(f"{RAG}/index-all?status=active").json()
    assert [result["knowledge_id"] for result in active["results"]] == [good]
    assert client.post(f"{RAG}/index-all?status=nonsense").status_code == 422


def test_removing_keeps_the_item_and_says_whether_there_was_anything(client, add, guide):
    item = add(guide)
    client.post(f"{RAG}/index/{item}")
    assert client.delete(f"{RAG}/index/{item}").json() == {
        "success": True, "knowledge_id": item, "removed": True,
    }  # fmt: skip
    assert client.delete(f"{RAG}/index/{item}").json()["removed"] is False
    assert client.get(f"/api/v1/knowledge/{item}").json()["status"] == "pending"
    assert client.get(f"{RAG}/search?q=database").json()["total_results"] == 0


def test_a_result_says_where_it_stands(client, add, guide):
    item = add(guide, category="Docs/Setup", tags="one, two", licence="MIT")
    client.post(f"{RAG}/index/{item}")
    body = client.post(f"{RAG}/search", json={"query": "database connection"}).json()
    (hit,) = body["results"]
    assert body["query"] == "database connection"
    assert body["total_results"] == 1
    assert body["degraded"] == []
    assert "settings.toml" in hit["content"]
    assert (hit["knowledge_id"], hit["title"], hit["uri"]) == (item, "Guide", str(guide))
    assert (hit["category"], hit["tags"], hit["licence"]) == ("Docs/Setup", ["one", "two"], "MIT")
    assert (hit["start_line"], hit["end_line"], hit["citation"]) == (1, 3, "guide.md#L1-L3")
    assert hit["heading_path"] == ["Configuration"]
    assert 0 <= hit["score"] <= 1


def test_get_and_post_search_answer_the_same(client, add, guide):
    item = add(guide, category="Docs", tags=["a", "b"])
    client.post(f"{RAG}/index/{item}")
    wanted = {"category": "Docs", "tags": ["a", "b"], "tags_match": "all", "min_score": 0.1}
    posted = client.post(
        f"{RAG}/search",
        json={"query": "database", "n_results": 3, "knowledge_ids": [item], **wanted},
    ).json()
    got = client.get(
        f"{RAG}/search", params={"q": "database", "n": 3, "knowledge_ids": [item], **wanted}
    ).json()
    assert posted["results"] == got["results"] != []


@pytest.mark.parametrize(
    "ids", ["{0},{1}", "{0}&knowledge_ids={1}", "{1},{0}&knowledge_ids={0}"], ids=str
)
def test_ids_are_repeated_or_parted_by_commas(client, add, guide, ids):
    items = [add(guide) for _ in range(3)]
    for item in items:
        client.post(f"{RAG}/index/{item}")
    answer = client.get(f"{RAG}/search?q=database&knowledge_ids={ids.format(*items)}").json()
    assert {result["knowledge_id"] for result in answer["results"]} == set(items[:2])


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("category=/", "#/category"),
        ("category=", "#/category"),
        ("category=%20/%20", "#/category"),
        ("tags=,", "#/tags/0"),
        ("tags=a&tags=", "#/tags/1"),
        ("knowledge_ids=", "#/knowledge_ids/0"),
        ("knowledge_ids=1,,2", "#/knowledge_ids/1"),
        ("knowledge_ids=1.5", "#/knowledge_ids/0"),
        ("knowledge_ids=" + ",".join(["1"] * 1001), "#/knowledge_ids"),
        ("tag=a", "#/tag"),
    ],
)
def test_a_filter_that_means_nothing_is_not_taken_for_everything(client, query, pointer):
    response = client.get(f"{RAG}/search?q=x&{query}")
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("field", "written", "otherwise"),
    [
        ("category", "Manuals", "manuals"),
        ("tags", ["Harbour"], ["harbour"]),
        ("paths", ["*.md"], ["*.MD"]),
        ("languages", ["en"], ["EN"]),
    ],
)
def test_a_filter_heeds_case_where_the_description_says_so(
    client, source_root, add, description, field, written, otherwise
):
    (source_root / "case.md").write_text("---\nlanguage: en\n---\nThe pilot boards the ship.\n")
    item = add(source_root / "case.md", category="Manuals/Port", tags=["Harbour"])
    client.post(f"{RAG}/index/{item}")
    said = description["components"]["schemas"]["SearchBody"]["properties"][field]["description"]

    def found(value: object) -> int:
        answer = client.post(f"{RAG}/search", json={"query": "pilot", field: value})
        return answer.json()["total_results"]

    assert found(written) == 1
    assert found(otherwise) == (0 if "Case matters." in said else 1)


def test_a_file_that_is_not_below_the_working_directory_is_looked_for_where_the_error_says(
    client, add
):
    item = add("no/such/guide.md")
    error = client.post(f"{RAG}/index/{item}").json()["error"]
    assert error.startswith("File not found: no/such/guide.md")
    assert f"starts at the working directory of the service, {Path.cwd()}" in error
    assert client.get(f"/api/v1/knowledge/{item}").json()["error"] == error


@pytest.mark.parametrize(
    "body",
    [
        {"query": "x", "category": "/"},
        {"query": "x", "category": ""},
        {"query": "x", "tags": ","},
        {"query": "x", "tags": ["a", " "]},
        {},
        {"query": ""},
        {"query": "  \n"},
        {"query": "x" * 8001},
        {"query": "x", "n_results": 0},
        {"query": "x", "n_results": 101},
        {"query": "x", "n_results": "many"},
        {"query": "x", "min_score": 1.5},
        {"query": "x", "knowledge_ids": [0]},
        {"query": "x", "knowledge_ids": [2**70]},
        {"query": "x", "tags_match": "some"},
        {"query": "x", "categry": "typo"},
        {"query": 7},
    ],
)
def test_a_search_that_makes_no_sense_is_422_with_a_pointer(client, body):
    response = client.post(f"{RAG}/search", json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"].startswith("#/")


def test_a_query_that_is_too_long_is_told_in_characters(client):
    for refused in (
        client.post(f"{RAG}/search", json={"query": "x" * 8001}),
        client.get(f"{RAG}/search", params={"q": "x" * 8001}),
    ):
        assert refused.status_code == 422
        assert "at most 8000 characters" in refused.json()["detail"]


@pytest.mark.parametrize(
    "query",
    ["\0", "a\0b", "'; DROP TABLE chunks; --", "🦊" * 4000, "\u202eright to left", "%s %n", '"'],
)
def test_any_text_is_a_query(client, add, guide, query):
    client.post(f"{RAG}/index/{add(guide)}")
    response = client.post(f"{RAG}/search", json={"query": query})
    assert response.status_code == 200
    assert response.json()["query"] == query


def test_stats_count_what_is_stored(client, add, guide):
    client.post(f"{RAG}/index/{add(guide)}")
    stats = client.get(f"{RAG}/stats").json()
    assert stats["total_chunks"] == stats["vector_index_records"] == 1
    assert (stats["unique_knowledge_items"], stats["total_documents"]) == (1, 1)
    assert stats["collection_name"] == "knowledge_base"
    assert stats["embedding_model"] == "fake"
    assert stats["pending_index_changes"] == 0
