"""What a query costs where several languages are in use: each term is counted once."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tantivy

from app.adapters.lexical_index.compiling import QueryCompiler
from app.adapters.lexical_index.fields import FieldWeights, make_document, make_schema
from app.adapters.lexical_index.spelling import Spelling
from app.adapters.lexical_index.term_counts import TermCounts, term_counts
from app.adapters.text_analysis.languages import Languages
from tests.contracts.lexical_index_contract import record

NAMES = "getUserName loadFile savePath findThing makeValue runJob"
"""In a phrase, some of these are tried in parts and in one piece: 24 ways of writing."""


class CountingSearcher:
    """A searcher that notes for which terms it was asked how many records hold them."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self.asked: Counter[tuple[str, str]] = Counter()

    def doc_freq(self, field: str, term: str) -> int:
        self.asked[field, term] += 1
        return self._searcher.doc_freq(field, term)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._searcher, name)


@pytest.fixture
def searcher(tmp_path: Path) -> CountingSearcher:
    """Of an index where English records hold the names, and a German one does not."""
    index = tantivy.Index(make_schema(), str(tmp_path))
    writer = index.writer(15_000_000, 1)
    for one in (
        record("en-1", NAMES),
        record("en-2", NAMES.lower()),
        record("de-1", "Anleitung", language="german"),
    ):
        writer.add_document(make_document(one, Languages()))
    writer.commit()
    index.reload()
    return CountingSearcher(index.searcher())


def compiled(searcher: CountingSearcher, query: str, counts: TermCounts | None = None) -> str:
    queries = Languages().queries(query, {"german"})
    spelling = Spelling(searcher, Languages())  # type: ignore[arg-type]
    counts = counts or term_counts(searcher)  # type: ignore[arg-type]
    compiler = QueryCompiler(make_schema(), searcher, counts, FieldWeights(), queries, spelling)  # type: ignore[arg-type]
    return str(compiler.compile())


@pytest.mark.parametrize("query", [f'"{NAMES}"', f'user -"{NAMES}"', NAMES])
def test_each_term_is_counted_once_a_query(searcher: CountingSearcher, query: str) -> None:
    compiled(searcher, query)
    assert set(searcher.asked.values()) == {1}


def test_each_term_is_counted_once_in_one_state_of_the_index(searcher: CountingSearcher):
    counts = term_counts(searcher)  # type: ignore[arg-type]
    for query in (NAMES, f'"{NAMES}"', f"user {NAMES}"):
        compiled(searcher, query, counts)
    assert set(searcher.asked.values()) == {1}


@pytest.mark.parametrize("query", [f'"{NAMES}"', f'user -"{NAMES}"', NAMES])
def test_what_no_record_of_a_language_says_is_not_looked_for(
    searcher: CountingSearcher, query: str
) -> None:
    looked_for = compiled(searcher, query)
    assert '"loadfil"' in looked_for
    assert "german:load" not in looked_for
    assert "german:" in compiled(searcher, '"Anleitung"')
