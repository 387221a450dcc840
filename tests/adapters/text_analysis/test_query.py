"""Only double quotes and a leading minus mean anything in a query; the rest is text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.query import (
    MAX_EXCLUSIONS,
    MAX_PHRASE_WORDS,
    MAX_PHRASES,
    MAX_WORDS,
    parse_query,
)
from app.rag.search_schemas import QUERY_SAYS

ANALYSER = Analyser()


def parsed(text: str) -> tuple[list[str], list[str], list[str]]:
    query = parse_query(text, ANALYSER)
    return (
        [word.whole for word in query.words],
        [" ".join(word.whole for word in phrase) for phrase in query.phrases],
        [" ".join(word.whole for word in phrase) for phrase in query.excluded],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", (["plain", "words"], [], [])),
        ('say "hello world" now', (["say", "now"], ["hello world"], [])),
        ("“hello world”", ([], ["hello world"], [])),
        ("„hello world“ or „old dogs”", (["or"], ["hello world", "old dogs"], [])),
        ("„hello “old dogs”", (["hello"], ["old dogs"], [])),
        ("„hello world", (["hello", "world"], [], [])),
        ("cats -dogs", (["cats"], [], ["dogs"])),
        ('cats -"big dogs" -“old dogs”', (["cats"], [], ["big dogs", "old dogs"])),
        ("cats -„big dogs“ -old„", (["cats"], [], ["big dogs", "old"])),
        ('"cats" -dogs', ([], ["cats"], ["dogs"])),
        ("-dogs", (["dogs"], [], [])),
        ("tar -x -z the -dogs", (["tar", "x", "z"], [], ["dogs"])),
        ("rsync -a, -av", (["rsync", "a"], [], ["av"])),
        ("tar -c -C", (["tar", "c", "c"], [], [])),
        ("-a", (["a"], [], [])),
        ('-"big dogs"', (["big", "dogs"], [], [])),
        ("... -dogs", (["dogs"], [], [])),
        ("well-known a-b", (["wellknown", "ab"], [], [])),
        ("pass --flag", (["pass", "--flag"], [], [])),
        ("cold -5 degrees", (["cold", "5", "degrees"], [], [])),
        ("cats - dogs", (["cats", "dogs"], [], [])),
        ('a 5" pipe and 6" pipe', (["5", "pipe", "6"], [], [])),
        ('unbalanced "quote', (["unbalanced", "quote"], [], [])),
        ('"" cats', (["cats"], [], [])),
        ("cats -C++", (["cats"], [], ["c++"])),
        ("title:cats AND (dogs OR fish)^2", (["title", "cats", "dogs", "fish", "2"], [], [])),
        ("cats cats CATS", (["cats"], [], [])),
        ('"big cats" -dogs\n', ([], ["big cats"], ["dogs"])),
        ('File "a.py", line 1\n  f(x) -y', (["file", "apy", "line", "1", "f", "x", "y"], [], [])),
    ],
)
def test_what_a_query_means(text: str, expected: tuple[list[str], list[str], list[str]]):
    assert parsed(text) == expected


def test_stop_words_are_left_out_only_beside_others():
    assert parsed("how to run the tests")[0] == ["run", "tests"]
    assert parsed("to be or not to be")[0] == ["to", "be", "or", "not"]
    assert parsed('"to be"')[1] == ["to be"]
    german = parse_query("the Haus", Analyser("german"))
    assert [word.whole for word in german.words] == ["the", "haus"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("why doesn't my task run", ["task", "run"]),
        ("why doesnt the task run", ["task", "run"]),
        ("I can\u2019t log in, they won't let me", ["log", "let", "me"]),
        ("I'd like what we'll need", ["like", "need"]),
        ("DON'T PANIC", ["panic"]),
        ("the id of a well, its cant", ["id", "well", "cant"]),
        ("I.D. card", ["id", "card"]),
        ("the server's O'Reilly don'ts", ["server", "oreilly", "donts"]),
        ("I don't", ["i", "dont"]),
    ],
)
def test_contractions_of_stop_words_are_stop_words(text: str, words: list[str]):
    assert parsed(text)[0] == words


def test_pasted_text_names_no_documents():
    assert parse_query("what does app.py do", ANALYSER).paths
    assert not parse_query('Traceback:\n  File "app.py", line 3, in main.py', ANALYSER).paths


def test_pasted_text_is_bounded():
    query = parse_query(" ".join(f"word{n}" for n in range(5000)), ANALYSER)
    assert len(query.words) == MAX_WORDS
    many = parse_query(
        "start " + ' "a b"  -c' * 500 + " ".join(f'"p{n} q" -x{n}' for n in range(99)), ANALYSER
    )
    assert len(many.phrases) <= MAX_PHRASES
    assert len(many.searched_exclusions) <= MAX_EXCLUSIONS


def test_what_is_quoted_behind_the_first_phrases_is_plain_words():
    """As the description of the interface says."""
    phrases = [f"first{n} second{n}" for n in range(MAX_PHRASES + 1)]
    words, required, _ = parsed(" ".join(f'"{phrase}"' for phrase in phrases))
    assert (required, words) == (phrases[:-1], phrases[-1].split())
    assert f"first {MAX_PHRASES} " in QUERY_SAYS


def test_what_an_index_need_not_look_for_is_kept_for_the_text_to_tell():
    query = parse_query("keys " + " ".join(f"-word{n}" for n in range(40)), ANALYSER)
    assert len(query.excluded) == 40
    long = " ".join(f"w{n}" for n in range(100))
    query = parse_query(f'keys "{long}" -"{long} end"', ANALYSER)
    assert [len(query.phrases[0]), len(query.excluded[0])] == [100, 101]
    assert len(query.searched_phrases[0]) == MAX_PHRASE_WORDS
    assert not query.searched_exclusions
    assert not query.are_phrases_surely_found


@given(st.text(st.one_of(st.sampled_from('ab"„“”- \t\n'), st.characters()), max_size=80))
def test_any_text_is_a_query(text: str):
    query = parse_query(text, ANALYSER)
    assert all(query.phrases)
    assert all(query.excluded)
    assert query.words or query.phrases or not query.excluded
    assert len(set(query.words)) == len(query.words)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("what does PEP 8 say", ["pep#8"]),
        ("8 of PEP -draft 8", []),
        ('flask "session cookie" 3', []),
        ('"session cookie" of RFC 3', ["rfc#3"]),
    ],
)
def test_a_number_belongs_to_the_word_that_stands_before_it_in_the_query(
    text: str, named: list[str]
) -> None:
    paths = parse_query(text, ANALYSER).paths
    assert [way for path in paths for way in path.ways] == named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cannot import name", ["cannot import", "import name"]),
        ("why do I get No such file?", ["get no such file"]),
        ("state of the art", ["state of the art"]),
        ("state of the of art", ["state of the of art"]),
        ("state of the of the art", []),
        ("one word", ["one word"]),
        ("word", []),
        ("to be or not", []),
        ("the task doesn't run", ["task doesnt run"]),
        ('red lamps "in quotes" old ropes', ["red lamps", "old ropes"]),
        ("red lamps -buoys ropes", ["red lamps"]),
        ("-red -lamps", []),
    ],
)
def test_neighbours_are_words_and_the_stop_words_between(text: str, expected: list[str]):
    neighbours = parse_query(text, ANALYSER).neighbours
    assert [" ".join(word.whole for word in words) for words in neighbours] == expected
