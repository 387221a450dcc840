"""The quick way to a query's terms finds just what analysing every word of a text finds."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.term_finder import TermFinder
from tests.processor_speed import is_within

ENGLISH = Analyser("english")
STEMS = (
    "use die dry try rat ration relat abil hop agre gener skate ski sky argu e a y id on 3d x2 i18n"
)
NAMES = "C++ C# .NET getUserName HTTPServer2 don't 1,000 3.14 v2.0 __init__"
ENDINGS = (
    " s es ed ing ying ies ied ly y e ational ization ement 's edly eed ie er est ness ful able"
)
WORDS = st.one_of(
    st.builds(str.__add__, st.sampled_from(STEMS.split()), st.sampled_from(ENDINGS.split(" "))),
    st.text("aeioudyngstlrkc", min_size=1, max_size=7),
    st.sampled_from(NAMES.split()),
)
WRITTEN = st.one_of(WORDS, WORDS.map(str.upper), WORDS.map(str.capitalize))
JOINTS = st.sampled_from(
    ["", " ", "\n", "-", "_", "__", ".", "'", ",", ", ", "/", "(", "_-_", '"', "\x1f"]
)
TEXTS = st.lists(st.tuples(WRITTEN, JOINTS), max_size=12).map(
    lambda pieces: "".join(word + joint for word, joint in pieces)
)
ASCII = st.text(st.characters(max_codepoint=127), max_size=40)


def terms_of(text: str, analyser: Analyser) -> set[str]:
    words = analyser.words(text)
    return {t for word in words for t in (*word.parts, word.whole, word.stem) if t}


def assert_finds_all(query: str, text: str, analyser: Analyser) -> None:
    terms = terms_of(query, analyser)
    found = [token[:3] for token in TermFinder(terms, analyser).find(text)]
    assert found == [token[:3] for token in analyser.analyse(text) if token.term in terms]


@given(WRITTEN | TEXTS, TEXTS)
@example("use", "using it")
@example("dry", "it dries")
@example("dries", "too dry")
@example("die", "dying")
@example("sky", "skies")
@example("email", "by e-mail")
@example("eg", "e.g. this")
@example("usa", "in the U.S.A. and U_S_A")
@example("C", "C++ and c")
@example("tus use", "letUse")
@example("email", "_e-mail, e__mail and em-ail")
def test_in_words_and_names_it_finds_what_analysing_all_of_them_finds(query, text):
    assert_finds_all(query, text, ENGLISH)


@given(ASCII, ASCII)
def test_in_any_ascii_it_finds_what_analysing_all_of_it_finds(query, text):
    assert_finds_all(query, f"{text} {query} {text}", ENGLISH)


@given(st.text(max_size=20), st.text(max_size=40))
def test_in_any_text_it_finds_what_analysing_all_of_it_finds(query, text):
    assert_finds_all(query, f"{text} {query}", ENGLISH)


@pytest.mark.parametrize(
    ("language", "query", "text"),
    [("german", "Müller", "Herr Mueller"), ("dutch", "lopen", "hij heeft gelopen")],
)
def test_languages_whose_stems_begin_otherwise_are_analysed_in_full(language, query, text):
    analyser = Analyser(language)
    assert list(TermFinder(terms_of(query, analyser), analyser).find(text))
    assert_finds_all(query, text, analyser)


def test_no_terms_are_found_nowhere():
    assert not list(TermFinder(frozenset(), ENGLISH).find("any text"))


@pytest.mark.parametrize("sign", ["-", ".", "_", "',", "-a"])
def test_a_row_of_signs_is_read_once(sign):
    finder = TermFinder(terms_of("ruler", ENGLISH), ENGLISH)
    started = time.process_time()
    assert [token.term for token in finder.find(sign * 20_000 + " rulers")] == ["ruler"]
    assert is_within(1, started)  # 0.1 s
