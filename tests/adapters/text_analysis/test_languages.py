"""Several languages in one tantivy index: each word counts once, and as much in each of them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from app.adapters.lexical_index.compiling import MAX_SEARCHED_WORDS
from app.adapters.lexical_index.probe import probe_tantivy
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.text_analysis.languages import Languages
from app.protocols import LexicalRecord
from tests.contracts.lexical_index_contract import found, record


def index_of(folder: Path, records: Sequence[LexicalRecord]) -> TantivyIndex:
    index = TantivyIndex(folder)
    index.upsert(records)
    return index


def scores(index: TantivyIndex, query: str) -> dict[str, float]:
    return {hit.chunk_id: hit.score for hit in index.search(query, 1000)}


def shelf(*, language: str | None, few: int = 3, many: int = 60) -> list[LexicalRecord]:
    """Many English records about kubernetes, few in the language; all of one length."""
    english = [record(f"en-{n}", f"kubernetes cluster number{n}") for n in range(many)]
    others = [
        record(f"xx-{n}", f"kubernetes anleitung nummer{n}", language=language) for n in range(few)
    ]
    return english + others


@pytest.mark.parametrize("query", ["kubernetes", "kubernetes cluster", '"kubernetes"'])
def test_a_word_weighs_as_much_in_a_language_of_few_records(tmp_path: Path, query: str):
    alone = scores(index_of(tmp_path / "one", shelf(language=None)), query)
    beside = scores(index_of(tmp_path / "two", shelf(language="german")), query)
    assert beside == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize(
    "query",
    [
        "JavaScript module vs javascript",
        "e-mail or email",
        "GitHub, github and git-hub",
        '"JavaScript closures" javascript',
        '"github" "GitHub"',
    ],
)
def test_names_in_two_spellings_weigh_as_much_once_there_is_another_language(
    tmp_path: Path, query: str
):
    """Part of a name is one thing, the name in one piece another, however rare either is."""
    texts = ["java mail git e hub script"] * 60 + ["module of java"] * 9 + ["else"] * 200
    texts += ["javascript closures", "JavaScript closures", "an email", "an e-mail"]
    texts += ["on github", "on GitHub", "on git-hub"]
    records = [record(f"en-{n}", text) for n, text in enumerate(texts)]
    alone = scores(index_of(tmp_path / "one", records), query)
    unrelated = record("de", "Anleitung", language="german")
    beside = scores(index_of(tmp_path / "two", [*records, unrelated]), query)
    assert beside == pytest.approx(alone, rel=0.02)


def test_forms_of_a_word_count_as_one_word(tmp_path: Path):
    """The same texts, once with the stems that a word has in common, once without."""
    texts = [("run", "runs fast"), ("running", "running fast"), ("other", "sits still")]
    alone = index_of(tmp_path / "one", [record(key, text) for key, text in texts])
    beside = index_of(
        tmp_path / "two",
        [record(key, text, language="german" if key == "running" else None) for key, text in texts],
    )
    assert scores(beside, "running") == pytest.approx(scores(alone, "running"), rel=1e-5)
    assert beside.worth("running").ceiling == alone.worth("running").ceiling
    assert beside.worth("running still").ceiling == alone.worth("running still").ceiling


def test_a_guess_among_more_words_than_are_searched_for_is_a_share_in_every_language(
    tmp_path: Path,
):
    """Which of them are the rarest, and so searched for, differs by language."""
    words = [f"{first}{second}word" for first in "abcdefgh" for second in "klmnopqr"]
    records = [record(f"en-{number}", " ".join(words)) for number in range(3)]
    records += [
        record(f"de-{number}", "document anleitung", language="german") for number in range(3)
    ]
    index, query = index_of(tmp_path, records), " ".join(["documnet", *words])
    assert len(words) > MAX_SEARCHED_WORDS
    assert index.search(query, 10)
    assert 0 < index.worth(query).guessed <= 1


def test_with_one_language_in_use_every_score_is_as_if_there_were_no_others(tmp_path: Path):
    records = shelf(language=None)
    named = [LexicalRecord(*(*each_without_language(one), "english")) for one in records]
    plain, said = index_of(tmp_path / "one", records), index_of(tmp_path / "two", named)
    for query in ("kubernetes clusters", '"kubernetes cluster"', "anleitung -number3"):
        assert scores(plain, query) == scores(said, query)
        assert plain.worth(query).ceiling == said.worth(query).ceiling


def each_without_language(one: LexicalRecord) -> tuple[object, ...]:
    return (
        one.chunk_id, one.item_id, one.document_number, one.content, one.titles, one.heading_path,
        one.path,
    )  # fmt: skip


def test_a_language_is_in_use_as_long_as_a_record_has_it(tmp_path: Path):
    index = index_of(tmp_path, shelf(language="german"))
    assert found(index, "the Anleitungen") == {"xx-0", "xx-1", "xx-2"}
    index.upsert(shelf(language=None))
    assert found(index, '"Anleitungen"') == set()
    index.close()
    again = TantivyIndex(tmp_path)
    assert found(again, '"Anleitungen"') == set()
    again.upsert([record("xx-1", "Anleitung", language="german")])
    again.close()
    assert found(TantivyIndex(tmp_path), "Anleitungen") == {"xx-1"}


def test_an_index_of_several_languages_passes_its_probe(tmp_path: Path):
    index_of(tmp_path, shelf(language="german")).close()
    assert probe_tantivy(tmp_path, 60) is None


def test_what_deleted_records_leave_behind_is_no_language_in_use(tmp_path: Path):
    index = TantivyIndex(tmp_path, languages=Languages("german"))
    others = [record(f"de-{n}", f"nummer{n} the") for n in range(20)]
    index.upsert([*others, record("en", "a cup", language="english")])
    assert found(index, "the Tasse") == set()  # nobody looks for the English stop word
    index.upsert([record("en", "a cup")])
    assert found(index, "the Tasse") == {one.chunk_id for one in others}


def test_stop_words_of_one_language_are_looked_for_in_none(tmp_path: Path):
    """Else an English question would find German texts by `was`, which is `what`."""
    index = index_of(
        tmp_path,
        [record("german", "was ist das", language="german"), record("english", "a fast engine")],
    )
    assert found(index, "what was the engine") == {"english"}
    assert found(index, "was") == {"german"}  # on its own it counts


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ('"neue Anleitung"', {"de"}),
        ('"GitHub" "fast"', {"en"}),
        ('"github" schnell', {"en", "de"}),
        ('"github" "nowhere"', set()),
        ("github -fast", {"de"}),
        ('github -"neue Anleitungen"', {"en"}),
        ('github -"nowhere at all"', {"en", "de"}),
    ],
)
def test_phrases_and_exclusions_speak_of_every_language(tmp_path: Path, query: str, ids: set[str]):
    german = record("de", "GitHub: die neue Anleitung, schnell", language="german")
    index = index_of(tmp_path, [record("en", "github is fast"), german])
    assert found(index, query) == ids


def test_an_analyser_is_made_once_a_language(tmp_path: Path):
    languages = Languages("german")
    assert languages.analyser() is languages.analyser("german") is languages.analyser("klingon")
    assert languages.analyser("english") is languages.analyser("english")
    assert languages.mark(None) == languages.mark("german") == ""
    with pytest.raises(ValueError, match="no stemmer for 'klingon'"):
        Languages("klingon")
