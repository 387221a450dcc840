"""Text becomes the same terms wherever it stands, each with the characters it stands for."""

import gc
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.adapters.text_analysis.analyser import MAX_TERM_CHARACTERS, Analyser, fold
from app.adapters.text_analysis.terms import StretchTerms, Token

ANALYSER = Analyser()
TEXTS = st.text(
    st.one_of(
        st.sampled_from("aZé_-.' \u0301\u00ad字カก+#\"ß1,0ﬁİ\ud800🎉\u200d"), st.characters()
    ),
    max_size=60,
)


def parts(text: str) -> list[str]:
    return ANALYSER.index_terms(text).parts


def wholes(text: str) -> list[str]:
    return ANALYSER.index_terms(text).wholes


@pytest.mark.parametrize(
    ("text", "expected", "whole"),
    [
        ("getUserName", ["get", "user", "name"], ["getusername"]),
        ("get_user_name", ["get", "user", "name"], ["getusername"]),
        ("get-user-name", ["get", "user", "name"], ["getusername"]),
        ("GetUserName", ["get", "user", "name"], ["getusername"]),
        ("HTTPServer2", ["http", "server", "2"], ["httpserver2"]),
        ("app.main", ["app", "main"], ["appmain"]),
        ("APIs", ["api"], []),
        ("sha256", ["sha", "256"], ["sha256"]),
        ("v1.2.3", ["v", "1", "2", "3"], ["v1.2.3"]),
        ("1,000", ["1", "000"], ["1000"]),
        ("1,0000", ["1", "0000"], []),
        ("9f86d081884c7d65", ["9f86d081884c7d65"], []),
        ("user's", ["user"], []),
        ("C++", ["c++"], []),
        ("C++17", ["c++", "17"], []),
        ("-std=c++2a", ["std", "c++", "2", "a"], ["-std", "2a"]),
        ("i++1", ["i", "1"], []),
        ("C#", ["c#"], []),
        (".NET", ["net"], [".net"]),
        ("__slots__", ["slot"], ["__slots__"]),
        ("_private", ["privat"], ["_private"]),
        ("__hidden", ["hidden"], ["__hidden"]),
        ("_emphasis_", ["emphasi"], []),
        ("a_reference_", ["a", "refer"], ["areference"]),
        ("rope_", ["rope"], []),
        ("--reload", ["reload"], ["--reload"]),
        ("`--reload`", ["reload"], ["--reload"]),
        ("--root-path", ["root", "path"], ["rootpath"]),
        ("self._Private", ["self", "privat"], ["selfprivate", "_private"]),
        ("a.__dict__.keys", ["a", "dict", "key"], ["adictkeys", "__dict__"]),
        ("a._user_name", ["a", "user", "name"], ["ausername"]),
        ("---reload", ["reload"], []),
        ("well--known", ["well", "known"], []),
        ("end.", ["end"], []),
        ("running", ["run"], []),
        ("____", [], []),
        ("東京都", ["東京", "京都"], ["東", "京", "都"]),
        ("字", ["字"], ["字"]),
        ("API設計", ["api", "設計"], ["設", "計"]),
        ("हिन्दी", ["हिन्दी"], []),
        ("\u0301 \u200d \ufe0f", [], []),
    ],
)
def test_words_are_taken_apart_and_kept_whole(text: str, expected: list[str], whole: list[str]):
    assert parts(text) == expected
    assert wholes(text) == whole


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe\u0301"),
        ("CAFÉ", "cafe"),
        ("Straße", "STRASSE"),
        ("\ufb01le", "file"),
        ("auto\u00admatic", "automatic"),
        ("Ёлка", "елка"),
        ("ﾃｽﾄ", "テスト"),
        ("Ørsted", "orsted"),
        ("RE\u0301SUME\u0301", "résumé"),
        ("E\u0301COLES", "écoles"),
        ("getE\u0301tat", "get_état"),
        ("HTTPE\u0301tat", "http_état"),
        ("A\u0301PIs", "ápi"),
        ("HY\u00adPHEN", "hyphen"),
        ("ＲＥＳＵＭＥ", "resume"),  # noqa: RUF001
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
        ("가\u11a8", "각"),
        ("ﾊﾟｿｺﾝ", "パソコン"),
        ("ｻｰﾊﾞｰ", "サーバー"),
    ],
)
def test_differences_of_mere_form_are_folded(one: str, other: str):
    assert parts(one) == parts(other) != []


