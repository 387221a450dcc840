"""Excerpts show what was found in a long line, and tear no word and no character."""

import dataclasses

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from app.knowledge.content_lines import line_end, line_start
from app.search.excerpts import LONGEST_WORD, Excerpt
from app.search.passage_queries import DocumentFacts, Extent
from app.search.passages import PassageHit, PassagePlan
from app.search.results import Highlight

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
PIECES = st.sampled_from(
    [
        "word ",
        "a_name",
        "x",
        " ",
        "\n",
        "\r\n",
        "e\u0301",
        FAMILY,
        "\U0001f1e9\U0001f1ea",
        "{}",
        "שלום ",
    ]
)
DOCUMENT = DocumentFacts(1, 7, "one.json", "One", "/srv/one.json", None, None, "knowledge_base")


def excerpt_of(text: str, *highlights: Highlight) -> Excerpt:
    extent = Extent(0, len(text), 1, 1)
    hit = PassageHit(1, "c", 0.5, extent, highlights)
    plan = PassagePlan(1, DOCUMENT, (), (hit,), extent)
    return Excerpt(plan, text, begins_line=False, ends_line=False)


@given(st.lists(PIECES, min_size=1, max_size=80), st.data())
def test_a_cut_tears_no_character_and_no_word_and_keeps_to_its_size(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    size = data.draw(st.integers(1, len(text)))
    breaks = {0, len(text)} | {match.start() for match in regex.finditer(r"\X", text)}
    words = [match.span() for match in regex.finditer(r"\w+", text)]
    whole = [word for word in words if breaks.issuperset(word)]  # a joiner within an emoji is \w
    start, end = data.draw(st.sampled_from(whole or [(0, 0)]))
    said = text[start:end]
    found = (Highlight(start, end, said, "sentence"), Highlight(start, end, said, "word"))
    passage = excerpt_of(text, *found).around_words(size)
    assert len(passage.content.lstrip()) <= size
    assert passage.content == text[passage.start_index : passage.end_index]
    if not passage.content:
        return
    assert {passage.start_index, passage.end_index} <= breaks
    if end - start <= size:
        assert said in passage.content
    for place in (passage.start_index, passage.end_index):
        around = text[max(place - 1, 0) : place + 1]
        torn = len(around) == 2 and regex.fullmatch(r"\w\w", around)
        assert not torn or size < LONGEST_WORD


@given(st.lists(PIECES, min_size=1, max_size=80), st.data())
def test_lines_around_words_are_whole_and_keep_to_their_size(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    size = data.draw(st.integers(1, len(text)))
    words = [match.span() for match in regex.finditer(r"\w+", text)]
    start, end = data.draw(st.sampled_from(words or [(0, 0)]))
    said = text[start:end]
    found = (Highlight(start, end, said, "sentence"), Highlight(start, end, said, "word"))
    excerpt = dataclasses.replace(excerpt_of(text, *found), begins_line=True, ends_line=True)
    passage = excerpt.lines_around_words(size)
    if passage is None:
        assert line_end(text, start) - line_start(text, start) > size
        return
    assert said in passage.content
    assert len(passage.content) <= size
    assert passage.content == text[passage.start_index : passage.end_index]
    assert not (passage.content and passage.is_cut)


@pytest.mark.parametrize("before", ["lamp ", "lamp keeper " + "and " * 9 + "harbour "])
def test_where_the_sentence_has_no_room_its_words_are_shown_that_stand_closest(before: str) -> None:
    text = before + "of no matter " * 20 + "lamp keeper harbour " + "of no matter " * 20
    words = [
        Highlight(*match.span(), match.group(), "word")
        for match in regex.finditer("lamp|keeper|harbour", text)
    ]
    passage = excerpt_of(text, Highlight(0, len(text), text, "sentence"), *words).around_words(60)
    assert "lamp keeper harbour" in passage.content


def test_a_line_that_is_shown_from_its_first_word_keeps_its_indentation() -> None:
    text = "some words\n    .. note:: " + "what is said here " * 9
    start = text.index("note")
    passage = excerpt_of(text, Highlight(start, start + 4, "note", "sentence")).around_words(20)
    assert passage.content.startswith("    .. note::")
    assert not passage.cut_before


def test_a_word_without_end_is_cut_between_characters() -> None:
    passage = excerpt_of("x" * 5000).around_words(200)
    assert passage.content == "x" * 200
    assert (passage.cut_before, passage.cut_after) == (True, True)


def test_no_word_is_cut_behind_an_accent_that_is_a_character_of_its_own() -> None:
    text = "word " * 13 + "e\u0301tude " + "word " * 9
    passage = excerpt_of(text, Highlight(0, 4, "word", "sentence")).around_words(67)
    assert passage.content == "word " * 12 + "word"


def test_a_sentence_of_two_lines_is_whole_where_it_has_room() -> None:
    said, other = "The pilots bring\nthe boats in at night.", "of no matter " * 20
    text = other + said + other
    sentence = Highlight(len(other), len(other + said), said, "sentence")
    assert said in excerpt_of(text, sentence).around_words(80).content


def test_what_stands_in_front_is_shown_where_nothing_follows() -> None:
    text = "of no matter " * 20 + "The pilots."
    sentence = Highlight(len(text) - 11, len(text), "The pilots.", "sentence")
    passage = excerpt_of(text, sentence).around_words(100)
    assert passage.content.endswith(sentence.text)
    assert len(passage.content) > 80


def test_a_part_names_the_hits_of_which_it_shows_something() -> None:
    text = "of no matter " * 40
    first, second = Extent(0, 260, 1, 1), Extent(260, 520, 1, 1)
    said = Highlight(0, 12, "of no matter", "sentence")
    hits = (PassageHit(1, "first", 0.4, first, (said,)), PassageHit(2, "second", 0.9, second))
    plan = PassagePlan(1, DOCUMENT, (), hits, first.united(second))
    excerpt = Excerpt(plan, text, begins_line=True, ends_line=True)
    part, whole = excerpt.around_words(60), excerpt.whole()
    assert (part.chunk_ids, part.score) == (("first",), 0.4)
    assert (whole.chunk_ids, whole.score) == (("first", "second"), 0.9)
