"""`/rag/search` over HTTP: every field does what it says or is refused with its place."""

import json
import random
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, get_args

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.container import Container
from app.knowledge.items import TagsMatch
from app.main import create_app
from app.models import DocumentRow
from app.protocols import CHUNK_TYPES
from app.rag import search_schemas
from app.rag.context_schemas import ContextBody, ContextFormat
from app.rag.ranking_schemas import RankingProfile
from app.search import requests
from app.search.context_formats import FORMATS
from app.search.joining import GROUPINGS
from app.search.profiles import PROFILE_NAMES, PROFILES
from app.search.ranking import METHODS
from app.settings import Settings
from benchmarks.query_fuzz import LONGEST_QUERY, MODES, ask, nasty_query
from tests.databases import Databases
from tests.fakes import FakeEmbedder
from tests.web.problem_checks import assert_problem

API = "/api/v1"
SEARCH = f"{API}/rag/search"
GUIDE = "# Keys\n\nRotate the keys of the harbour gate every week.\n\n" + "".join(
    f"Rule {n} says how the pilot boards a ship at the quay.\n\n" for n in range(12)
)
CODE = "```python\ndef rotate_keys(gate):\n    return gate\n```\n"


@pytest.fixture(scope="module")
def container(
    tmp_path_factory: pytest.TempPathFactory, databases: Databases
) -> Iterator[Container]:
    """One service for all of these tests, which only read: starting one takes 0.3 s."""
    folder = tmp_path_factory.mktemp("search-api")
    container = Container.open(
        Settings(
            _env_file=None,
            data_dir=folder,
            database_url=databases.for_service(folder),
            source_roots=[folder],
            vector_index="exact",
            chunk_size=200,
            overlap=40,
            disable_auto_indexing=True,  # else it might read again what `library` has changed
        ),
        embedder=FakeEmbedder(),
    )
    yield container
    container.close()


@pytest.fixture(scope="module")
def library(container: Container) -> Iterator[TestClient]:
    """A folder with four documents, indexed. A 500 is an answer here, and fails the test."""
    root = container.settings.data_dir / "sources"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "guide.md").write_text(f"---\nlicence: GPL-3.0-only\n---\n{GUIDE}")
    (root / "docs" / "hafen.md").write_text("the keys, in German\n")
    (root / "gate.md").write_text(CODE)
    (root / "odd.md").write_text('---\nlicence: "()"\n---\nrotate the keys, oddly\n')
    body = {"title": "Docs", "uri": str(root), "document_type": "folder", "licence": "MIT"}
    app = create_app(container=container)
    with TestClient(app, raise_server_exceptions=False) as client:
        item = client.post(f"{API}/knowledge", json=body).json()["id"]
        indexed = client.post(f"{API}/rag/index/{item}").json()
        assert indexed["documents"] == 4, indexed
        with container.database.write() as session:  # in files, only web pages name theirs
            hafen = select(DocumentRow).where(DocumentRow.key == "docs/hafen.md")
            session.scalars(hafen).one().language = "de"
        yield client


def answer(client: TestClient, **body: Any) -> dict[str, Any]:
    response = client.post(SEARCH, json={"query": "rotate the keys", "n_results": 50} | body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def documents(found: dict[str, Any]) -> set[str]:
    return {result["document"] for result in found["results"]}


OPEN = {"docs/hafen.md", "gate.md"}
"""These alone are known to be under a permissive licence: their item's."""
ALL = {"docs/guide.md", "odd.md", *OPEN}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ALL),
        ({"mode": "dense", "dense_depth": 1000}, ALL),
        ({"mode": "lexical", "lexical_depth": 1}, ALL),
        ({"mode": "hybrid", "fusion": "rrf"}, ALL),
        ({"fusion": "convex"}, ALL),
        ({"paths": ["/g*", "docs/h*"]}, {"gate.md", "docs/hafen.md"}),
        ({"paths": ["docs/**"]}, {"docs/guide.md", "docs/hafen.md"}),
        ({"languages": ["DE", "fr"]}, {"docs/hafen.md"}),
        ({"licence_policy": "permissive"}, OPEN),
        ({"licence_policy": "any"}, ALL),
        ({"document_types": ["folder", "markdown"]}, ALL),
        ({"document_types": ["website"]}, set()),
        ({"indexed_after": "2001-01-01T00:00:00Z"}, ALL),
        ({"indexed_before": "2001-01-01T00:00:00+02:00"}, set()),
        ({"indexed_after": "9999-12-31T23:59:59-14:00"}, set()),
        ({"indexed_before": "0001-01-01T00:00:00+14:00"}, set()),
        ({"min_score": 1}, set()),
        ({"query": '"pilot boards"'}, {"docs/guide.md"}),
        ({"query": "keys -German -def -oddly"}, {"docs/guide.md"}),
        ({"knowledge_ids": []}, set()),
        ({"tags": []}, ALL),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_each_field_of_the_body_leaves_what_it_says(library, wanted, expected):
    assert documents(answer(library, **wanted)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("mode=lexical", ALL),
        ("path=docs/**", {"docs/guide.md", "docs/hafen.md"}),
        ("path=gate*", {"gate.md"}),
        ("language=DE", {"docs/hafen.md"}),
        ("licence_policy=permissive", OPEN),
        ("path=docs/*&language=fr&licence_policy=permissive&mode=dense", set()),
    ],
)
def test_each_parameter_of_the_address_does_what_the_body_does(library, query, expected):
    response = library.get(f"{SEARCH}?q=rotate+the+keys&n=50&{query}")
    assert response.status_code == 200, response.text
    assert documents(response.json()) == expected


