"""RAGService as a library: the calls of the specification."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi.testclient import TestClient

from app.container import Container
from app.errors import InvalidRequestError, StartupError, StoppingError
from app.rag import service
from app.rag.service import RAGService, get_rag_service, set_rag_service
from app.search.profiles import RankingWishes
from app.search.requests import ContextRequest, SearchRequest
from app.settings import Settings

JSON = "application/json"


async def main_job(rag: RAGService, uri: str) -> None:
    indexed = await rag.index_knowledge(
        knowledge_id=123,
        title="OAuth Guide",
        uri=uri,
        document_type="markdown",
        category="security",
        tags="auth,oauth,security",
    )
    assert indexed.success
    assert indexed.knowledge_id == 123
    results = await rag.search(
        query="How to implement OAuth?", n_results=5, category="security", knowledge_ids=[1, 123]
    )
    assert [(result.knowledge_id, result.title) for result in results] == [(123, "OAuth Guide")]
    assert results[0].tags == ("auth", "oauth", "security")
    assert await rag.search("OAuth", tags=["other"]) == []
    stats = rag.get_collection_stats()
    assert (stats.total_chunks, stats.unique_knowledge_items) == (1, 1)
    again = await rag.index_knowledge(123, "New title", uri, "markdown")
    assert (again.chunks_added, again.chunks_unchanged) == (0, 1)
    assert (await rag.search("OAuth"))[0].title == "New title"
    assert await rag.remove_knowledge(knowledge_id=123)
    assert not await rag.remove_knowledge(knowledge_id=123)
    missing = await rag.index_knowledge(124, "None", uri + ".gone", "markdown")
    assert missing.error == f"File not found: {uri}.gone"
    assert rag.verify().clean


def test_the_main_job_runs_through_rag_service(container: Container, source_root):
    path = source_root / "oauth.md"
    path.write_text("# OAuth\n\nHow to implement OAuth with a code flow.")
    anyio.run(main_job, container.rag, str(path))


def test_a_program_inside_the_server_gets_the_servers_instance(container: Container):
    set_rag_service(container.rag)
    try:
        assert get_rag_service() is container.rag
    finally:
        set_rag_service(None)


def test_an_instance_that_was_closed_is_followed_by_another(
    open_container: Callable[[], Container], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_DIR", str(settings.data_dir))
    set_rag_service(RAGService(engine=open_container()))
    try:
        get_rag_service().close()
        open_container()
        # Where another holds the data, it is seen to be opened by being refused.
        with pytest.raises(StartupError, match="in use by process"):
            get_rag_service()
    finally:
        set_rag_service(None)


def test_the_last_that_was_opened_for_want_of_another_is_closed_at_the_end_of_the_process(
    monkeypatch: pytest.MonkeyPatch, container: Container
) -> None:
    opened = RAGService(engine=container)
    at_the_end: list[Callable[[], None]] = []
    monkeypatch.setattr(service, "RAGService", lambda: opened)
    monkeypatch.setattr(service.atexit, "register", at_the_end.append)
    monkeypatch.setattr(service.atexit, "unregister", lambda _: at_the_end.clear())
    set_rag_service(None)
    try:
        assert get_rag_service() is opened
        set_rag_service(container.rag)  # as a server does that starts meanwhile
        (close,) = at_the_end
        close()
        with pytest.raises(StoppingError):
            opened.get_collection_stats()
    finally:
        set_rag_service(None)


def test_a_data_directory_in_use_is_refused_by_name(container: Container, settings):
    with pytest.raises(StartupError, match="in use by process"):
        Container.open(settings)


def test_a_closed_library_does_nothing_to_data_that_may_be_anothers(
    open_container: Callable[[], Container],
) -> None:
    rag = RAGService(engine=open_container())
    rag.close()
    rag.close()
    with pytest.raises(StoppingError, match="closed"):
        anyio.run(rag.index_knowledge, 7, "Guide", "/srv/guide.md", "markdown")
    with pytest.raises(StoppingError, match="closed"):
        anyio.run(rag.submit_index_all)
    with pytest.raises(StoppingError, match="closed"):
        rag.rank_collection("knowledge_base", RankingWishes(diversity=0.5))
    with pytest.raises(StoppingError, match="closed"):
        anyio.run(rag.search, "harbour")
    another = open_container()
    assert another.rag.get_collection_stats().total_items == 0
    assert another.jobs.list(None, None, 10) == []
    assert another.rag.collection("knowledge_base").ranking == RankingWishes()


NO_REQUESTS: list[dict[str, Any]] = [
    {"query": " "},
    {"query": 5},
    {"query": "x" * 8001},
    {"query": "half \ud800"},
    {"n_results": 0},
    {"n_results": 101},
    {"n_results": True},
    {"category": ""},
    {"category": " / "},
    {"category": "a\x00"},
    {"category": "x" * 501},
    {"tags": ""},
    {"tags": ["a", " "]},
    {"tags": ["x"] * 101},
    {"tags": [5]},
    {"tags": 5},
    {"tags": 0},
    {"knowledge_ids": 5},
    {"knowledge_ids": "5"},
    {"knowledge_ids": [0]},
    {"knowledge_ids": [2**53]},
    {"knowledge_ids": ["1"]},
    {"tags_match": "some"},
    {"collection": ""},
    {"collection": "a\x00"},
    {"min_score": 1.5},
    {"min_score": float("nan")},
    {"mode": "semantic"},
]


@pytest.mark.parametrize("wanted", NO_REQUESTS, ids=lambda wanted: repr(wanted)[:60])
def test_what_http_refuses_a_library_refuses_too(
    container: Container, client: TestClient, wanted: dict[str, Any]
) -> None:
    (name,) = wanted
    with pytest.raises(InvalidRequestError) as refused:
        anyio.run(partial(container.rag.search, **{"query": "x", **wanted}))
    assert refused.value.pointer == f"#/{name}"
    body = json.dumps({"query": "x"} | wanted)
    answer = client.post("/api/v1/rag/search", content=body, headers={"content-type": JSON})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"].startswith(f"#/{name}")


NO_ITEMS: list[dict[str, Any]] = [
    {"title": ""},
    {"title": None},
    {"title": "half \ud800"},
    {"uri": None},
    {"uri": "/srv/\x00"},
    {"uri": "ftp://example.com/a"},
    {"document_type": "pdf"},
    {"document_type": "Markdown"},
    {"category": 5},
    {"category": "a\x00"},
    {"tags": [5]},
    {"tags": ["x" * 201]},
]


@pytest.mark.parametrize("wanted", NO_ITEMS, ids=lambda wanted: repr(wanted)[:60])
def test_an_item_that_http_refuses_a_library_refuses_too_and_the_list_stays_readable(
    container: Container, client: TestClient, wanted: dict[str, Any]
) -> None:
    (name,) = wanted
    item = {"title": "Guide", "uri": "/srv/guide.md", "document_type": "markdown", **wanted}
    with pytest.raises(InvalidRequestError) as refused:
        anyio.run(partial(container.rag.index_knowledge, 7, **item))
    assert refused.value.pointer.startswith(f"#/{name}")
    assert refused.value.detail.startswith(f"{name}: ")
    body = json.dumps(item)
    answer = client.post("/api/v1/knowledge", content=body, headers={"content-type": JSON})
    assert answer.status_code == 422, answer.text
    assert client.get("/api/v1/knowledge").json()["total"] == 0


def test_a_folder_on_the_web_is_refused_in_a_sentence(container: Container) -> None:
    with pytest.raises(InvalidRequestError, match=r"^A folder's uri is a path"):
        anyio.run(container.rag.index_knowledge, 7, "Guide", "http://example.com", "folder")


NO_NUMBERS = [0, 2**53, True, "2", 1.0]


@pytest.mark.parametrize("number", NO_NUMBERS, ids=repr)
def test_what_is_no_number_of_an_item_is_refused_before_anything_is_stored(
    container: Container, client: TestClient, number: Any
) -> None:
    with pytest.raises(InvalidRequestError, match="An item's id is a number"):
        anyio.run(container.rag.index_knowledge, number, "Guide", "/srv/guide.md", "markdown")
    assert client.get("/api/v1/knowledge").json()["total"] == 0


@pytest.mark.parametrize("number", [*NO_NUMBERS, 2**70, [1]], ids=repr)
def test_an_item_is_worked_on_under_its_number_alone(
    container: Container, source_root: Path, number: Any
) -> None:
    path = source_root / "guide.md"
    path.write_text("# Harbour\n\nWho keeps the harbour light.")
    for number_of_item in (1, 2):
        anyio.run(container.rag.index_knowledge, number_of_item, "Guide", str(path), "markdown")
    calls = (container.rag.index_item, container.rag.submit_index, container.rag.remove_knowledge)
    for call in calls:
        with pytest.raises(InvalidRequestError, match="An item's id is a number"):
            anyio.run(call, number)
    assert container.rag.get_collection_stats().unique_knowledge_items == 2


@pytest.mark.parametrize("status", ["Active", "activ", "", 1, float("nan"), ["Active"]], ids=repr)
def test_a_status_that_no_item_can_have_is_refused_and_not_taken_for_no_items(
    container: Container, client: TestClient, status: Any
) -> None:
    for call in (container.rag.index_all, container.rag.submit_index_all):
        with pytest.raises(
            InvalidRequestError, match="pending, active, error, archived"
        ) as refused:
            anyio.run(call, status)
        assert refused.value.pointer == "#/status"
    assert client.post("/api/v1/rag/index-all", params={"status": status}).status_code == 422
    assert client.get("/api/v1/jobs").json()["items"] == []


@pytest.mark.parametrize(
    "wanted",
    [
        {"paths": (" ",)},
        {"paths": ("x",) * 51},
        {"paths": "*.md"},
        {"paths": ("*.{md,txt}",)},
        {"paths": ("./docs/*.md",)},
        {"languages": ("",)},
        {"document_types": ("scroll",)},
        {"chunk_types": ("verse",)},
        {"fusion": "sum"},
        {"licence_policy": "MIT"},
        {"group_by": "item"},
        {"dense_depth": 0},
        {"lexical_depth": 1001},
        {"context_chunks": -1},
        {"context_chunks": 6},
        {"max_tokens": 0},
        {"max_tokens": 32_001},
        {"indexed_after": datetime(2026, 1, 1)},
        {"indexed_after": "2026-01-01T00:00:00Z"},
        {"n_results": 10**400},
        {"min_score": 10**400},
        {"tags": 5},
        {"knowledge_ids": 0},
        {"knowledge_ids": b"\x01"},
        {"ranking": None},
    ],
    ids=repr,
)
def test_a_request_from_python_is_held_to_the_bounds_of_http(
    container: Container, wanted: dict[str, Any]
) -> None:
    request = SearchRequest("x", **wanted)
    for ask in (
        partial(container.rag.answer, request),
        partial(container.rag.context, ContextRequest(request)),
    ):
        with pytest.raises(InvalidRequestError):
            anyio.run(ask)


@pytest.mark.parametrize(
    "wanted",
    [
        {"category": " /Guides//Café/"},
        {"category": "Guides/Cafe\u0301"},
        {"tags": ("rust, café",)},
        {"tags": ("cafe\u0301",)},
    ],
    ids=repr,
)
def test_a_request_from_python_may_write_labels_as_one_over_http_may(
    container: Container, client: TestClient, source_root: Path, wanted: dict[str, Any]
) -> None:
    path = source_root / "guide.md"
    path.write_text("# Harbour\n\nWho keeps the harbour light.")
    labels = {"category": "Guides/Café", "tags": "café"}
    index = partial(container.rag.index_knowledge, 7, "Guide", str(path), "markdown", **labels)
    assert anyio.run(index).success
    over_http = client.post("/api/v1/rag/search", json={"query": "harbour light", **wanted})
    assert over_http.json()["total_results"] == 1
    request = SearchRequest("harbour light", **wanted)
    assert len(anyio.run(container.rag.answer, request).results) == 1
    assert len(anyio.run(container.rag.context, ContextRequest(request)).passages) == 1
    assert len(anyio.run(partial(container.rag.search, "harbour light", **wanted))) == 1


@pytest.mark.parametrize("kind", [list, set, dict.fromkeys], ids=lambda kind: kind.__name__)
def test_a_list_of_any_kind_will_do_where_the_library_has_a_tuple(
    container: Container, kind: Any
) -> None:
    request = SearchRequest("x", tags=kind(["a"]), paths=kind(["*.md"]), knowledge_ids=kind([1]))
    assert anyio.run(partial(container.rag.answer, request)).results == ()


@pytest.mark.parametrize(
    "wanted",
    [
        {"format": "xml"},
        {"max_tokens": 49},
        {"max_tokens": 32_001},
        {"max_tokens": "900"},
    ],
    ids=repr,
)
def test_a_context_that_http_refuses_a_library_refuses_too(
    container: Container, client: TestClient, wanted: dict[str, Any]
) -> None:
    ((name, _),) = wanted.items()
    with pytest.raises(InvalidRequestError) as refused:
        anyio.run(container.rag.context, ContextRequest(SearchRequest("x"), **wanted))
    assert refused.value.pointer == f"#/{name}"
    answer = client.post("/api/v1/rag/context", json={"query": "x", **wanted})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == f"#/{name}"


NO_RANKINGS: list[dict[str, Any]] = [
    {"profile": "semantic"},
    {"fused_weight": -0.1},
    {"recency_weight": 10.1},
    {"recency_half_life_days": 0},
    {"importance_weight": "1"},
    {"diversity": 2},
    {"feedback_weight": float("nan")},
    {"feedback_results": 0},
    {"feedback_results": 2.5},
    {"expand": "yes"},
    {"least_share": 1.5},
    {"tag_boosts": {"": 2}},
    {"category_boosts": {"a": 0}},
    {"language_boosts": {f"x{n}": 2 for n in range(51)}},
]


@pytest.mark.parametrize("wanted", NO_RANKINGS, ids=lambda wanted: repr(wanted)[:60])
def test_a_ranking_that_http_refuses_a_library_refuses_too(
    container: Container, client: TestClient, wanted: dict[str, Any]
) -> None:
    ((name, value),) = wanted.items()
    wishes = RankingWishes(**{name: tuple(value.items()) if isinstance(value, dict) else value})
    pointer = "#/profile" if name == "profile" else f"#/ranking/{name}"
    with pytest.raises(InvalidRequestError) as refused:
        anyio.run(container.rag.answer, SearchRequest("x", ranking=wishes))
    assert refused.value.pointer == pointer
    with pytest.raises(InvalidRequestError) as refused:
        container.rag.rank_collection("knowledge_base", wishes)
    assert refused.value.pointer == f"#/{name}"
    asked = {"query": "x"} | (wanted if name == "profile" else {"ranking": wanted})
    answer = client.post(
        "/api/v1/rag/search", content=json.dumps(asked), headers={"content-type": JSON}
    )
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)


@pytest.mark.parametrize("boosts", [{"rust": 2}, ["rust"], ["en"], [("rust",)], [5]], ids=repr)
def test_boosts_that_are_no_pairs_are_refused_with_what_they_should_be(
    container: Container, boosts: Any
) -> None:
    request = SearchRequest("x", ranking=RankingWishes(tag_boosts=boosts))
    with pytest.raises(InvalidRequestError, match="each with its factor") as refused:
        anyio.run(container.rag.answer, request)
    assert refused.value.pointer == "#/ranking/tag_boosts"