@given(st.text(st.sampled_from("éÉñÑÅßaAbB1_-'. ЙйЁΆάḥộỘ한글ガが漢กำड़أ\u00ad"), max_size=30))
@example("--\u00c5")
@settings(max_examples=400)
def test_accents_taken_apart_change_no_term_and_no_place(text: str):
    def terms(form: Literal["NFC", "NFD"]) -> list[tuple[str, bool, int, str]]:
        written = unicodedata.normalize(form, text)
        return [
            (t.term, t.is_whole, t.position, unicodedata.normalize("NFC", written[t.start : t.end]))
            for t in ANALYSER.analyse(written)
        ]

    assert terms("NFD") == terms("NFC")


@pytest.mark.parametrize(("language", "text"), [("porter", "s"), ("nepali", "छ")])
def test_a_word_that_is_but_an_ending_stays_whole(language: str, text: str):
    assert Analyser(language).index_terms(text).parts == text.split()


def test_a_minus_before_a_word_is_no_term():
    words = Analyser("english").words("-m -漢字 -über -C++")
    assert [word.parts for word in words] == [("m",), ("漢字",), ("uber",), ("c++",)]
    assert [word.is_switch for word in words] == [True, False, False, False]


def test_a_split_says_how_a_name_is_taken_apart():
    assert ANALYSER.index_terms("FastAPI and GitHub").splits == [
        "fastapi=fast=api",
        "github=git=hub",
    ]


def test_a_name_in_mixed_case_within_a_longer_word_is_known_by_itself():
    assert ANALYSER.index_terms("GitHub-hosted, MyClient.OAuth2").splits == [
        "githubhosted=git=hub=host",
        "github=git=hub",
        "myclientoauth2=my=client=o=auth=2",
        "myclient=my=client",
        "oauth=o=auth",
    ]
    tokens = [token for token in ANALYSER.analyse("use GitHub-hosted") if token.term == "github"]
    assert [(token.start, token.end, token.is_whole) for token in tokens] == [(4, 10, True)]


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("kombu.exceptions.ContentDisallowed", [("contentdisallowed", 2, 4)]),
        ("app.conf.task_always_eager", [("taskalwayseager", 2, 5)]),
        ("MyClient.call-back.x", [("myclient", 0, 2), ("callback", 2, 4)]),
        ("getUserName", []),
        ("log.retention.hours", []),
        ("3.1.2", []),
    ],
)
def test_names_in_several_parts_between_dots_are_members(
    text: str, members: list[tuple[str, int, int]]
):
    assert [*ANALYSER.words(text)[0].members] == members


def test_the_language_decides_how_words_are_stemmed():
    assert Analyser("german").words("Häuser")[0].parts == Analyser("german").words("haus")[0].parts
    with pytest.raises(ValueError, match="Known are"):
        Analyser("klingon")


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("portuguese", "configuração configurações configurar configuracao CONFIGURAÇÕES"),
        ("portuguese", "versão versões versao versoes"),
        ("portuguese", "executável executáveis executar executavel"),
        ("catalan", "configuració configuracions configurar configuracio"),
        ("french", "installée installées installé installer installee"),
        ("french", "premières premier première premiere"),
    ],
)
def test_a_word_is_one_term_whether_its_ending_has_an_accent_or_not(language: str, forms: str):
    analyser = Analyser(language)
    assert len(set(analyser.index_terms(forms).parts)) == 1
    assert set(analyser.stems([fold(form) for form in forms.split()])) == {
        analyser.index_terms(forms).parts[0]
    }


@pytest.mark.parametrize("language", ["portuguese", "catalan", "french"])
def test_endings_with_accents_are_those_of_their_language(language: str):
    words = "does tree Macao portfolio"
    assert Analyser("english").index_terms(words).parts == ["doe", "tree", "macao", "portfolio"]
    assert all(term.isascii() for term in Analyser(language).index_terms(words).parts)


