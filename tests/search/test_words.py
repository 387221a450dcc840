"""What a query's words ask of a text: highlights that can be checked, exclusions, phrases."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.graphemes import grapheme_breaks
from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.query import parse_query
from app.adapters.text_analysis.shown import shown_paragraphs
from app.search.words import MAX_WORD_HIGHLIGHTS, QueryWords

ENGLISH = Analyser("english")
ALPHABET = "abAB1 \n.\"-_'(*+#é漢字กำ🦊🇩🇪\u200d\u0301\u00ad\u202e\0\ud800"
ANY_TEXT = st.text(ALPHABET, max_size=60) | st.text(max_size=40)
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
GERMANY, DENMARK = "\U0001f1e9\U0001f1ea", "\U0001f1e9\U0001f1f0"


def words(query: str) -> QueryWords:
    return QueryWords(parse_query(query, ENGLISH), ENGLISH)


def marked(query: str, content: str) -> list[str]:
    return [found.text for found in words(query).highlights(content) if found.kind == "word"]


def sentence(query: str, content: str) -> str:
    return words(query).highlights(content)[0].text


@given(ANY_TEXT, ANY_TEXT)
def test_nothing_fails_and_every_highlight_is_a_stretch_of_the_content(query, content):
    asked = words(query)
    for text in (content, f"{content} {query}. {content}"):
        asked.reject(text)
        highlights = asked.highlights(text)
        assert all(text[h.start : h.end] == h.text != "" for h in highlights)
        kinds = [h.kind for h in highlights]
        assert kinds == ["sentence"] * (kinds != []) + ["word"] * (len(kinds) - 1)
        spans = [(h.start, h.end) for h in highlights[1:]]
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        breaks = grapheme_breaks(text)
        assert all(breaks[end] for _, end in spans)
        if highlights:
            best = highlights[0]
            assert best.text == best.text.strip()
            assert any(best.start <= start and end <= best.end for start, end in spans) or (
                len(spans) == MAX_WORD_HIGHLIGHTS
            )


@pytest.mark.parametrize(
    ("query", "content", "expected"),
    [
        ("running tests", "He runs a test, and Tests RUN.", ["runs", "test", "Tests", "RUN"]),
        ("user name", "call getUserName()", ["User", "Name"]),
        ("getUserName", "getUserName, get_user_name", ["getUserName", "get_user_name"]),
        ("app.conf.getUserName", "getUserName, the user", ["getUserName", "user"]),
        ("github", "GitHub-hosted, non-GitHub", ["GitHub", "GitHub"]),
        ("oauth", "OAuth2 and OAuth 1", ["OAuth", "OAuth"]),
        ("using", "Use it", ["Use"]),
        ("email", "an e-mail", ["e-mail"]),
        ("C++", "C++ is not C", ["C++"]),
        ("C++", "C++17 is not C17", ["C++"]),
        ("cafe", "le Café", ["Café"]),
        ("résumé", "LE RE\u0301SUME\u0301.", ["RE\u0301SUME\u0301"]),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af.", ["\u1112\u1161\u11ab\u1100\u1173\u11af"]),
        ('"brown fox" dog', "a fox, a dog", ["fox", "dog"]),
        ("京都", "東京都に住む", ["京都"]),
        ("数据库", "数据库连接和数据", ["数据库", "数据"]),
        ("หนังสือ", "ร้านหนังสือ", ["หนังสือ"]),
        ("fox -brown", "brown fox", ["fox"]),
        ("the", "the", ["the"]),
        ("the fox", "the fox", ["fox"]),
        ("!!!", "wow!!!", []),
        ("fox", "", []),
        ("E0047", "E0046, E0047 and E 0047", ["E0047", "0047"]),
        ("OAuth2", "OAuth2 and OAuth 1", ["OAuth2", "Auth"]),
        ("in 3.11", "11 ropes, v3.11, 3.11.2, 13.11 and 3.110", ["v3.11", "3.11.2"]),
        ("v3.11 ropes", "11 ropes (3.11)", ["ropes", "3.11"]),
    ],
)
def test_the_words_that_match_are_marked_as_they_stand(query, content, expected):
    assert marked(query, content) == expected


@pytest.mark.parametrize(
    ("query", "content", "expected"),
    [
        ("猫 東京", "東京で猫を見た", ["東京", "猫"]),
        ("2024 年 報告", "2024年の報告は年末に出る", ["2024", "年", "報告", "年"]),
        ("__dict__ self", "x = self.__dict__", ["self", "dict"]),
    ],
)
def test_a_single_character_or_a_signed_name_hides_no_word_that_stands_before_it(
    query, content, expected
):
    assert marked(query, content) == expected


@pytest.mark.parametrize(
    ("query", "content", "expected"),
    [
        ("\U0001f44d", "ok \U0001f44d\U0001f3fd yes", ["\U0001f44d\U0001f3fd"]),
        ("\u2764", "all \u2764\ufe0f", ["\u2764\ufe0f"]),
        ("\U0001f469 \U0001f467", f"a {FAMILY} b", [FAMILY]),
        ("\U0001f467", f"{FAMILY}{FAMILY}", [FAMILY, FAMILY]),
        ("\u0e17", "\u0e17\u0e33", ["\u0e17\u0e33"]),
        (GERMANY, f"{DENMARK}{GERMANY} {DENMARK}", [GERMANY]),
        (GERMANY + DENMARK, DENMARK + GERMANY, [DENMARK, GERMANY]),
        (GERMANY, DENMARK, []),
        (f"flag -{GERMANY}", f"flag {DENMARK}", ["flag"]),
    ],
)
def test_a_mark_tears_no_character_as_its_reader_sees_it(query, content, expected):
    assert marked(query, content) == expected


@pytest.mark.parametrize("before", ["an ", "end."])
def test_an_accent_at_which_a_word_begins_is_marked_without_what_it_stands_on(before):
    assert marked("\u0301tude", f"{before}\u0301tude") == ["\u0301tude"]


def test_of_too_many_words_those_that_match_in_full_are_marked():
    rows = " ".join(f"Region{n}" for n in range(200))
    found = marked("Region150", rows)
    assert len(found) == MAX_WORD_HIGHLIGHTS
    assert "Region150" in found
    assert set(found) == {"Region", "Region150"}


def test_of_too_many_words_the_rare_ones_are_marked_too():
    rows = ", ".join(f"value {n} of merlin" for n in range(200))
    found = marked("value of merlin 150", rows)
    assert len(found) == MAX_WORD_HIGHLIGHTS
    assert set(found) == {"value", "merlin", "150"}


@pytest.mark.parametrize("many", ["e-mail", "getUserName", "\u6771\u4eac\u90fd"])
def test_of_too_many_words_names_do_not_push_out_plain_words(many: str):
    found = marked(f"{many} token", f"{many} " * 80 + "token " * 5)
    assert len(found) == MAX_WORD_HIGHLIGHTS
    assert found.count("token") == 5


@pytest.mark.parametrize(
    "heading", ["## Upload files", "**Upload a file**", "Upload files\n------------"]
)
def test_a_heading_is_the_sentence_only_where_the_text_says_little(heading):
    body = "Files are kept for a day."
    assert sentence("how do I upload a file?", f"{heading}\n\n{body}") == body
    assert sentence("how do I upload a large file?", f"{heading}\n\nDays pass.") == heading


def test_the_sentence_is_the_one_that_says_most_of_the_query():
    content = (
        "A fox here. The keys of the fox are rotated daily! Rotated.\n\n- a list of keys\n- rotated"
    )
    assert sentence("rotate fox keys", content) == "The keys of the fox are rotated daily!"
    assert sentence("list", content) == "- a list of keys"
    assert sentence("rotated", content) == "Rotated."


def test_all_that_a_name_or_a_stretch_without_spaces_says_of_the_query_counts():
    chinese = "# 数据库备份\n\n备份文件保存在目录里。\n\n不要删除旧的备份。"
    assert sentence("备份文件", chinese) == "备份文件保存在目录里。"
    prose = "The call can fail. Then the helper tries again: retry_call does that for you."
    assert (
        sentence("retry_call", prose)
        == "Then the helper tries again: retry_call does that for you."
    )


def test_the_sentence_is_one_in_which_the_phrase_stands_if_there_is_one():
    art = "Art for the state. The newest of all engines here is a state-of-the-art one."
    assert sentence('"state of the art"', art).startswith("The newest of all")
    rows = "| Part-6 | 7.50 |\n| Part-7 | 8.75 | note number 7 |\n| Part-8 | 1.00 |"
    assert sentence('"Part-7"', rows) == "| Part-7 | 8.75 | note number 7 |"
    scan = "Scan what is exact and what is slow. An exact scan takes long, and so it is slow."
    assert sentence('"exact scan" slow', scan).startswith("An exact scan")
    assert sentence('"exact scan"', "It is exact.\n\nScan it.") == "Scan it."


@pytest.mark.parametrize(
    ("query", "held", "not_held"),
    [
        ('"the fastapi docs"', ["the FastAPI docs", "the fast_api docs", "The fastapi docs."],
         ["the fast docs", "the FastAPI2 docs", "fastapi the docs", "the MyFastAPI docs"]),
        ('"FastAPI docs"', ["FastAPI docs", "fastapi docs", "fast API docs"], ["API docs"]),
        ('"use getusername"', ["use getUserName"], ["use getUser name", "use get"]),
        ('"京 x"', ["京 x", "京x"], ["京都 x", "東京都 x"]),
        ('"月 年"', ["月 年"], ["月 の年", "月年"]),
    ],
)  # fmt: skip
def test_a_name_in_a_phrase_stands_where_its_other_spellings_do(query, held, not_held):
    asked = words(query)
    assert [text for text in [*held, *not_held] if not asked.lack_phrases(text)] == held


def test_of_several_phrases_none_may_be_lacking_wherever_each_stands():
    asked = words('"brown fox" "lazy dog"')
    assert not asked.lack_phrases("A brown fox and a lazy dog.")
    assert not asked.lack_phrases("A brown fox.", "A lazy dog.")
    assert asked.lack_phrases("A brown fox and a dog.")
    assert asked.lack_phrases("A fox.", "A lazy dog.")


def test_a_phrase_counts_as_a_reader_sees_it():
    text = "The guide is for you.\n\nRead [the guide](a/b.md) for *all*. The <b>brown</b> fox."
    asked = words('"the guide for all"')
    assert asked.lack_phrases(text)
    assert not asked.lack_phrases(text, *shown_paragraphs(text, "a.md"))
    best, *marked = asked.highlights(text, "a.md")
    assert best.text == "Read [the guide](a/b.md) for *all*."
    assert all(text[found.start : found.end] == found.text for found in marked)
    assert {found.text for found in marked} == {"the", "The", "guide", "for", "all"}
    excluding = words('x -"the brown fox"')
    assert not excluding.reject(text)
    assert excluding.leave_out(text, "a.md")
    assert not excluding.leave_out(text, "a.py")


@pytest.mark.parametrize(
    "text",
    [
        "Where do sanctions of the U.S. government apply?",
        "Sanctions may apply, e.g. Cuba is such a place.",
        "See No. 5 on sanctions, which apply.",
        "Sanctions of banks, ships etc. may apply.",
        "Sanctions of the government, say Cook et al. (2019), may apply.",
    ],
)
def test_no_sentence_ends_with_a_dot_that_shortens_a_word(text):
    assert sentence("sanctions apply government Cuba", f"{text} Or not.") == text


@pytest.mark.parametrize(
    "first", ["Is it? No.", "We went to the U.S.", "It is small, etc.", "In 9 ms."]
)
def test_a_sentence_may_end_with_such_a_word(first):
    assert sentence("sanctions apply", f"{first} Sanctions apply.") == "Sanctions apply."


def test_sentences_end_as_each_script_ends_them():
    japanese = "検索は文書を見つけます。「東京に住んでいます。」データベースは重要です！"  # noqa: RUF001
    assert sentence("東京", japanese) == "「東京に住んでいます。」"
    assert sentence("データベース", japanese) == "データベースは重要です！"  # noqa: RUF001
    assert sentence("向量", "文档可以被搜索。 向量很快？是的。") == "向量很快？"  # noqa: RUF001
    assert sentence("मेज", "यह घर है। वह मेज है।") == "वह मेज है।"
    assert sentence("شاي", "هل تريد قهوة؟ نعم أريد شاي.") == "نعم أريد شاي."


def test_of_very_many_matches_the_first_are_named():
    assert len(marked("fox", "fox " * 1000)) == MAX_WORD_HIGHLIGHTS


@pytest.mark.parametrize(
    ("query", "held", "not_held"),
    [
        ("x -draft", ["a draft", "Drafts", "my_draft.md"], ["final", "overdraft", ""]),
        ("x -getUserName", ["getUserName", "get_user_name", "getusername", "get user name"],
         ["user name", "get user", "get the user name"]),
        ("x -getusername", ["getUserName", "getusername"], ["get a user"]),
        ('x -"brown fox"', ["a brown fox", "Brown\nfoxes"],
         ["fox brown", "brown red fox", "brown"]),
        ('x -"FastAPI docs"', ["FastAPI docs", "the fastapi docs"], ["FastAPI", "docs fastapi"]),
        ("x -java", ["Java", "java-based", "JAVA_HOME", "java.util", "Java8", "Java, JavaScript"],
         ["JavaScript", "javascript", "MyJava", "my-JavaThing"]),
        ("x -JavaScript", ["JavaScripts", "javascript", "java_script", "a JavaScript-based page"],
         ["Java", "TypeScript", "MyJavaScript", "JavaScriptEngine"]),
        ("x -javascript", ["JavaScript", "its-JavaScript"], ["Java and script"]),
        ('x -"fastapi docs"', ["FastAPI docs", "fastapi docs"], ["FastAPI", "MyFastAPI docs"]),
        ('x -"user name"', ["user_name", "get_user_name", "userName"], ["getUserName"]),
        ("x -C++", ["in C++", "in C++17"], ["in C", "C#", "in C17"]),
        ("x -漢", ["漢字"], ["字"]),
        ("x -ab -cd", ["ab", "cd"], ["c"]),
        ("java -jar x", ["jar x", "java -Jar x jar", "a-jar", "--jar"],
         ["java -jar x", "java -jar x jar", "see `-jar`", "[-jar FILE | -x]", "(-jar)"]),
        ("rsync -a", [], ["a copy", "rsync -a", "i.e. a-b"]),
        ("tar -xzf a.tar", ["xzf"], ["tar -xzf a.tar"]),
        ("java -Xmx512m", ["Xmx512m", "xmx512m"], ["java -Xmx512m", "java -jar x"]),
        ("x -JavaScript", ["JavaScript -javascript"], ["x -JavaScript", "JavaScript -JavaScript"]),
        ('x -"jar"', ["java -jar x jar"], ["java -jar x"]),
        ("x -jar -war", ["war -jar jar"], ["-war -jar jar war"]),
        ('x -"java home"', ["java home -x", "java -home"], ["-java home"]),
        ("x -C++", ["-C++"], ["-C"]),
        ("x -漢字", ["-漢字"], ["-字"]),
        ("-draft", [], ["draft"]),
        ("x -5 --flag", [], ["5", "flag"]),
        ("x", [], ["x", "y"]),
    ],
)  # fmt: skip
def test_a_text_with_what_the_query_excludes_is_rejected(query, held, not_held):
    asked = words(query)
    assert [text for text in [*held, *not_held] if asked.reject(text)] == held


def test_of_a_switch_the_switch_is_highlighted_and_not_its_letter():
    content = "A copy of a tree: rsync -a or `-a`, not -A, -av or i.e. a-b"
    marked = [one for one in words("a tree -a").highlights(content) if one.kind == "word"]
    assert [(one.text, content[one.start - 1]) for one in marked] == [
        ("tree", " "),
        ("a", "-"),
        ("a", "-"),
    ]


def test_of_what_is_excluded_the_switch_is_highlighted_where_it_is_shown():
    content = "find -name: a file by its name, as -Name"
    marked = [one for one in words("find -name").highlights(content) if one.kind == "word"]
    assert [(one.text, one.start) for one in marked] == [("find", 0), ("name", 6)]


def test_what_is_excluded_is_neither_meant_nor_required():
    asked = words('fox "brown bear" -draft -"old news"')
    assert asked.meaning.split() == ["fox", "brown", "bear"]
    assert asked.require_words
    assert not words("fox -draft").require_words
    assert words("-draft").meaning == "-draft"


def test_an_operator_in_quotes_is_required_and_after_a_minus_excluded():
    content = "if (n := 10) > 9 and f() -> int"
    assert words('":="').require_words
    assert not words('":="').lack_phrases(content)
    assert words('":=" "<>"').lack_phrases(content)
    assert words('name -":="').reject(content)
    assert not words('name -"<>"').reject(content)
    assert words('name -":="').meaning.strip() == "name"


def test_an_operator_is_marked_where_it_stands():
    content = "A ruler: =====. Then (n := 10), n:=11 and n = 12."
    marked = [one for one in words("what does := do").highlights(content) if one.kind == "word"]
    assert [(one.start, one.text) for one in marked] == [(24, ":="), (33, ":=")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("do import __future__ first", True),
        ("do import a.__future__ first", False),
        ("do import future first", False),
    ],
)
def test_a_name_by_its_signs_is_one_within_a_phrase_too(content, says):
    assert words('first -"import __future__"').reject(content) == says
    assert words('"import __future__"').lack_phrases(content) != says
