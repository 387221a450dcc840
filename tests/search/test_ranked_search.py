"""Searches whose order more than the fused score decides."""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.container import Container
from app.content_versions import ContentVersions
from app.knowledge.items import ItemDraft
from app.search.profiles import NO_WISHES, PROFILE_NAMES, Ranking, RankingWishes
from app.search.requests import SearchRequest
from app.search.results import SearchAnswer, SearchResult
from app.search.searcher import Searcher
from app.settings import Settings
from tests.databases import Databases
from tests.fakes import FakeEmbedder

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
TEXTS = {
    "README.md": "# Gate\n\nthe harbour gate and its keys are explained here\n",
    "guide/keys.md": "# Keys\n\nrotate the keys of the harbour gate every week\n",
    "guide/copy.md": "# Keys\n\nrotate the keys of the harbour gate every week, again\n",
    "guide/pilot.md": "# Pilot\n\n" + "the pilot boards at the harbour gate. " * 20,
    "tests/gate.md": "the harbour gate is tested with keys\n",
    "database.md": "---\ntags: [storage]\ncategory: Eng//Data/\n---\nthe database of the quay\n",
    "configure.md": "configure the mooring lines\n",
}
DAYS = {name: number * 100 for number, name in enumerate(TEXTS)}
"""How long ago each was changed."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, databases: Databases) -> Iterator[Container]:
    """One service for all of these tests, which only read."""
    folder = tmp_path_factory.mktemp("ranked")
    root = folder / "sources"
    for name, text in TEXTS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        moment = (NOW - timedelta(days=DAYS[name])).timestamp()
        os.utime(path, (moment, moment))
    container = Container.open(
        Settings(
            _env_file=None,
            data_dir=folder,
            database_url=databases.for_service(folder),
            source_roots=[root],
            vector_index="exact",
            chunk_size=200,
            overlap=40,
        ),
        embedder=FakeEmbedder(),
    )
    draft = ItemDraft("Docs", str(root), "folder", "Eng/Docs", ("howto",), importance=1.0)
    item = container.knowledge.create(draft)
    assert container.indexer.index(item.id).success
    yield container
    container.close()


@pytest.fixture(scope="module")
def answer(shared: Container) -> Callable[..., SearchAnswer]:
    searcher = Searcher(
        database=shared.database,
        retriever=shared.parts.retriever,
        languages=shared.parts.languages,
        versions=ContentVersions(),
        degraded=tuple,
        metrics=shared.metrics,
        vector_index=shared.vector_index,
        clock=lambda: NOW,
    )

    def search(query: str, ranking: RankingWishes = NO_WISHES, **wanted: Any) -> SearchAnswer:
        request = {"n_results": 50, "explain": True} | wanted
        return searcher.search(SearchRequest(query, ranking=ranking, **request))

    return search


Answer = Callable[..., SearchAnswer]
QUERY = "keys of the harbour gate"

WEIGHTS = [field.name for field in dataclasses.fields(Ranking) if field.name.endswith("_weight")]
weights = st.floats(0, 10)
shares = st.floats(0, 1)
boosts = st.dictionaries(
    st.sampled_from(["howto", "storage", "deep", "Eng", "Eng/Data", "nothing"]),
    st.floats(0.1, 10),
    max_size=3,
).map(lambda found: tuple(found.items()))
rankings = st.builds(
    RankingWishes,
    profile=st.none() | st.sampled_from(PROFILE_NAMES),
    recency_half_life_days=st.none() | st.floats(0.01, 36_500),
    tag_boosts=st.none() | boosts,
    category_boosts=st.none() | boosts,
    document_penalty=st.none() | shares,
    test_penalty=st.none() | shares,
    diversity=st.none() | shares,
    feedback_results=st.none() | st.integers(1, 20),
    expand=st.none() | st.booleans(),
    **{name: st.none() | weights for name in WEIGHTS},
)
modes = st.sampled_from(["hybrid", "dense", "lexical"])


def recomputed(result: SearchResult) -> float:
    """The final score from what `explain` shows of its parts."""
    how = result.explain
    assert how is not None
    if how.signals is None:
        return how.dense_part + how.lexical_part - how.test_penalty - how.document_penalty
    told = how.signals
    total = sum(part for name, part in vars(told).items() if name.endswith("_part"))
    strength = total * told.boost if total >= 0 else total / told.boost
    repeated = told.diversity * (told.repetition or 0.0)
    return (1 - told.diversity) * strength - repeated - how.document_penalty


@given(rankings, modes, st.sampled_from(["coverage", "convex", "rrf"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_is_that_of_the_final_scores_and_can_be_computed_again(
    answer: Answer, ranking: RankingWishes, mode: str, fusion: str
) -> None:
    plain = {result.chunk_id: result for result in answer(QUERY, mode=mode).results}
    results = answer(QUERY, ranking, mode=mode, fusion=fusion).results
    assert set(plain) <= {result.chunk_id for result in results}
    finals = [result.explain.final_score for result in results if result.explain]
    assert all(some >= other for some, other in itertools.pairwise(finals))
    assert [recomputed(result) for result in results] == pytest.approx(finals, abs=1e-9)
    for result in results:
        if result.chunk_id in plain:
            assert result.score == plain[result.chunk_id].score
        assert result.score == pytest.approx(max(0, result.explain.cosine))


@pytest.mark.parametrize("name", sorted({*WEIGHTS} - {"feedback_weight"}))  # that of a vector
def test_a_weight_counts_though_no_other_does(answer: Answer, name: str) -> None:
    results = answer(QUERY, RankingWishes(**({"fused_weight": 0.0} | {name: 0.5}))).results
    told = [result.explain.signals for result in results if result.explain]
    assert any(getattr(each, name.replace("_weight", "_part")) for each in told)


def test_a_ranking_of_nothing_is_nothing(answer: Answer) -> None:
    ranking = RankingWishes(
        profile="code", diversity=0.5, feedback_weight=1.0, expand=True, least_share=0.5
    )
    assert answer(QUERY, ranking, chunk_types=("table",)).results == ()
    assert answer('"no such phrase" keys', ranking).results == ()


def documents(answer: SearchAnswer) -> list[str]:
    return list(dict.fromkeys(result.document for result in answer.results))


def test_recency_goes_by_when_the_file_was_changed(answer: Answer) -> None:
    ranking = RankingWishes(fused_weight=0.0, recency_weight=1.0, recency_half_life_days=100.0)
    found = answer(QUERY, ranking)
    assert documents(found) == list(TEXTS)
    for result in found.results:
        told = result.explain.signals if result.explain else None
        assert told is not None
        assert told.recency == pytest.approx(0.5 ** (DAYS[result.document] / 100), abs=1e-6)


def test_importance_goes_by_the_names_of_files_and_what_the_item_says(answer: Answer) -> None:
    found = documents(answer(QUERY, RankingWishes(fused_weight=0.0, importance_weight=1.0)))
    assert (found[0], found[-1]) == ("README.md", "tests/gate.md")


def test_whole_sections_come_before_pieces_if_wanted(answer: Answer) -> None:
    ranking = RankingWishes(fused_weight=0.0, completeness_weight=1.0)
    results = answer(QUERY, ranking).results
    told = [result.explain.signals.completeness for result in results if result.explain]
    assert told == sorted(told, reverse=True)
    assert (told[0], results[-1].document) == (1.0, "guide/pilot.md")


def test_a_boost_lifts_what_its_name_holds_for(answer: Answer) -> None:
    for wished in (
        {"tag_boosts": (("storage", 10.0),)},
        {"category_boosts": (("Eng/Data", 10.0),)},
    ):
        results = answer("the quay", RankingWishes(fused_weight=0.0, cosine_weight=1.0, **wished))
        boosted = {
            result.document
            for result in results.results
            if result.explain and result.explain.signals and result.explain.signals.boost > 1
        }
        assert boosted == {"database.md"}
    everything = answer("the quay", RankingWishes(tag_boosts=(("HOWTO", 2.0),)))
    assert documents(everything) == documents(answer("the quay"))


def test_diversity_parts_what_says_the_same(answer: Answer) -> None:
    twins = {"guide/keys.md", "guide/copy.md"}
    plain = documents(answer("rotate the keys every week"))
    assert set(plain[:2]) == twins
    varied = documents(answer("rotate the keys every week", RankingWishes(diversity=0.8)))
    assert len(twins & set(varied[:2])) == 1
    assert set(varied) == set(TEXTS)


def test_feedback_ranks_by_the_moved_query_and_scores_by_the_question(answer: Answer) -> None:
    results = answer(QUERY, RankingWishes(feedback_weight=1.0, feedback_results=1)).results
    assert any(
        result.explain and result.explain.ranking_cosine != pytest.approx(result.explain.cosine)
        for result in results
    )
    assert results[0].explain
    first = results[0].explain
    assert first.ranking_cosine > first.cosine  # the query moved towards it


def test_feedback_leaves_a_search_by_words_alone(answer: Answer) -> None:
    plain = answer(QUERY, mode="lexical").results
    assert answer(QUERY, RankingWishes(feedback_weight=1.0), mode="lexical").results == plain


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_other_wordings_find_what_the_question_does_not_name(answer: Answer, mode: str) -> None:
    ranking = RankingWishes(expand=True)
    found = answer("where is the db", ranking, mode=mode)
    assert found.results[0].document == "database.md"
    if mode == "lexical":
        assert "database.md" not in documents(answer("where is the db", mode=mode))
    assert not answer('where is the "db"', ranking, mode=mode).results


def test_what_falls_off_is_left_out_and_the_best_never_is(answer: Answer) -> None:
    everything = answer(QUERY).results
    for share in (0.3, 0.6, 0.9, 1.0):
        kept = answer(QUERY, RankingWishes(least_share=share)).results
        best = everything[0].explain.final_score if everything[0].explain else 0.0
        expected = [
            result.chunk_id
            for result in everything
            if result.explain and result.explain.final_score >= share * best
        ]
        assert [result.chunk_id for result in kept] == expected
        assert 1 <= len(kept) <= len(everything)
    assert len(answer(QUERY, RankingWishes(least_share=0.01), n_results=2).results) == 2


@pytest.mark.parametrize("penalty", [0.0, 0.05, 1.0])
def test_with_weak_ones_left_out_few_results_are_the_first_of_many(
    answer: Answer, penalty: float
) -> None:
    for share in (0.3, 0.6, 0.8, 0.95):
        ranking = RankingWishes(least_share=share, document_penalty=penalty)
        many = [result.chunk_id for result in answer(QUERY, ranking, n_results=50).results]
        for n in range(1, len(many) + 1):
            few = answer(QUERY, ranking, n_results=n).results
            assert [result.chunk_id for result in few] == many[:n]


def test_what_is_excluded_costs_its_neighbours_nothing(answer: Answer) -> None:
    ranking = RankingWishes(document_penalty=1.0)
    assert any(r.explain.document_penalty for r in answer(QUERY, ranking).results if r.explain)
    results = answer(f"{QUERY} -zebra", ranking).results
    assert results
    assert not any(result.explain.document_penalty for result in results if result.explain)


def test_what_is_excluded_neither_repeats_nor_steers(answer: Answer) -> None:
    ranking = RankingWishes(diversity=0.8)
    kept = answer("rotate the keys every week -again -pilot", ranking).results
    assert kept[0].document == "guide/keys.md"
    for result in kept:
        told = result.explain.signals if result.explain else None
        assert told is not None
        assert told.repetition is not None
        assert told.repetition < 0.95  # its twin is excluded
    feedback = RankingWishes(feedback_weight=10.0, feedback_results=1)
    pilots = answer('rotate "harbour gate" -week -pilot', feedback).results
    assert {result.document for result in pilots} == {"README.md", "tests/gate.md"}
    best = max(pilots, key=lambda result: result.explain.ranking_cosine if result.explain else 0)
    assert best.explain
    assert best.explain.ranking_cosine > 0.9  # the first of those that may answer


@pytest.mark.parametrize(
    "ranking", [RankingWishes(recency_weight=1.0), RankingWishes(importance_weight=1.0)], ids=repr
)
def test_few_nearest_that_hold_a_phrase_are_the_first_of_many_whatever_the_ranking(
    answer: Answer, ranking: RankingWishes
) -> None:
    query, depths = '"harbour gate" rotate the keys', {"dense_depth": 1, "lexical_depth": 1}
    many = answer(query, ranking, mode="dense", **depths).results
    few = answer(query, ranking, mode="dense", n_results=1, **depths).results
    assert few[0].chunk_id == many[0].chunk_id


def test_what_is_excluded_is_what_the_text_says_not_its_path_or_headings(answer: Answer) -> None:
    found = documents(answer("rotate the harbour gate -guide -tests", NO_WISHES))
    assert {"guide/keys.md", "tests/gate.md"} - set(found) == {"tests/gate.md"}
    assert "guide/keys.md" not in documents(answer("rotate the harbour gate -keys", NO_WISHES))


def test_exclusions_with_nothing_beside_them_are_plain_text(answer: Answer) -> None:
    assert documents(answer("-pilot", mode="lexical")) == documents(answer("pilot", mode="lexical"))


def test_the_nearest_texts_that_hold_a_phrase_are_all_found_in_dense_mode(answer: Answer) -> None:
    every = answer('"harbour gate" rotate the keys', mode="dense", n_results=50).results
    assert len(every) > 4
    few = answer(
        '"harbour gate" rotate the keys', mode="dense", n_results=4, dense_depth=1, lexical_depth=1
    ).results
    assert [one.chunk_id for one in few] == [one.chunk_id for one in every[:4]]


def test_a_least_score_of_0_cuts_nothing_off(answer: Answer) -> None:
    every = answer("mooring volcano", mode="dense", n_results=50).results
    cut = answer("mooring volcano", mode="dense", n_results=50, min_score=0.0).results
    assert any(one.explain and one.explain.cosine < 0 for one in every), "or this shows nothing"
    assert [one.chunk_id for one in cut] == [one.chunk_id for one in every]


def test_names_to_boost_are_tidied_as_filters_are(answer: Answer) -> None:
    def boosts(wishes: RankingWishes) -> dict[str, float]:
        results = answer("the database", wishes).results
        told = {r.document: r.explain.signals for r in results if r.explain}
        return {name: signals.boost for name, signals in told.items() if signals}

    tidy = boosts(RankingWishes(category_boosts=(("Eng/Data", 3.0),)))
    assert tidy["database.md"] == 3.0
    assert boosts(RankingWishes(category_boosts=(("/Eng/Data/", 3.0),))) == tidy
    twice = boosts(RankingWishes(tag_boosts=(("storage", 3.0), (" Storage ", 2.0))))
    assert twice["database.md"] == 2.0
