"""Who has the say over a ranking: the request, its profile, the collection, or nobody."""

import dataclasses

from app.search.profiles import (
    NO_WISHES,
    PROFILE_NAMES,
    PROFILES,
    Ranking,
    RankingWishes,
    resolved,
)


def test_nothing_said_is_the_default_that_changes_nothing_and_costs_nothing() -> None:
    ranking = resolved(NO_WISHES)
    assert ranking == PROFILES["default"] == Ranking()
    assert (ranking.weighs, ranking.widens, ranking.boosts) == (False, False, False)


def test_whatever_decides_the_order_beside_the_fused_score_is_weighed_on_its_own() -> None:
    weighed_elsewhere = {
        "recency_half_life_days", "document_penalty", "test_penalty", "feedback_weight",
        "feedback_results", "expand", "least_share",
    }  # fmt: skip
    names = {field.name for field in dataclasses.fields(Ranking)}
    alone = {
        name: Ranking(**{name: (("a", 2.0),) if name.endswith("_boosts") else 0.5})
        for name in names
    }
    assert {name for name in names if alone[name].weighs} == names - weighed_elsewhere
    assert {name for name in names if alone[name].widens} == {"expand", "feedback_weight"}


def test_wishes_know_every_field_of_a_ranking() -> None:
    names = {field.name for field in dataclasses.fields(Ranking)}
    assert names | {"profile"} == {field.name for field in dataclasses.fields(RankingWishes)}
    assert all(getattr(NO_WISHES, name) is None for name in names)


def test_the_code_profile_is_the_specifications() -> None:
    code = PROFILES["code"]
    weights = (code.cosine_weight, code.recency_weight)
    assert (*weights, code.importance_weight, code.completeness_weight) == (0.6, 0.2, 0.1, 0.1)
    assert code.fused_weight == 0
    assert set(PROFILES) == set(PROFILE_NAMES)


def test_a_request_comes_before_its_collection_and_that_before_the_built_in() -> None:
    collection = RankingWishes(profile="code", diversity=0.5)
    assert resolved(NO_WISHES, collection) == dataclasses.replace(PROFILES["code"], diversity=0.5)
    own = RankingWishes(recency_weight=0.0, diversity=0.1)
    ranking = resolved(own, collection)
    assert (ranking.recency_weight, ranking.diversity, ranking.cosine_weight) == (0, 0.1, 0.6)


def test_a_profile_in_a_request_sets_the_collection_aside() -> None:
    collection = RankingWishes(profile="code", diversity=0.5, tag_boosts=(("a", 2.0),))
    assert resolved(RankingWishes(profile="default"), collection) == Ranking()
    own = RankingWishes(profile="varied", diversity=0.0)
    assert resolved(own, collection) == dataclasses.replace(PROFILES["varied"], diversity=0.0)


def test_a_collection_without_a_profile_starts_from_the_default() -> None:
    assert resolved(NO_WISHES, RankingWishes(expand=True)) == Ranking(expand=True)
