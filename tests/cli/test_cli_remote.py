"""Servers that are not there, are something else, or take their time."""

import socket
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from app.command.indexing import Wishes, index_source
from app.command.remote import open_remote
from app.errors import AppError
from app.protocols import Progress
from tests.cli.conftest import Run


def ignore(_progress: Progress) -> None:
    pass


def interrupt(_progress: Progress) -> None:
    raise KeyboardInterrupt


def job(state: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": 3,
        "kind": "index",
        "arguments": {},
        "state": state,
        "attempts": 1,
        "progress": {},
        "result": None,
        "error": None,
        "created_at": "2026-01-01T00:00:00Z",
        "started_at": None,
        "finished_at": None,
        **fields,
    }


@pytest.fixture
def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_where_nobody_answers_the_command_says_what_to_do(run_local: Run, free_port: int) -> None:
    result = run_local("list", "--url", f"127.0.0.1:{free_port}")
    assert result.exit_code == 1
    assert f"No server answers at http://127.0.0.1:{free_port}. Start one" in result.stderr


@pytest.mark.parametrize(
    "url", ["http://[::", "http://", "ftp://example.com", "http://a b/", "http://a..b"]
)
def test_what_is_no_address_is_refused_with_a_sentence(run_local: Run, url: str) -> None:
    result = run_local("stats", "--url", url)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert not result.stderr.rstrip().endswith("..")


def test_a_password_in_the_address_is_not_shown(run_local: Run, free_port: int) -> None:
    for url in (f"http://me:secret@127.0.0.1:{free_port}", "http://me:secret@[::"):
        result = run_local("list", "--url", url)
        assert result.exit_code == 1
        assert "http://" in result.stderr
        assert "secret" not in result.stderr


def test_a_server_without_https_is_not_said_to_be_away(run_local: Run, server_url: str) -> None:
    result = run_local("list", "--url", server_url.replace("http:", "https:"))
    assert result.exit_code == 1
    assert "does not speak https" in result.stderr


def test_a_server_that_leads_elsewhere_says_where(run_local: Run, httpserver: HTTPServer) -> None:
    moved = {"Location": "https://kb.example.com/api/v1/rag/stats"}
    httpserver.expect_request("/api/v1/rag/stats").respond_with_data(status=301, headers=moved)
    result = run_local("stats", "--url", httpserver.url_for(""))
    assert result.exit_code == 1
    assert "answered 301: MOVED PERMANENTLY. It leads to https://kb.example.com/" in result.stderr


@pytest.mark.parametrize("body", ["<html>", "[]", "{}"])
def test_a_stranger_is_told_from_groundwork(
    run_local: Run, httpserver: HTTPServer, body: str
) -> None:
    httpserver.expect_request("/api/v1/rag/stats").respond_with_data(body)
    result = run_local("stats", "--url", httpserver.url_for(""))
    assert result.exit_code == 1
    assert "is no Groundwork server" in result.stderr