@pytest.mark.parametrize(
    ("wanted", "pointer"),
    [
        ({"explain": 0}, "#/explain"),
        ({"indexed_before": 0}, "#/indexed_before"),
        ({"indexed_after": "1700000000"}, "#/indexed_after"),
        ({"highlight": "yes"}, "#/highlight"),
        ({"mode": "semantic"}, "#/mode"),
        ({"mode": None}, "#/mode"),
        ({"fusion": "sum"}, "#/fusion"),
        ({"dense_depth": 0}, "#/dense_depth"),
        ({"dense_depth": 1001}, "#/dense_depth"),
        ({"lexical_depth": "9"}, "#/lexical_depth"),
        ({"lexical_depth": True}, "#/lexical_depth"),
        ({"paths": []}, "#/paths"),
        ({"paths": [" "]}, "#/paths/0"),
        ({"tags": ""}, "#/tags/0"),
        ({"tags": ["a", " "]}, "#/tags/1"),
        ({"category": " / "}, "#/category"),
        ({"collection": ""}, "#/collection"),
        ({"collection": " "}, "#/collection"),
        ({"languages": ["en", " "]}, "#/languages/1"),
        ({"chunk_types": []}, "#/chunk_types"),
        ({"paths": [""]}, "#/paths/0"),
        ({"paths": "*.md"}, "#/paths"),
        ({"paths": ["x"] * 51}, "#/paths"),
        ({"paths": ["x", "y" * 501]}, "#/paths/1"),
        ({"paths": ["a\0"]}, "#/paths/0"),
        ({"paths": ["docs/**", "*.{md,txt}"]}, "#/paths/1"),
        ({"paths": ["{a,b}/*"]}, "#/paths/0"),
        ({"paths": ["./docs/*.md"]}, "#/paths/0"),
        ({"paths": ["\ud800"]}, "#/paths/0"),
        ({"languages": []}, "#/languages"),
        ({"languages": ["\udfff"]}, "#/languages/0"),
        ({"licence_policy": "MIT"}, "#/licence_policy"),
        ({"document_types": ["scroll"]}, "#/document_types/0"),
        ({"document_types": []}, "#/document_types"),
        ({"indexed_after": "2024-01-01T00:00:00"}, "#/indexed_after"),
        ({"indexed_before": "yesterday"}, "#/indexed_before"),
        ({"min_score": -0.1}, "#/min_score"),
        ({"min_score": float("nan")}, "#/min_score"),
        ({"min_score": float("inf")}, "#/min_score"),
        ({"max_tokens": 0}, "#/max_tokens"),
        ({"max_tokens": 32_001}, "#/max_tokens"),
        ({"max_tokens": "900"}, "#/max_tokens"),
        ({"context_chunks": 6}, "#/context_chunks"),
        ({"context_chunks": -1}, "#/context_chunks"),
        ({"group_by": "item"}, "#/group_by"),
        ({"highlight": "perhaps"}, "#/highlight"),
        ({"explain": 7}, "#/explain"),
        ({"n_results": 5.5}, "#/n_results"),
        ({"query": "half \ud800"}, "#/query"),
        ({"query": None}, "#/query"),
        ({"collection": "\ud800"}, "#/collection"),
        ({"tags": ["\ud800"]}, "#/tags/0"),
        ({"category": "\ud800"}, "#/category"),
        ({"path": "*.md"}, "#/path"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_field_that_makes_no_sense_is_refused_with_its_place(library, wanted, pointer):
    content = json.dumps({"query": "x"} | wanted)
    headers = {"Content-Type": "application/json"}
    response = library.post(SEARCH, content=content, headers=headers)
    assert_problem(response, 422, "invalid-request", pointer)


@pytest.mark.parametrize(
    ("over_http", "from_python"),
    [
        (search_schemas.SearchMode, get_args(requests.Mode)),
        (search_schemas.FusionMethod, get_args(requests.FusionMethod)),
        (search_schemas.FusionMethod, tuple(METHODS)),
        (search_schemas.LicencePolicy, get_args(requests.LicencePolicy)),
        (search_schemas.GroupBy, get_args(requests.GroupBy)),
        (search_schemas.GroupBy, tuple(GROUPINGS)),
        (search_schemas.ChunkType, CHUNK_TYPES),
        (search_schemas.TagsMatch, get_args(TagsMatch)),
        (RankingProfile, PROFILE_NAMES),
        (RankingProfile, tuple(PROFILES)),
        (ContextFormat, get_args(requests.ContextFormatName)),
        (ContextFormat, tuple(FORMATS)),
    ],
)
def test_what_a_field_may_name_is_the_same_over_http_and_from_python(
    over_http: type[StrEnum], from_python: tuple[str, ...]
) -> None:
    assert {each.value for each in over_http} == set(from_python)


def test_every_field_of_the_body_reaches_the_service() -> None:
    given = {
        "query": "y", "n_results": 7, "mode": "dense", "fusion": "rrf", "dense_depth": 7,
        "lexical_depth": 7, "category": "a", "tags": ["a"], "tags_match": "all",
        "knowledge_ids": [], "collection": "a", "document_types": ["website"],
        "chunk_types": ["code"], "paths": ["a"], "languages": ["en"],
        "licence_policy": "permissive", "indexed_after": "2026-11-22T12:00:00Z",
        "indexed_before": "2026-11-22T12:00:00Z", "min_score": 0.5, "profile": "code",
        "ranking": {"expand": True}, "context_chunks": 1, "group_by": "text", "highlight": False,
        "explain": True, "max_tokens": 70, "format": "tool",
    }  # fmt: skip
    assert given.keys() == ContextBody.model_fields.keys()
    usual = ContextBody(query="x").context_request()
    bodies = {
        name: ContextBody.model_validate({"query": "x", name: value})
        for name, value in given.items()
    }
    assert [name for name, body in bodies.items() if body.context_request() == usual] == []


@pytest.mark.parametrize(
    ("path", "wanted", "name", "known"),
    [
        ("rag/search", {"top_k": 3}, "top_k", "query, n_results, mode"),
        ("rag/context", {"top_k": 3}, "top_k", "max_tokens, format"),
        ("rag/search", {"ranking": {"recency": 1}}, "recency", "recency_weight"),
    ],
)
def test_a_field_that_there_is_not_is_refused_with_those_that_there_are(
    library, path, wanted, name, known
):
    response = library.post(f"{API}/{path}", json={"query": "x"} | wanted)
    assert_problem(response, 422, "invalid-request")
    assert f"There is no field {name!r}; there are: " in response.json()["detail"]
    assert known in response.json()["detail"]


def test_a_time_without_its_zone_is_refused_with_one_that_has_it(library):
    response = library.post(SEARCH, json={"query": "x", "indexed_before": "2024-01-01T00:00:00"})
    assert_problem(response, 422, "invalid-request", "#/indexed_before")
    assert "time zone, as in 2026-11-22T12:00:00Z" in response.json()["detail"]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("mode=semantic", "#/mode"),
        ("path=", "#/path"),
        ("path=%00", "#/path"),
        ("language=", "#/language"),
        ("licence_policy=all", "#/licence_policy"),
        ("min_score=nan", "#/min_score"),
        ("paths=*.md", "#/paths"),
        ("n=0", "#/n"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_with_its_place(library, query, pointer):
    response = library.get(f"{SEARCH}?q=x&{query}")
    assert_problem(response, 422, "invalid-request", pointer)


def test_an_address_may_say_how_many_results_as_a_body_does(library):
    for name in ("n", "n_results"):
        found = library.get(f"{SEARCH}?q=pilot&{name}=2").json()
        assert found["total_results"] == 2
    assert library.get(f"{SEARCH}?q=pilot&n=3&n_results=2").json()["total_results"] == 2


# What comes back --------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [{}, {"context_chunks": 1}, {"group_by": "document"}], ids=str)
def test_results_end_before_the_first_that_has_no_room(library, wanted):
    every = answer(library, **wanted)["results"]
    meter = FakeEmbedder().token_meter
    shown = [[result["before"], result, result["after"]] for result in every]
    counts = [sum(meter.count(text["content"]) for text in texts if text) for texts in shown]
    for room in (1, counts[0] - 1, counts[0], sum(counts[:3]), sum(counts) - 1, sum(counts)):
        fitting = [n for n in range(len(every) + 1) if sum(counts[:n]) <= room]
        found = answer(library, **wanted, max_tokens=room)
        assert found["results"] == every[: max(fitting)]
        assert found["total_results"] == len(found["results"])


def test_a_plain_answer_has_highlights_and_nothing_that_was_not_asked_for(library):
    found = answer(library)
    assert (found["total_results"], found["degraded"]) == (len(found["results"]), [])
    assert "timings_ms" not in found or found["timings_ms"] is None
    for result in found["results"]:
        assert not any(result.get(name) for name in ("before", "after", "group", "explain"))
        for mark in result["highlights"]:
            assert result["content"][mark["start"] : mark["end"]] == mark["text"]
    kinds = {mark["kind"] for mark in found["results"][0]["highlights"]}
    assert kinds == {"sentence", "word"}
    symbols = {result["document"]: result["symbol"] for result in found["results"]}
    assert symbols["gate.md"] == "rotate_keys"
    assert all(not r["highlights"] for r in answer(library, highlight=False)["results"])


def test_explain_shows_how_and_how_long(library):
    found = answer(library, explain=True)
    assert {"embed", "dense", "lexical", "fuse", "join"} <= set(found["timings_ms"])
    assert found["results"]
    for rank, result in enumerate(found["results"], 1):
        how = result["explain"]
        assert how["rank"] == rank
        assert how["fused_score"] == pytest.approx(how["dense_part"] + how["lexical_part"])
        assert max(0, how["cosine"]) == pytest.approx(result["score"], abs=1e-6)


def test_neighbours_are_the_text_around(library):
    results = answer(library, context_chunks=1, paths=["docs/guide.md"])["results"]
    assert any(result["before"] for result in results)
    assert any(result["after"] for result in results)
    for result in results:
        text = "".join(
            part["content"] for part in (result["before"], result, result["after"]) if part
        )
        assert text in GUIDE


def test_grouped_each_document_answers_once(library):
    found = answer(library, group_by="document", query="the pilot and the keys")
    assert sorted(result["document"] for result in found["results"]) == sorted(ALL)
    groups = {result["document"]: result["group"] for result in found["results"]}
    assert groups["docs/guide.md"]["count"] == 1 + len(groups["docs/guide.md"]["others"]) > 3
    assert groups["gate.md"] == {"count": 1, "others": []}
    other = groups["docs/guide.md"]["others"][0]
    assert (other["knowledge_id"], other["document"]) == (
        found["results"][0]["knowledge_id"],
        "docs/guide.md",
    )


# Nothing breaks it ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_no_question_breaks_the_service(library, mode):
    chance = random.Random(mode)  # noqa: S311
    for _ in range(100):
        query = nasty_query(chance)
        content = json.dumps({"query": query, "mode": mode, "explain": chance.random() < 0.5})
        headers = {"Content-Type": "application/json"}
        status = library.post(SEARCH, content=content, headers=headers).status_code
        half = any("\ud800" <= sign <= "\udfff" for sign in query)
        sound = query.strip() and not half and len(query) <= LONGEST_QUERY
        assert status == (200 if sound else 422), content


def test_no_filter_and_no_option_breaks_the_service(library):
    chance = random.Random("filters")  # noqa: S311
    for _ in range(150):
        what, status = ask(library, chance)
        assert status in (200, 422), what


def test_a_search_by_address_says_of_its_question_what_a_body_says(
    description: dict[str, Any],
) -> None:
    parameters = description["paths"]["/api/v1/rag/search"]["get"]["parameters"]
    (asked,) = [parameter for parameter in parameters if parameter["name"] == "q"]
    body = description["components"]["schemas"]["SearchBody"]["properties"]["query"]
    assert asked["description"] == body["description"]
    assert "`-draft`" in asked["description"]
