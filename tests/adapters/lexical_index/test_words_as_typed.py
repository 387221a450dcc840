"""What says the query in a row comes first, and what only seems to say it gains nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.lexical_index import tantivy_index
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.protocols import LexicalRecord, SearchScope
from tests.contracts.lexical_index_contract import many, record

TIES = 120
"""More than are looked at again."""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[TantivyIndex]:
    index = TantivyIndex(tmp_path / "tantivy")
    index.upsert(many(30))
    yield index
    index.close()


def first(index: TantivyIndex, query: str) -> str:
    return index.search(query, 1)[0].chunk_id


def scores(index: TantivyIndex, query: str) -> dict[str, float]:
    return {hit.chunk_id: hit.score for hit in index.search(query, 50)}


def test_a_name_with_signs_is_not_said_by_the_word_in_a_row(index):
    index.upsert(
        [
            record("word", "class slots are what a class has; uvicorn reload of the server"),
            record("name", "A class may have `__slots__` in it, uvicorn needs --reload for it."),
        ]
    )
    assert first(index, "class __slots__") == "name"
    assert first(index, "uvicorn --reload") == "name"


def test_a_version_with_a_v_is_said_as_it_stands(index):
    index.upsert(
        [
            record("with", "Version v2.1.3 released, and the lamps were mended"),
            record("without", "Version 2.1.3 released, and the lamps were mended"),
        ]
    )
    assert first(index, "Version v2.1.3 released") == "with"
    assert first(index, "Version 2.1.3 released") == "without"


def test_a_word_that_nothing_says_counts_against_nothing(index):
    index.upsert(
        [
            record("row", "lamps: cannot open lock of ferries"),
            record("apart", "ferries: open of lock cannot lamps"),
        ]
    )
    plain = scores(index, "cannot open lock")
    longer = scores(index, "cannot open lock Frobnicate")
    assert longer["row"] == pytest.approx(plain["row"])
    assert longer["row"] > 2 * longer["apart"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("kombu.exceptions.ContentDisallowed", "ContentDisallowed"),
        ("kombu.exceptions.ContentDisallowed: refused", "ContentDisallowed"),
        ("kombu.exceptions.content_disallowed", "content_disallowed"),
    ],
)
def test_what_a_dotted_name_ends_with_is_a_name_by_itself(index, asked, said):
    index.upsert(
        [
            record("name", f"Workers store results of errors like {said}, and of many others."),
            record("kombu", "kombu exceptions: kombu has exceptions of its own"),
            record("content", "disallowed exceptions to content, of content and of kombu"),
        ]
    )
    assert first(index, asked) == "name"


def test_what_says_a_dotted_name_in_full_outside_of_the_scope_changes_nothing_within(index):
    asked = "kombu.exceptions.ContentDisallowed"
    index.upsert(
        [
            record("name", "Workers store results of errors like ContentDisallowed, and others."),
            record("kombu", "kombu exceptions: kombu has exceptions of its own"),
            record("content", "disallowed exceptions to content, of content and of kombu"),
        ]
    )
    alone = [hit.chunk_id for hit in index.search(asked, 10, SearchScope(item_ids={1}))]
    index.upsert([record("elsewhere", f"{asked} is said here", item_id=2, document_number=2)])
    beside = [hit.chunk_id for hit in index.search(asked, 10, SearchScope(item_ids={1}))]
    assert alone[0] == "name"
    assert beside == alone
    assert first(index, asked) == "elsewhere"


def test_a_dotted_name_that_is_said_in_full_comes_before_its_last_part(index):
    index.upsert(
        [
            record("name", "ContentDisallowed: ContentDisallowed of kombu and its exceptions"),
            record("full", "On kombu.exceptions.ContentDisallowed nothing is stored; " + "x " * 20),
        ]
    )
    assert first(index, "kombu.exceptions.ContentDisallowed") == "full"


def test_words_of_titles_alone_are_words_in_a_row_as_well(index):
    index.upsert(
        [
            record("apart", "lamps", title="Handbook Frobnicate"),
            record("row", "lamps", title="Frobnicate Handbook"),
        ]
    )
    assert first(index, "frobnicate handbook") == "row"


@pytest.mark.parametrize(
    "query", ["PEP 8 naming conventions", "PEPs 8, 257 and 484", "what does PEP 8 say"]
)
def test_what_mentions_a_document_says_no_more_of_its_name(index, query):
    texts = [
        LexicalRecord(f"{number}", 1, number, "lamps and ropes", path=f"peps/pep-{number:04d}.rst")
        for number in (8, 257, 484)
    ]
    mention = "PEP 8 naming conventions are here, as PEPs 8, 257 and 484 say, and PEP 8 says"
    index.upsert([*texts, record("mention", mention)])
    assert first(index, query) in {"8", "257", "484"}


def test_a_message_that_ends_with_a_path_is_no_name_of_another_file(index):
    index.upsert(
        [
            record("message", "ropes: cannot open lock file src/app.py"),
            LexicalRecord("file", 1, 7, "lamps", path="app.py"),
        ]
    )
    found = scores(index, "cannot open lock file src/app.py")
    assert found["message"] > scores(index, "file lock open cannot src/app.py")["message"] * 1.1


def test_a_file_whose_name_has_blanks_is_named_from_any_folder_above(index):
    index.upsert([LexicalRecord("file", 1, 7, "lamps", path="my file.md"), record("no", "my file")])
    assert first(index, "docs/my file.md") == "file"


def test_of_ties_the_same_are_looked_at_however_they_came_in(tmp_path):
    """Half of them say it in a row, and gain; the others tie with them by words."""
    ties = [record(f"t{n:03d}", "lamp rope" if n % 2 else "rope lamp") for n in range(TIES)]
    answers = []
    for name, records in (("up", ties), ("down", ties[::-1])):
        index = TantivyIndex(tmp_path / name)
        for one in records:
            index.add([one])
        index.keep()
        answers.append(index.search("lamp rope", TIES))
        index.close()
    assert answers[0] == answers[1]
    assert [int(hit.chunk_id[1:]) % 2 for hit in answers[0]] == [1] * 60 + [0] * 60


def test_records_are_found_by_many_ids_as_they_are_by_few(
    index: TantivyIndex, monkeypatch: pytest.MonkeyPatch
):
    """Both ways of looking up ids: one by one, and by one automaton for all."""
    index.upsert([record(f"said {n}", f"the harbour light {n} burns all night") for n in range(9)])
    index.upsert([record("apart", "all the light of the night is in the harbour; nothing burns")])
    ids = [*(f"said {n}" for n in range(9)), "apart", "unknown"]

    def answers() -> tuple[dict[str, float], dict[str, int]]:
        return scores(index, "harbour light burns all night"), index.documents_of(ids)

    one_by_one = answers()
    assert len(one_by_one[0]) == len(one_by_one[1]) == 10
    monkeypatch.setattr(tantivy_index, "SOUGHT_ONE_BY_ONE", 0)
    assert answers() == one_by_one
