"""In the place of a word that no record holds, known words that are spelt nearly so are found."""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.lexical_index import compiling
from app.adapters.lexical_index.spelling import edits
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from tests.contracts.lexical_index_contract import found, record

TEXTS = {
    "document": "The document is kept in a drawer.",
    "documents": "Many documents are kept in a drawer, and lamps.",
    "lamp": "A lamp, and a stale lamp.",
    "lock": "The lock file of the ferry.",
    "locks": "A lock file that is stale.",
    "apart": "The file has no lock.",
    "scales": "Scales of a fish.",
    "scaling": "What is scaled.",
    "rare": "The walrus is said once.",
    "script": "JavaScript in a page.",
    "scripts": "A page without JavaScript.",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[TantivyIndex]:
    index = TantivyIndex(tmp_path / "tantivy")
    index.upsert([record(chunk_id, text) for chunk_id, text in TEXTS.items()])
    yield index
    index.close()


@pytest.mark.parametrize(
    "typed", ["documnet", "docment", "documment", "dogument", "ocument", "Documnet", "documenst"]
)
def test_a_mistyped_word_finds_what_says_the_right_one(index, typed):
    assert found(index, typed) == {"document", "documents"}


def test_the_stem_of_what_was_meant_is_found(index):
    assert found(index, "docuemnts") == {"document", "documents"}


def test_a_known_word_is_never_taken_for_another(index):
    assert found(index, "stale") == {"lamp", "locks"}
    assert found(index, "walrus") == {"rare"}


def test_a_name_within_a_longer_word_is_known(index):
    index.upsert([record(f"near-{number}", "gothub here") for number in range(2)])
    assert found(index, "github") == {"near-0", "near-1"}
    index.upsert([record("name", "GitHub-hosted machines")])
    assert found(index, "github") == {"name"}


def test_what_only_one_record_holds_is_in_no_place_of_another(index):
    assert found(index, "wallrus") == set()


def test_stop_words_are_in_no_place_of_another(index):
    index.upsert([record("stop", "which of them"), record("stops", "which of these")])
    assert found(index, "whicch") == set()


@pytest.mark.parametrize(
    "query", ['"documnet"', '"the documnet"', "documnet2", "docum_net", "docum.net", "--documnet"]
)
def test_quotes_and_names_are_looked_for_as_they_stand(index, query):
    assert not found(index, query) & {"document", "documents"}


def test_a_mistyped_exclusion_leaves_nothing_out(index):
    assert found(index, "drawer -documnet") == {"document", "documents"}


def test_short_words_are_looked_for_as_they_stand(index):
    assert found(index, "lapm") == set()


def test_of_two_words_written_together_each_is_known(index):
    assert found(index, "lockfile") == {"lock", "locks"}


def test_a_name_in_mixed_case_is_found_in_the_place_of_a_word(index):
    assert found(index, "javascrpt") == {"script", "scripts"}


def test_of_many_words_the_most_frequent_are_looked_for(index):
    for records, word in enumerate(["bolder", "colder", "holder", "folder", "older"], start=2):
        index.upsert([record(f"{word}-{number}", f"{word} here") for number in range(records)])
    said = {chunk_id.partition("-")[0] for chunk_id in found(index, "xolder")}
    assert said == {"holder", "folder", "older"}


def test_known_words_in_the_place_of_another_share_one_weight(index):
    """However many they are, a text that says them all gains no more than by one of them."""
    words = ["holder", "folder", "older"]
    for records, word in enumerate(words, start=4):
        index.upsert([record(f"{word}-{number}", f"{word} here") for number in range(records)])
    index.upsert([record("all", " ".join(words))])

    def score_of_all(query: str) -> float:
        return next(hit.score for hit in index.search(query, 20) if hit.chunk_id == "all")

    mean = sum(score_of_all(word) for word in words) / len(words)
    assert score_of_all("xolder") == pytest.approx(compiling.SUBSTITUTE_WEIGHT * mean)


def test_a_word_as_it_was_meant_counts_for_more_than_in_the_place_of_another(index):
    (typed, meant) = (index.search(query, 1)[0] for query in ("documnet", "document"))
    assert typed.chunk_id == meant.chunk_id
    assert 0 < typed.score < meant.score


def test_no_more_is_made_of_it_than_of_any_unknown_word(index):
    assert index.worth("documnet").ceiling == index.worth("quagga").ceiling
    assert index.search("documnet", 1)[0].score < index.worth("documnet").ceiling


@pytest.mark.parametrize(
    ("query", "guessed"),
    [("documnet", 1.0), ("document", 0.0), ("quagga", 0.0), ('"documnet"', 0.0), ("", 0.0)],
)
def test_what_is_guessed_is_known_as_a_share_of_the_query(index, query, guessed):
    assert index.worth(query).guessed == guessed


def test_each_word_counts_by_its_rarity_in_what_is_guessed(index):
    whole, part = index.worth("documnet walrus"), index.worth("documnet")
    assert whole.guessed == pytest.approx(part.ceiling / whole.ceiling)


def test_known_words_score_as_ever(index, monkeypatch):
    queries = ["stale lock file", "kept in a drawer", '"lock file" lamp -fish', "JavaScript page"]
    now = [index.search(query, 20) for query in queries]
    monkeypatch.setattr(compiling, "MAX_RESPELT", 0)
    assert now == [index.search(query, 20) for query in queries]
    assert index.search("documnet", 1) == []


def test_each_language_has_its_own_words(index):
    index.upsert(
        [
            record("de-1", "Die Handbücher im Regal", language="german"),
            record("de-2", "Ein Handbuch im Regal", language="german"),
        ]
    )
    assert found(index, "Handbcuh") == {"de-1", "de-2"}
    assert found(index, "documnet") == {"document", "documents"}


def test_a_word_that_is_added_is_known_from_then_on(index):
    assert found(index, "documnet") == {"document", "documents"}
    index.upsert([record("typed", "The documnet is mistyped here.")])
    assert found(index, "documnet") == {"typed"}


def test_what_was_known_before_a_change_is_let_go_at_once(index):
    """Each holds the files of its state open; the collector may come much later."""
    assert found(index, "documnet") == {"document", "documents"}
    former = weakref.ref(index._view.spelling)
    gc.disable()
    try:
        index.upsert([record("more", "Another text.")])
        assert former() is None
    finally:
        gc.enable()


def test_edits_undo_each_mistake():
    assert {"cat", "act", "cart", "car", "at", "bat", "chat"} <= {*edits("cat"), "cat"}
    assert "cat" not in edits("cat")
    assert len(edits("cat")) == len(set(edits("cat")))