def test_an_error_without_a_problem_body_shows_its_status(
    run_local: Run, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/api/v1/rag/stats").respond_with_data("oops", status=502)
    result = run_local("stats", "--url", httpserver.url_for(""))
    assert result.exit_code == 1
    assert "answered 502" in result.stderr


def test_an_interrupted_index_cancels_the_job(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request("/api/v1/rag/index/1").respond_with_json(job("queued"))
    httpserver.expect_ordered_request("/api/v1/jobs/3").respond_with_json(job("running"))
    httpserver.expect_ordered_request("/api/v1/jobs/3/cancel", "POST").respond_with_json(
        job("running")
    )
    with open_remote(httpserver.url_for("")) as backend, pytest.raises(KeyboardInterrupt):
        backend.index(1, force=False, progress=interrupt)
    httpserver.check()
    assert len(httpserver.log) == 3


def test_a_job_that_fails_is_a_failure_with_its_words(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v1/rag/index/1").respond_with_json(
        job("failed", error="File not found: /x")
    )
    with open_remote(httpserver.url_for("")) as backend:
        result = backend.index(1, force=False, progress=ignore)
    assert not result.success
    assert result.error == "File not found: /x"


def test_a_job_that_the_server_tries_again_later_is_a_failure_that_says_so(
    httpserver: HTTPServer,
) -> None:
    httpserver.expect_ordered_request("/api/v1/rag/index/1").respond_with_json(job("queued"))
    httpserver.expect_ordered_request("/api/v1/jobs/3").respond_with_json(
        job("queued", error="No answer.", retries=1, not_before="2026-01-01T00:00:10Z")
    )
    with open_remote(httpserver.url_for("")) as backend:
        result = backend.index(1, force=False, progress=ignore)
    assert not result.success
    assert result.error == "No answer. The server tries again by itself (job 3)."
    assert "reason" not in result.model_dump()
    assert result.given_up().error == "No answer."


def test_a_job_that_failed_before_is_waited_for_until_it_fails_once_more(
    httpserver: HTTPServer,
) -> None:
    asked_again = job("queued", error="No answer.", retries=1)
    failed_again = {"error": "Still no answer.", "retries": 2, "not_before": "2026-01-01T00:01:00Z"}
    httpserver.expect_ordered_request("/api/v1/rag/index/1").respond_with_json(asked_again)
    for state, fields in (("running", asked_again), ("queued", failed_again)):
        answer = job(**{**asked_again, **fields, "state": state})
        httpserver.expect_ordered_request("/api/v1/jobs/3").respond_with_json(answer)
    with open_remote(httpserver.url_for("")) as backend:
        result = backend.index(1, force=False, progress=ignore)
    assert result.error == "Still no answer. The server tries again by itself (job 3)."


def test_a_source_that_is_taken_out_again_is_not_promised_another_try(
    httpserver: HTTPServer,
) -> None:
    moment = "2026-01-01T00:00:00Z"
    item = {
        "id": 1,
        "title": "x",
        "uri": "https://x.invalid/",
        "document_type": "website",
        "tags": [],
        "collection": "c",
        "status": "error",
        "chunk_count": 0,
        "created_at": moment,
        "updated_at": moment,
        **dict.fromkeys(("category", "licence", "importance", "content_hash", "error")),
        **dict.fromkeys(("last_fetched_at", "indexed_at", "refresh_interval")),
    }
    postponed = job("queued", error="No answer.", retries=1, not_before=moment)
    httpserver.expect_request("/api/v1/knowledge", "GET").respond_with_json(
        {"items": [], "next_cursor": None, "total": 0}
    )
    httpserver.expect_request("/api/v1/knowledge", "POST").respond_with_json(item)
    httpserver.expect_request("/api/v1/rag/index/1").respond_with_json(job("queued"))
    httpserver.expect_request("/api/v1/jobs/3").respond_with_json(postponed)
    httpserver.expect_request("/api/v1/knowledge/1", "GET").respond_with_json(item)
    httpserver.expect_request("/api/v1/knowledge/1", "DELETE").respond_with_data(status=204)
    with open_remote(httpserver.url_for("")) as backend:
        indexed = index_source(backend, item["uri"], Wishes(), force=False, progress=ignore)
    assert not indexed.kept
    assert indexed.result.error == "No answer."


def test_a_failure_tells_what_was_skipped(httpserver: HTTPServer) -> None:
    note = {"uri": "/x/a.png", "reason": "no text"}
    zeros = dict.fromkeys(
        ("chunks_indexed", "documents", "chunks_added", "chunks_removed", "chunks_unchanged"), 0
    )
    answer = {"success": False, "knowledge_id": 1, "content_hash": "", "error": "No content."}
    answer |= zeros | {"chunks_embedded": 0, "skipped": [note], "warnings": [], "duration_ms": 1}
    httpserver.expect_request("/api/v1/rag/index/1").respond_with_json(
        job("failed", error="No content.", result=answer)
    )
    with open_remote(httpserver.url_for("")) as backend:
        result = backend.index(1, force=False, progress=ignore)
    assert [place.reason for place in result.skipped] == ["no text"]


def test_progress_is_handed_on(httpserver: HTTPServer) -> None:
    running = job("running", progress={"documents_found": 9, "documents_done": 4})
    httpserver.expect_ordered_request("/api/v1/rag/index/1").respond_with_json(job("queued"))
    httpserver.expect_ordered_request("/api/v1/jobs/3").respond_with_json(running)
    httpserver.expect_ordered_request("/api/v1/jobs/3").respond_with_json(job("cancelled"))
    seen: list[Progress] = []
    with open_remote(httpserver.url_for("")) as backend:
        result = backend.index(1, force=False, progress=seen.append)
    assert seen[0] == Progress(documents_found=9, documents_done=4)
    assert result.error == "The job was cancelled."


def test_no_proxy_of_the_environment_is_used(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, free_port: int
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port}")
    httpserver.expect_request("/api/v1/rag/stats").respond_with_json({"detail": "mine"}, 404)
    with open_remote(httpserver.url_for("")) as backend, pytest.raises(AppError, match="mine"):
        backend.stats()
