"""The measures of rankings, against values computed by hand."""

import ast
from math import log2

import pytest

from app.evaluation.question_set import Question
from app.evaluation.ranked_answers import MEASURES, RankedAnswers, score_rankings


def scores_of(judged: dict[str, int], ranking: list[str]) -> dict[str, float]:
    scored = score_rankings({"q": judged}, {"q": ranking})
    assert tuple(scored) == MEASURES
    return {measure: values["q"] for measure, values in scored.items()}


def test_measures_of_binary_judgements() -> None:
    scores = scores_of({"a": 1, "b": 1, "c": 1, "d": 0}, ["d", "a", "x", "b"])
    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    assert scores["nDCG@10"] == pytest.approx((1 / log2(3) + 1 / log2(5)) / ideal)
    assert scores["MRR@10"] == 0.5
    assert scores["P@5"] == pytest.approx(2 / 5)
    assert scores["R@5"] == scores["R@100"] == pytest.approx(2 / 3)


def test_the_gain_of_a_grade_is_the_grade_itself() -> None:
    scores = scores_of({"a": 3, "b": 1}, ["b", "a"])
    assert scores["nDCG@10"] == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))


def test_scores_need_no_class_that_python_3_14_does_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "__getattr__"}  # that makes them
    for name in gone & vars(ast).keys():
        monkeypatch.delattr(ast, name)
    assert scores_of({"a": 1}, ["a"])["nDCG@10"] == 1.0


@pytest.mark.parametrize(("place", "measure"), [(10, "nDCG@10"), (10, "MRR@10"), (20, "R@20")])
def test_what_stands_below_the_cut_does_not_count(place: int, measure: str) -> None:
    others = [f"x{number}" for number in range(place)]
    assert scores_of({"a": 1}, [*others[:-1], "a"])[measure] > 0
    assert scores_of({"a": 1}, [*others, "a"])[measure] == 0


def test_a_ranking_longer_than_any_cut_keeps_its_order() -> None:
    others = [f"x{number}" for number in range(400)]
    assert scores_of({"a": 1}, ["a", *others])["nDCG@10"] == 1.0


def test_a_question_for_which_nothing_was_found_scores_0() -> None:
    scored = score_rankings({"q": {"a": 1}, "r": {"a": 1}}, {"q": [], "r": ["a"]})
    assert {measure: values["q"] for measure, values in scored.items()} == dict.fromkeys(
        MEASURES, 0
    )
    assert scored["MRR@10"]["r"] == 1.0


def test_only_questions_that_were_asked_are_scored() -> None:
    answers = RankedAnswers({"q": {"a": 1}, "r": {"a": 1}}, lambda _question, _results: ["a"])
    answers.add(Question("q", "?"), [])
    assert set(answers.scores()["MRR@10"]) == {"q"}
