"""Rankings over HTTP: fields of a search, and settings of a collection."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.container import Container
from app.main import create_app
from app.rag.ranking_schemas import CollectionRankingBody, RankingFields
from app.search.collection_settings import stored_wishes
from app.search.profiles import NO_WISHES, RankingWishes
from app.search.soundness import RANKING_BOUNDS
from tests.web.problem_checks import assert_problem

API = "/api/v1"
SEARCH = f"{API}/rag/search"
DEFAULT = f"{API}/rag/collections/knowledge_base/ranking"


@pytest.fixture
def library(client: TestClient, source_root: Path) -> TestClient:
    for name, tag in (("near.md", "plain"), ("far.md", "rust")):
        words = "rotate the keys" if tag == "plain" else "rotate many other things"
        (source_root / name).write_text(f"{words}\n")
        body = {"title": name, "uri": str(source_root / name), "document_type": "markdown"}
        item = client.post(f"{API}/knowledge", json=body | {"tags": [tag]}).json()["id"]
        assert client.post(f"{API}/rag/index/{item}").json()["success"]
    return client


def order(client: TestClient, **body: Any) -> list[str]:
    response = client.post(SEARCH, json={"query": "rotate the keys"} | body)
    assert response.status_code == 200, response.text
    return [result["title"] for result in response.json()["results"]]


BOOSTED = {"tag_boosts": {"rust": 10}}
PLAIN, LIFTED = ["near.md", "far.md"], ["far.md", "near.md"]


def test_a_search_may_say_how_it_is_ranked(library: TestClient) -> None:
    assert order(library) == order(library, ranking={}) == PLAIN
    assert order(library, ranking=BOOSTED) == LIFTED
    assert order(library, ranking={"tag_boosts": ["rust"]}) == PLAIN  # 1.3 is not enough
    assert order(library, profile="code", ranking=BOOSTED) == LIFTED
    assert order(library, ranking={"least_share": 0.9}) == ["near.md"]
    body = {"query": "rotate the keys", "ranking": BOOSTED, "format": "json"}
    context = library.post(f"{API}/rag/context", json=body).json()
    assert [passage["title"] for passage in context["passages"]] == ["far", "near"]


def test_explain_shows_the_signals_only_where_they_count(library: TestClient) -> None:
    def explained(**body: Any) -> list[dict[str, Any]]:
        wanted = {"query": "rotate the keys", "explain": True} | body
        return [result["explain"] for result in library.post(SEARCH, json=wanted).json()["results"]]

    for how in explained():
        assert how["signals"] is None
        assert how["final_score"] == how["fused_score"]
    first, second = explained(profile="code")
    assert first["final_score"] >= second["final_score"]
    assert first["signals"]["recency"] == pytest.approx(1, abs=0.01)
    assert first["signals"]["cosine_part"] == pytest.approx(0.6 * first["cosine"])


def test_the_address_knows_profiles(library: TestClient) -> None:
    answer = library.get(f"{SEARCH}?q=rotate&profile=code")
    assert (answer.status_code, answer.json()["total_results"]) == (200, 2)
    assert_problem(library.get(f"{SEARCH}?q=x&profile=best"), 422, "invalid-request", "#/profile")


@pytest.mark.parametrize(
    ("wanted", "pointer"),
    [
        ({"profile": "best"}, "#/profile"),
        ({"ranking": {"recency": 1}}, "#/ranking/recency"),
        ({"ranking": {"profile": "code"}}, "#/ranking/profile"),
        ({"ranking": {"recency_weight": -0.1}}, "#/ranking/recency_weight"),
        ({"ranking": {"recency_weight": 10.1}}, "#/ranking/recency_weight"),
        ({"ranking": {"recency_weight": True}}, "#/ranking/recency_weight"),
        ({"ranking": {"recency_weight": "1"}}, "#/ranking/recency_weight"),
        ({"ranking": {"recency_half_life_days": 0}}, "#/ranking/recency_half_life_days"),
        ({"ranking": {"diversity": 1.1}}, "#/ranking/diversity"),
        ({"ranking": {"feedback_results": 0}}, "#/ranking/feedback_results"),
        ({"ranking": {"feedback_results": 21}}, "#/ranking/feedback_results"),
        ({"ranking": {"expand": 1}}, "#/ranking/expand"),
        ({"ranking": {"least_share": 2}}, "#/ranking/least_share"),
        ({"ranking": {"tag_boosts": {"a": 11}}}, "#/ranking/tag_boosts/a"),
        ({"ranking": {"tag_boosts": {"a": 0}}}, "#/ranking/tag_boosts/a"),
        ({"ranking": {"tag_boosts": {"": 2}}}, "#/ranking/tag_boosts/"),
        ({"ranking": {"tag_boosts": {"[key]": 11}}}, "#/ranking/tag_boosts/%5Bkey%5D"),
        ({"ranking": {"tag_boosts": []}}, "#/ranking/tag_boosts"),
        ({"ranking": {"tag_boosts": [1]}}, "#/ranking/tag_boosts"),
        ({"ranking": {"tag_boosts": {str(n): 1 for n in range(51)}}}, "#/ranking/tag_boosts"),
        ({"ranking": []}, "#/ranking"),
        ({"chunk_types": ["poem"]}, "#/chunk_types/0"),
        ({"chunk_types": []}, "#/chunk_types"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_ranking_that_makes_no_sense_is_refused_with_its_place(client, wanted, pointer) -> None:
    response = client.post(SEARCH, json={"query": "x"} | wanted)
    assert_problem(response, 422, "invalid-request", pointer)


# Collections ------------------------------------------------------------------------------------


def test_a_collections_ranking_holds_until_a_search_says_otherwise(library: TestClient) -> None:
    assert library.get(DEFAULT).json() == {}
    settings = {"profile": "varied"} | BOOSTED
    assert library.put(DEFAULT, json=settings).json() == settings
    assert library.get(DEFAULT).json() == settings
    assert order(library) == order(library, collection="knowledge_base") == LIFTED
    assert order(library, ranking={"tag_boosts": {}}) == PLAIN
    assert order(library, profile="default") == PLAIN
    assert library.put(DEFAULT, json={}).json() == {}
    assert order(library) == PLAIN


def test_a_collections_ranking_survives_a_restart(
    library: TestClient, container: Container, open_container: Callable[[], Container]
) -> None:
    library.put(DEFAULT, json=BOOSTED)
    container.close()
    with TestClient(create_app(container=open_container())) as again:
        assert again.get(DEFAULT).json() == BOOSTED
        assert order(again) == LIFTED


def test_each_collection_has_a_ranking_of_its_own(library: TestClient, source_root: Path) -> None:
    body = {"title": "x", "uri": str(source_root / "near.md"), "document_type": "markdown"}
    library.post(f"{API}/knowledge", json=body | {"collection": "agents"})
    agents = f"{API}/rag/collections/agents/ranking"
    library.put(agents, json={"expand": True})
    assert library.get(DEFAULT).json() == {}
    found = library.get(f"{API}/rag/collections").json()
    assert [(one["name"], one["items"]) for one in found] == [("agents", 1), ("knowledge_base", 2)]
    assert found[0]["ranking"]["expand"] is True


def test_a_ranking_can_be_seen_and_taken_back_when_the_last_item_has_gone(
    library: TestClient, source_root: Path
) -> None:
    body = {"title": "x", "uri": str(source_root / "near.md"), "document_type": "markdown"}
    item = library.post(f"{API}/knowledge", json=body | {"collection": "agents"}).json()["id"]
    agents = f"{API}/rag/collections/agents/ranking"
    library.put(agents, json={"expand": True})
    library.delete(f"{API}/knowledge/{item}")
    assert library.get(agents).json() == {"expand": True}
    assert library.put(agents, json={}).json() == {}
    assert library.get(agents).status_code == 404


def test_a_collection_that_no_item_names_is_not_found(client: TestClient) -> None:
    missing = f"{API}/rag/collections/nobody/ranking"
    assert_problem(client.get(missing), 404, "not-found")
    assert_problem(client.put(missing, json={}), 404, "not-found")
    assert client.get(DEFAULT).status_code == 200  # the default one is always there


@pytest.mark.parametrize("boosts", [[], [1], ["rust", 2], "rust", 2])
def test_boosts_that_are_no_boosts_are_told_how_they_are_written(
    client: TestClient, boosts: object
) -> None:
    response = client.put(DEFAULT, json={"tag_boosts": boosts})
    (error,) = response.json()["errors"]
    assert "a list of names" in error["detail"]
    assert "an object of names with their factors" in error["detail"]


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 501])
def test_a_name_that_is_refused_is_none_by_the_description(
    client: TestClient, name: str, description: dict[str, Any]
) -> None:
    assert client.put(DEFAULT, json={"tag_boosts": {name: 2}}).status_code == 422
    schemas = description["components"]["schemas"]
    boosts = schemas["CollectionRankingBody"]["properties"]["tag_boosts"]["anyOf"][0]
    names = boosts["propertyNames"]
    assert not (
        names["minLength"] <= len(name) <= names["maxLength"] and re.search(names["pattern"], name)
    )
    assert "patternProperties" not in boosts  # which would allow all names that it does not match


def test_a_setting_that_makes_no_sense_is_refused_and_changes_nothing(client: TestClient) -> None:
    client.put(DEFAULT, json={"diversity": 0.2})
    response = client.put(DEFAULT, json={"diversity": 2})
    assert_problem(response, 422, "invalid-request", "#/diversity")
    assert client.get(DEFAULT).json() == {"diversity": 0.2}


def test_what_a_newer_version_stored_is_left_out() -> None:
    assert stored_wishes({"profile": "unheard-of", "magic": 3}) is NO_WISHES
    assert stored_wishes({"magic": 3, "diversity": 0.5}) == RankingWishes(diversity=0.5)


def test_items_say_how_important_they_are(client: TestClient) -> None:
    body = {"title": "x", "uri": "/srv/docs", "document_type": "folder", "importance": 0.8}
    item = client.post(f"{API}/knowledge", json=body).json()
    assert item["importance"] == 0.8
    address = f"{API}/knowledge/{item['id']}"
    assert client.patch(address, json={"importance": None}).json()["importance"] is None
    assert_problem(
        client.patch(address, json={"importance": 2}), 422, "invalid-request", "#/importance"
    )
    assert_problem(
        client.patch(address, json={"importance": True}), 422, "invalid-request", "#/importance"
    )


def test_the_bounds_of_rankings_are_the_same_over_http_and_from_python() -> None:
    described = RankingFields.model_json_schema()["properties"]
    over_http = {
        name: (choice["minimum"], choice["maximum"])
        for name, field in described.items()
        for choice in field.get("anyOf", ())
        if "minimum" in choice
    }
    assert over_http == RANKING_BOUNDS


def test_whatever_python_may_wish_of_a_ranking_http_may_wish_too() -> None:
    wishes = {field.name for field in dataclasses.fields(RankingWishes)}
    assert CollectionRankingBody.model_fields.keys() == wishes