def test_stems_leave_identifiers_in_one_piece_alone():
    assert wholes("get_running_services") == ["getrunningservices"]


@given(TEXTS)
@settings(max_examples=400)
def test_tokens_stand_in_the_text_and_agree_with_what_is_indexed(text: str):
    tokens = ANALYSER.analyse(text)
    indexed = ANALYSER.index_terms(text)
    assert [token.term for token in tokens if not token.is_whole] == indexed.parts
    assert [token.position for token in tokens if not token.is_whole] == list(
        range(len(indexed.parts))
    )
    wholes = Counter(indexed.wholes)
    names_within = Counter(split.partition("=")[0] for split in indexed.splits) - wholes
    assert Counter(token.term for token in tokens if token.is_whole) == wholes + names_within
    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert 0 <= token.position < len(indexed.parts)
        assert 0 < len(token.term) <= MAX_TERM_CHARACTERS
        assert not set(token.term) & set(" =\t\n\ud800")
    assert [part for word in ANALYSER.words(text) for part in word.parts] == indexed.parts


@given(st.from_regex(r"[A-Za-z][a-z]*|[A-Z]+s?|[0-9]+|[A-Za-z0-9]+", fullmatch=True))
@example("x" * (MAX_TERM_CHARACTERS + 1))
@settings(max_examples=400)
def test_what_is_quickly_analysed_is_what_the_parts_of_its_words_say(word: str):
    said = StretchTerms.of(ANALYSER.words(word))
    assert ANALYSER.analyse(word) == [Token(*values) for values in said.tokens]
    indexed = ANALYSER.index_terms(word)
    assert [tuple(terms) for terms in indexed] == list(said[1:])


@given(TEXTS)
@example("\u6771\u4eac\u3067\u732b and self.__dict__")
@settings(max_examples=400)
def test_tokens_stand_in_the_order_of_the_text_and_of_one_start_the_longest_first(text: str):
    spans = [(token.start, -token.end) for token in ANALYSER.analyse(text)]
    assert spans == sorted(spans)


@given(TEXTS)
@example("\u01fd \u01ff")
def test_folding_twice_is_folding_once(text: str):
    text = "".join(filter(str.isalnum, text))
    assert fold(fold(text)) == fold(text)


def test_the_span_of_a_name_covers_it():
    tokens = ANALYSER.analyse("see getUserName now")
    assert [(t.term, t.start, t.end, t.position) for t in tokens if t.is_whole] == [
        ("getusername", 4, 15, 1)
    ]


def test_very_long_words_are_cut_alike_in_texts_and_queries():
    long = "x" * 100_000
    assert parts(long) == ["x" * MAX_TERM_CHARACTERS]
    assert len(parts("aB" * 50_000)) == 1


def test_many_threads_may_share_an_analyser():
    texts = [f"running services number{n} getName{n}" for n in range(300)]
    expected = [ANALYSER.index_terms(text) for text in texts]
    shared = Analyser()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(shared.index_terms, texts)) == expected


def test_the_collector_of_garbage_has_one_object_at_most_to_look_at_for_a_remembered_word() -> None:
    analyser, words = Analyser(), [f"getValueOf{number}Rows" for number in range(5_000)]
    gc.collect()
    before = len(gc.get_objects())
    for word in words:
        analyser.analyse(f"call {word}() or ({word})")
        analyser.analyse_stretch(word)
    gc.collect()
    assert len(gc.get_objects()) - before <= 1.05 * len(words)


@given(st.from_regex(r"[A-Za-z]?[a-z]{1,70}", fullmatch=True))
def test_the_short_way_for_plain_words_gives_what_the_long_one_does(word: str) -> None:
    owned = f"{word}'s"  # which only the long one can read
    assert ANALYSER.analyse(word) == ANALYSER.analyse(owned)
    assert ANALYSER.index_terms(word) == ANALYSER.index_terms(owned)
    assert ANALYSER.words(word) == ANALYSER.words(owned)
