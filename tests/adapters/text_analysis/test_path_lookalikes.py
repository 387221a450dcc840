"""What merely looks like a path changes nothing; what is one brings its document first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.lexical_index.fields import FieldWeights
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.protocols import LexicalHit, LexicalRecord

KEYS = {
    "e.g.": "examples/e.g.md",
    "and/or": "logic/and/or.md",
    "3.11": "whatsnew/3.11.rst",
    "node.js": "guide/node.js.md",
    "fastapi.Depends": "reference/fastapi.Depends.md",
    "TCP/IP": "net/tcp/ip.md",
    "client/server": "net/client/server.md",
    "os.path": "library/os.path.rst",
}
SENTENCES = ("how does {} work?", "ropes and lamps with {}", "What changed in {}, and why?")

Search = Callable[[str], list[LexicalHit]]


@pytest.fixture(params=[False, True], ids=["no such documents", "such documents"])
def has_named(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def searches(tmp_path: Path, has_named: bool) -> tuple[Search, Search]:
    """Of the same records: as it is, and as if paths told nothing."""
    texts = {f"docs/{n}.md": f"{term} and ropes, {n}" for n, term in enumerate(KEYS)}
    texts |= {f"docs/lamp-{n}.md": f"how lamps work, {n}, and what changed" for n in range(20)}
    texts |= dict.fromkeys(KEYS.values(), "lamps and ropes") if has_named else {}
    records = [
        LexicalRecord(f"{n:032x}", 1, n, text, path=key)
        for n, (key, text) in enumerate(texts.items())
    ]
    index = TantivyIndex(tmp_path)
    index.upsert(records)
    without = TantivyIndex(tmp_path, weights=FieldWeights(tails=0))
    return (lambda query: index.search(query, 100)), (lambda query: without.search(query, 100))


@pytest.mark.parametrize("term", KEYS)
def test_in_a_sentence_what_merely_looks_like_a_path_changes_nothing(searches, term):
    found, found_without = searches
    for sentence in SENTENCES:
        assert found(sentence.format(term)) == found_without(sentence.format(term)) != []


@pytest.mark.parametrize("term", KEYS)
def test_alone_it_names_the_document_of_that_name_if_there_is_one(searches, has_named, term):
    found, found_without = searches
    if has_named:
        first = next(n for n, key in enumerate(KEYS) if key == term) + len(KEYS) + 20
        assert found(term)[0].chunk_id == f"{first:032x}"
    else:
        assert found(term) == found_without(term) != []
