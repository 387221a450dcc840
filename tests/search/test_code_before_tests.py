"""Who asks where something is done means the code, not its tests, which say it as well."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from app.container import Container
from app.knowledge.items import ItemDraft
from app.search.profiles import RankingWishes
from app.search.requests import SearchRequest
from app.search.results import SearchResult

Search = Callable[..., tuple[SearchResult, ...]]

FILES = {
    "gate.go": "func OpenGate(harbour Harbour) {\n\tharbour.turn(1)\n}\n",
    "gate_test.go": "func CheckGate() {\n\tOpenGate(harbour) // open the gate of the harbour\n}\n",
    "lamps.go": "func Lamp() {}\n",
}
QUERY = "open the gate of the harbour"
CODE, TEST, OTHER = FILES


@pytest.fixture
def search(container: Container, source_root: Path) -> Search:
    """Searches code, a test of it that says the query more plainly, and other code."""
    for name, text in FILES.items():
        (source_root / name).write_text(text)
        item = container.knowledge.create(ItemDraft(name, str(source_root / name), "markdown"))
        assert container.indexer.index(item.id).success

    def found(query: str, **wanted: object) -> tuple[SearchResult, ...]:
        request = SearchRequest(query, explain=True, **wanted)  # type: ignore[arg-type]
        return container.searcher.search(request).results

    return found


def documents(results: tuple[SearchResult, ...]) -> list[str]:
    return [result.document for result in results]


def penalties(results: tuple[SearchResult, ...]) -> dict[str, float]:
    return {result.document: result.explain.test_penalty for result in results if result.explain}


def test_code_comes_before_a_test_that_says_the_query_more_plainly(search: Search) -> None:
    results = search(QUERY)
    assert penalties(results) == {CODE: 0, TEST: 0.2, OTHER: 0}
    without = search(QUERY, ranking=RankingWishes(test_penalty=0.0))
    assert documents(without)[0] == TEST
    assert penalties(without) == dict.fromkeys(FILES, 0)
    lowered = search(QUERY, ranking=RankingWishes(test_penalty=1.0))
    assert documents(lowered)[0] == CODE


def test_who_asks_for_tests_gets_them_and_what_is_excluded_asks_for_nothing(search: Search) -> None:
    assert not any(penalties(search(f"{QUERY} test")).values())
    assert penalties(search(f"{QUERY} -test"))[TEST] == 0.2


@pytest.mark.parametrize(
    "wanted",
    [{"mode": "dense"}, {"mode": "lexical"}, {"fusion": "rrf"}, {"fusion": "convex"}],
    ids=str,
)
def test_what_was_asked_for_by_name_is_given_as_it_is(
    search: Search, wanted: dict[str, str]
) -> None:
    assert not any(penalties(search(QUERY, **wanted)).values())


@pytest.mark.parametrize(
    "wishes",
    [
        RankingWishes(expand=True),
        RankingWishes(feedback_weight=0.5),
        RankingWishes(diversity=0.2),
        RankingWishes(recency_weight=0.1, tag_boosts=(("a", 2.0),)),
    ],
    ids=["expand", "feedback", "diversity", "weighed"],
)
def test_other_wishes_leave_tests_behind_the_code(search: Search, wishes: RankingWishes) -> None:
    lowered = dataclasses.replace(wishes, test_penalty=1.0)
    results = search(QUERY, ranking=lowered)
    assert penalties(results) == {CODE: 0, TEST: 1.0, OTHER: 0}
    assert documents(results)[0] == CODE
