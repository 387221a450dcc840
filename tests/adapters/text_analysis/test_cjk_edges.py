"""A phrase begins and ends within CJK text wherever a reader sees it."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.query import parse_query
from app.search.words import QueryWords
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.contracts.lexical_index_contract import found, record

ENGLISH = Analyser("english")
_RUN = re.compile(r"[年月の]+|[5a]+")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyIndex]:
    index = TantivyIndex(tmp_path_factory.mktemp("tantivy"))
    yield index
    index.close()


def seen(phrase: str) -> re.Pattern[str]:
    """What a reader looks for: a space counts between like signs, words of Latin are whole."""
    runs = _RUN.findall(phrase)
    expression = "" if runs[0][0] in "年月の" else "(?<![5a])"
    for run, following in zip(runs, [*runs[1:], ""], strict=True):
        expression += run
        if following:
            alike = (run[0] in "5a") == (following[0] in "5a")
            expression += " +" if alike else " *"
    return re.compile(expression + ("" if runs[-1][0] in "年月の" else "(?![5a])"))


def tells_pairs_apart(text: str) -> bool:
    """No character is on both sides of a space: の年 年月 has the pairs of の年月."""
    return not re.search(r"([年月の]) +\1", text)


@given(
    texts=st.lists(
        st.text("年月の5 ", max_size=12).filter(tells_pairs_apart), min_size=1, max_size=8
    ),
    phrases=st.lists(st.text("年月の5 ", max_size=6), min_size=8, max_size=8),
    language=st.sampled_from([None, "english", "german"]),
)
@settings(max_examples=50, deadline=None)
def test_a_phrase_stands_where_a_reader_sees_it(
    index: TantivyIndex, texts: list[str], phrases: list[str], language: str | None
):
    records = [record(f"r{n}", f"x {text}", language=language) for n, text in enumerate(texts)]
    fake = FakeLexicalIndex()
    fake.upsert(records)
    index.remove(list(index.chunk_ids()))
    index.upsert(records)
    for phrase in (one.strip() for one in phrases if one.strip()):
        if not tells_pairs_apart(phrase):
            continue
        holding = {one.chunk_id for one in records if seen(phrase).search(one.content)}
        asked = f'"{phrase}"'
        words = QueryWords(parse_query(asked, ENGLISH), ENGLISH)
        assert found(index, asked) == found(fake, asked) == holding, phrase
        assert {
            one.chunk_id for one in records if not words.lack_phrases(one.content)
        } == holding, phrase
        excluding = QueryWords(parse_query(f"x -{asked}", ENGLISH), ENGLISH)
        assert {one.chunk_id for one in records if excluding.reject(one.content)} == holding
        left = index.chunk_ids() - holding
        if " " in phrase or len(_RUN.findall(phrase)) > 1:  # of one word, the text alone tells
            assert found(index, f"x -{asked}") == left, phrase


def test_a_character_beside_more_others_than_tantivy_looks_for_fails_nothing(tmp_path):
    index = TantivyIndex(tmp_path)
    pairs = " ".join(f"年{chr(0x3400 + n)} {chr(0x4E00 + n)}年" for n in range(6500))
    more = " ".join(f"年{chr(0x20000 + n)} {chr(0x20000 + n)}年" for n in range(10_000))
    index.upsert([record("many", f"{pairs} {more} 2024年の"), record("alone", "2024年5")])
    assert found(index, '"2024年"') == {"alone"}
    assert found(index, '"年5"') == {"alone"}
    assert found(index, '2024 -"2024年"') == {"many"}
    index.close()
