"""What counts as an operator, in texts and in queries."""

import pytest

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.operators import (
    asked_operators,
    operator_of,
    operator_places,
    operators_in,
)
from app.adapters.text_analysis.query import parse_query

ENGLISH = Analyser("english")


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("if (n := len(a)) > 10", {":="}),
        ("(y:=f(x))", {":="}),
        ("The ``:=`` operator, `->`, and '=>'; \"!=\".", {":=", "->", "=>", "!="}),
        ("call(*a, **b)", {"**"}),
        ("a <=> b, a === b, x **= 2", {"<=>", "===", "**="}),
        ("a==-1, n:=-f(), b**=-2", {"==", "==-", ":=", ":=-", "**="}),
        ("Use ->. Or := or ==?", {"->", "->.", ":=", "==", "==?"}),
        ("wait ... there", {"..."}),
        ("Title\n=====\n| a | b |\n|---|---|", set()),
        ("a + b - c, x = 1. So?", set()),
        ("", set()),
    ],
)
def test_two_or_three_signs_in_a_row_are_one(text: str, operators: set[str]) -> None:
    assert operators_in(text) == operators


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("what does := do", (":=",)),
        ("`->` or '=>', (!=)", ("->", "=>", "!=")),
        ("a->b x==y", ()),
        ("wait ... what -- really?! !!! ..", ()),
        ("@ % |", ()),
        ("== != <= >= <>", ("==", "!=", "<=", ">=")),
        (":= and :=", (":=",)),
        ("what is :=? and ->... or ==?!", (":=", "->", "==")),
        ("thanks :-)", (":-",)),
    ],
)
def test_in_plain_text_those_count_that_stand_alone(text: str, operators: tuple[str, ...]) -> None:
    assert asked_operators(text) == operators


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        (":=", ":="),
        (" `...` ", "..."),
        ("->.", "->"),
        ("::", "::"),
        ("?.", "?."),
        ("x :=", None),
        ("=", None),
        ("====", None),
        ("", None),
    ],
)
def test_a_text_may_be_one(text: str, operator: str | None) -> None:
    assert operator_of(text) == operator


@pytest.mark.parametrize(
    ("text", "words", "operators", "quoted", "excluded"),
    [
        ("what does := do", ["what", "does", "do"], [":="], [], []),
        ("what is :=?", ["what", "is"], [":="], [], []),
        ("walrus := syntax", ["walrus", "syntax"], [":="], [], []),
        ('":="', [], [], [":="], []),
        ('the ":=" and "->"', ["the", "and"], [], [":=", "->"], []),
        ('walrus -":="', ["walrus"], [], [], [":="]),
        ('-":="', [], [":="], [], []),
        ("x = 1\nif x == 1:", ["x", "1"], [], [], []),
        ("/* walrus syntax */", ["walrus", "syntax"], [], [], []),
        ("/** walrus syntax */", ["walrus", "syntax"], [], [], []),
        ('/* the "walrus" := */', ["the"], [":="], [], []),
        ("  <!-- walrus syntax -->\n", ["walrus", "syntax"], [], [], []),
        ("*** walrus-syntax ***", ["walrussyntax"], [], [], []),
        (">>> walrus syntax <<<", ["walrus", "syntax"], [], [], []),
        ("/* and */", ["and"], ["/*", "*/"], [], []),
        ("*** walrus syntax", ["walrus", "syntax"], ["***"], [], []),
        ("** walrus syntax ==", ["walrus", "syntax"], ["**", "=="], [], []),
        ("== !=  ==", [], ["==", "!="], [], []),
        ("to be or not to be", ["to", "be", "or", "not"], [], [], []),
    ],
)
def test_what_a_query_asks_of_them(
    text: str, words: list[str], operators: list[str], quoted: list[str], excluded: list[str]
) -> None:
    query = parse_query(text, ENGLISH)
    assert [word.whole for word in query.words] == words
    assert list(query.operators) == operators
    assert list(query.quoted_operators) == quoted
    assert list(query.excluded_operators) == excluded


def test_of_those_in_quotes_and_after_a_minus_none_is_forgotten() -> None:
    many = ["==", "!=", "<=", ">=", "->", ":="]
    assert parse_query(" ".join(map('"{}"'.format, many)), ENGLISH).quoted_operators == (*many,)
    excluded = "a " + " ".join(map('-"{}"'.format, many))
    assert parse_query(excluded, ENGLISH).excluded_operators == (*many,)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("n := 1 and n:=-1", [(":=", 2, 4), (":=", 12, 14)]),
        ("====, :=:=", []),
        ("use :=.", [(":=", 4, 6)]),
    ],
)
def test_where_a_text_says_one(text: str, places: list[tuple[str, int, int]]) -> None:
    assert list(operator_places(text, (":=",))) == places
