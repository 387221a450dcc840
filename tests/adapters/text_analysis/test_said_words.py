"""What a text says, asked for many phrases together."""

import time

from hypothesis import example, given
from hypothesis import strategies as st

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.query import parse_query
from app.adapters.text_analysis.said_words import PhrasesByBeginning, SaidWords
from tests.processor_speed import is_within

ANALYSER = Analyser()
PIECES = st.lists(
    st.sampled_from(
        [
            *("java", "JavaScript", "get user", "getUserName", "__init__", "--reload", "C++"),
            *("2.1.3", "-m", "running", "e-mail", "state of the art", "v2"),
            *("\u6771\u4eac", "\u6771\u4eac\u90fd"),
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(PIECES, PIECES)
@example(["JavaScript"], ["java"])
def test_asked_together_they_are_said_where_one_of_them_is(text: list[str], asked: list[str]):
    excluded = parse_query("x " + " ".join(f'-"{words}"' for words in asked), ANALYSER).excluded
    said = SaidWords(ANALYSER.words(" ".join(text)))
    assert said.say_any(PhrasesByBeginning(excluded)) == any(map(said.say, excluded))


def test_a_thousand_exclusions_take_little_longer_than_one():
    words = [f"word{number}x" for number in range(1000)]
    excluded = PhrasesByBeginning(
        parse_query("keys " + " ".join(f"-{word}" for word in words), ANALYSER).excluded
    )
    text = ANALYSER.words("the keys of the harbour " * 40)
    started = time.process_time()
    for _ in range(200):
        assert not SaidWords(text).say_any(excluded)
    assert is_within(1.0, started)
