"""What tantivy finds is what a plain scan finds, and no query at all is an error."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.lexical_index import spelling
from app.adapters.lexical_index.fields import FieldWeights
from app.adapters.lexical_index.scoped_search import WIDE_SCOPE
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.protocols import SearchScope
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.contracts.lexical_index_contract import found, many, record

WORDS = st.sampled_from(
    [
        "user",
        "users",
        "name",
        "fox",
        "foxes",
        "getUserName",
        "get_user",
        "GitHub",
        "github",
        "C++",
        "__user__",
        "--user",
        "-u",
        "_name",
        "self._name",
        "Häuser",
        "hausen",
        "the",
        ":=",
        "->",
        "京都",
    ]
)
LANGUAGES = st.sampled_from([None, "english", "german", "swedish"])
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
CLAUSES = st.one_of(WORDS, TEXTS.map('"{}"'.format), WORDS.map("-{}".format))
QUERIES = st.lists(CLAUSES, max_size=4).map(" ".join)
SIGNS = st.one_of(st.sampled_from("ab\"“”-' \t\x00*:^~()[]🎉字é\u0301\ud800"), st.characters())


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyIndex]:
    """It looks for no word in the place of another, as a scan does not either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spelling, "LEAST_RECORDS", 1000)
        index = TantivyIndex(tmp_path_factory.mktemp("tantivy"))
        yield index
        index.close()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyIndex]:
    """400 records that say the words in every order, more or less often."""
    words = ["user name", "name user", "users the fox", "foxes name", "github user name", "--user"]
    index = TantivyIndex(tmp_path_factory.mktemp("rows"))
    index.upsert(
        [
            record(f"r{n:03d}", f"{words[n % 6]} {'fox ' * (n % 7)}{words[n % 5]}{' x' * (n % 11)}")
            for n in range(400)
        ]
    )
    yield index
    index.close()


@given(
    texts=st.lists(st.tuples(TEXTS, LANGUAGES), min_size=1, max_size=8),
    queries=st.lists(QUERIES, min_size=8, max_size=8),
)
@settings(max_examples=30, deadline=None)
def test_tantivy_finds_what_a_scan_finds(
    index: TantivyIndex, texts: list[tuple[str, str | None]], queries: list[str]
):
    records = [
        record(f"r{number}", text, number % 2, number % 3, language=language)
        for number, (text, language) in enumerate(texts)
    ]
    fake = FakeLexicalIndex()
    fake.upsert(records)
    index.remove(list(index.chunk_ids()))
    index.upsert(records)
    for query in queries:
        for scope in (SearchScope(), SearchScope([1]), SearchScope(document_numbers=[0, 2])):
            assert found(index, query, scope) == found(fake, query, scope), query


SPELLINGS = st.sampled_from(
    ["java", "Java8", "script", "javascript", "JavaScript", "java_script", "MyJavaScripts", "my-JS"]
)
SPELT = st.lists(SPELLINGS, max_size=5).map(" ".join)


@given(
    texts=st.lists(SPELT, min_size=1, max_size=8),
    words=st.lists(SPELLINGS, min_size=4, max_size=4),
    phrases=st.lists(SPELT, min_size=4, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_exclusions_leave_out_what_says_a_word_and_never_what_does_not(
    index: TantivyIndex, texts: list[str], words: list[str], phrases: list[str]
):
    records = [record(f"r{number}", f"shared {text}") for number, text in enumerate(texts)]
    fake = FakeLexicalIndex()
    fake.upsert(records)
    index.remove(list(index.chunk_ids()))
    index.upsert(records)
    for word in ("java", "script", "javascript", "js"):
        assert found(index, f"shared -{word}") == found(fake, f"shared -{word}"), word
    for text in (*words, *phrases):
        assert found(index, f'shared -"{text}"') >= found(fake, f'shared -"{text}"'), text


@given(TEXTS, st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_the_first_of_few_are_the_first_of_many(rows: TantivyIndex, query: str, limit: int):
    assert rows.search(query, limit) == rows.search(query, 1000)[:limit]


@given(st.text(SIGNS, max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_may_be_asked(index: TantivyIndex, query: str):
    for hit in index.search(query, 10, SearchScope([0, 1])):
        assert hit.score > 0


def test_a_field_of_weight_zero_is_not_looked_into(tmp_path):
    index = TantivyIndex(tmp_path, weights=FieldWeights(path=0.0))
    index.upsert([record("one", "content", path="docs/hidden.md"), *many(3)])
    assert found(index, "hidden") == set()
    assert found(index, "content") == {"one"}
    index.close()


def test_a_title_weighs_as_much_as_it_is_told(tmp_path):
    records = [record("title", "alpha", title="the wind"), record("body", "wind wind alpha")]
    for weight, first in ((0.01, "body"), (50.0, "title")):
        index = TantivyIndex(tmp_path / first, weights=FieldWeights(title=weight))
        index.upsert(records)
        assert index.search("wind", 2)[0].chunk_id == first
        index.close()


@pytest.mark.parametrize("told", [1.0, 1 / 2, 1 / 12])
@pytest.mark.parametrize("every", [1, 2, 7, 500])
def test_a_wide_scope_gives_the_best_within_it_as_a_narrow_one_would(tmp_path, every, told):
    """Whatever it is told of its share."""
    index = TantivyIndex(tmp_path)
    texts = ["fox " * (1 + number % 5) + "word " * (number % 17) for number in range(2000)]
    index.upsert([record(f"r{n:04}", text, n, n) for n, text in enumerate(texts)])
    allowed = range(0, 2000, every)
    elsewhere = range(5000, 5000 + WIDE_SCOPE)  # items that hold nothing make the scope wide
    narrow = index.search("fox", 2000, SearchScope(item_ids=list(allowed), share=0.0))
    for scope in (
        SearchScope(item_ids=[*allowed, *elsewhere], share=told),
        SearchScope(document_numbers={*allowed, *elsewhere}, share=told),
        SearchScope(range(2000), [*allowed, *elsewhere], share=told),
    ):
        for limit in (1, 10, 300, 3000):
            hits = index.search("fox", limit, scope)
            assert [hit.score for hit in hits] == [hit.score for hit in narrow[:limit]]
            assert {int(hit.chunk_id[1:]) for hit in hits} <= set(allowed)
    index.close()
