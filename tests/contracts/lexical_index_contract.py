"""What every LexicalIndex must do: subclass LexicalIndexContract and give it an `index` fixture."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.protocols import EVERYWHERE, LexicalIndex, LexicalRecord, SearchScope


def record(
    chunk_id: str,
    content: str,
    item_id: int = 1,
    document_number: int = 1,
    title: str | None = None,
    heading_path: Sequence[str] = (),
    path: str = "",
    language: str | None = None,
) -> LexicalRecord:
    """A record with short defaults."""
    titles = () if title is None else (title,)
    return LexicalRecord(
        chunk_id, item_id, document_number, content, titles, tuple(heading_path), path, language
    )


def found(index: LexicalIndex, query: str, scope: SearchScope = EVERYWHERE) -> set[str]:
    """The ids that a query finds."""
    return {hit.chunk_id for hit in index.search(query, 100, scope)}


def many(count: int, prefix: str = "chunk") -> list[LexicalRecord]:
    """Records of five items and ten documents; all hold `shared`, each a word of its own."""
    return [
        record(f"{prefix}-{n:04d}", f"shared {prefix}word{n}", n % 5 + 1, n % 10 + 1)
        for n in range(count)
    ]


FINDABLE = {
    "cafe": "a café in Paris",
    "NAÏVE": "a naive question",
    "running": "who runs there",
    "STRASSE": "die Straße",
    "full": "\uff46\uff55\uff4c\uff4c width",
    "C++": "written in C++ by hand",
    "C#": "written in C# by hand",
    ".NET": "on .NET 8",
    "--dry-run": "pass --dry-run first",
    "a-b": "the a-b test",
    "🎉": "released 🎉 today",
    "京都": "東京都に住む",
    "住": "東京都に住む",
    "1000": "more than 1,000 genomes",
    "http": "class HTTPServer2:",
    "httpserver2": "class HTTPServer2:",
    "fastapi": "FastAPI is fast",
    "FastAPI": "fastapi is quick",
    "ภาษา": "ภาษาไทย",
    "ЯБЛОКО": "яблоко",
    "auto\u00admatic": "an automatic door",
}
"""Queries, and contents that they find."""

PHRASES = {
    '"brown fox"': {"one", "three"},
    "“brown fox”": {"one", "three"},
    "„brown fox“": {"one", "three"},
    '"fox brown"': {"two"},
    'quick "brown fox"': {"one", "three"},
    '"brown fox" "quick brown"': {"one"},
    '"brown fox" -quick': {"three"},
    "fox -quick": {"two", "three"},
    'fox -"brown fox"': {"two"},
    "fox -quick -two": {"three"},
    '"quick"': {"one"},
    'brown fox"': {"one", "two", "three"},
    '"brown fox': {"one", "two", "three"},
    "-quick": {"one"},
    '"no such phrase" fox': set(),
    '"" fox': {"one", "two", "three"},
    "quick - brown": {"one", "two", "three"},
}
"""Queries, and the records that they find."""

HOSTILE_QUERIES = [
    "",
    " ",
    "*",
    "body:word",
    "a AND b OR (c",
    "[1 TO 5]",
    "\x00",
    "\ud800",
    '"',
    '""',
    '"" ""',
    "-",
    "--",
    '-"',
    '-""',
    "- -",
    "“",
    "”“",
    "🎉",
    "👨\u200d👩\u200d👧",
    "e\u0301" * 4000,
    "\u0301",
    "\u202eabc",
    "(" * 8000,
    '"a" ' * 2000,
    "-a " * 2600,
    "a." * 4000,
    "'; DROP TABLE chunks; --",
    "word~2 wor? /wo.*/ ^5",
    "x" * 8000,
    "\uffff",
    "字" * 8000,
]


class LexicalIndexContract:
    """The laws of the protocol."""

    @pytest.fixture
    def index(self) -> LexicalIndex:
        raise NotImplementedError

    # What is held --------------------------------------------------------------------------

    def test_an_empty_index_finds_nothing(self, index: LexicalIndex):
        assert index.search("anything", 10) == []
        assert index.search("anything", 10, SearchScope(item_ids=[1])) == []
        assert index.count() == 0
        assert index.chunk_ids() == set()

    def test_a_record_is_found_as_soon_as_upsert_returns(self, index: LexicalIndex):
        index.upsert([record("one", "the quick brown fox")])
        assert found(index, "fox") == {"one"}
        assert index.count() == 1
        assert index.chunk_ids() == {"one"}

    def test_an_upsert_with_a_known_id_replaces_the_record(self, index: LexicalIndex):
        index.upsert([record("one", "apple", 1, 1)])
        index.upsert([record("one", "banana", 2, 2)])
        assert index.count() == 1
        assert found(index, "apple") == set()
        assert found(index, "banana", SearchScope(item_ids=[1])) == set()
        assert found(index, "banana", SearchScope(item_ids=[2], document_numbers=[2])) == {"one"}

    def test_of_equal_ids_in_one_upsert_the_last_is_kept(self, index: LexicalIndex):
        index.upsert([record("one", "apple"), record("one", "banana")])
        assert index.count() == 1
        assert found(index, "apple") == set()
        assert found(index, "banana") == {"one"}

    def test_what_is_removed_is_gone_for_every_later_call(self, index: LexicalIndex):
        index.upsert(many(30))
        gone = [f"chunk-{n:04d}" for n in range(10)]
        index.remove([*gone, gone[0], "never there"])
        index.remove(gone[:3])
        left = {f"chunk-{n:04d}" for n in range(10, 30)}
        assert index.count() == 20
        assert index.chunk_ids() == left
        assert found(index, "shared") == left
        assert len(index.search("shared", 20)) == 20

    def test_it_tells_the_document_of_what_it_holds(self, index: LexicalIndex):
        records = many(30)
        index.upsert([*records, record("ffffffffffffffff0000000000000001", "x", 2, 2**53 - 1)])
        index.remove([records[3].chunk_id])
        asked = [each.chunk_id for each in records[:6]]
        numbers = index.documents_of([*asked, "unknown", "ffffffffffffffff0000000000000001"])
        expected = {each.chunk_id: each.document_number for each in records[:6]}
        del expected[records[3].chunk_id]
        assert numbers == expected | {"ffffffffffffffff0000000000000001": 2**53 - 1}
        assert index.documents_of([]) == {}
        index.upsert([record(records[0].chunk_id, "moved", 1, 99)])
        assert index.documents_of([records[0].chunk_id]) == {records[0].chunk_id: 99}

    def test_it_tells_which_documents_are_tests_of_code(self, index: LexicalIndex):
        assert index.documents_of_tests() == frozenset()
        paths = ["gate.py", "tests/gate.py", "gate_test.go", "tests/gate.md", "gate_test.go"]
        records = [
            record(f"chunk-{n}", "shared", document_number=2**52 + len(path), path=path)
            for n, path in enumerate(paths)
        ]
        index.upsert(records)
        tests = {2**52 + len("tests/gate.py"), 2**52 + len("gate_test.go")}
        assert index.documents_of_tests() == tests
        index.upsert([record("other", "shared", document_number=3, path="spec/gate.rb")])
        assert index.documents_of_tests() == {*tests, 3}

    def test_a_removed_record_can_come_back(self, index: LexicalIndex):
        index.upsert(many(3))
        index.remove(["chunk-0001"])
        index.upsert([record("chunk-0001", "returned")])
        assert index.count() == 3
        assert found(index, "returned") == {"chunk-0001"}
        index.remove(["chunk-0001"])
        assert found(index, "returned") == set()

    def test_removing_more_than_any_buffer_holds_removes_all(self, index: LexicalIndex):
        index.upsert(many(700))
        for start in range(0, 600, 100):
            index.remove([f"chunk-{n:04d}" for n in range(start, start + 100)])
        assert index.count() == 100
        assert len(index.search("shared", 700)) == 100

    def test_writing_nothing_changes_nothing(self, index: LexicalIndex):
        index.upsert(many(3))
        index.upsert([])
        index.remove([])
        index.remove(["never there"])
        assert index.count() == 3

    def test_once_all_is_removed_it_is_empty_and_usable(self, index: LexicalIndex):
        index.upsert(many(20))
        index.remove(["chunk-0001"])
        index.remove(list(index.chunk_ids()))
        assert index.count() == 0
        assert index.chunk_ids() == set()
        assert found(index, "shared") == set()
        index.upsert(many(2))
        assert found(index, "shared") == {"chunk-0000", "chunk-0001"}

    def test_a_closed_index_can_be_closed_again(self, index: LexicalIndex):
        index.upsert(many(2))
        index.remove(["chunk-0000"])
        index.close()
        index.close()

    def test_any_text_is_accepted_as_id_and_content(self, index: LexicalIndex):
        ids = [
            "0f" * 16,
            "f" * 32,
            "0" * 31 + "g",
            "with space",
            "a\x00b",
            "ü/😀",
            "q" * 500,
            '"quoted"',
        ]
        index.upsert([record(chunk_id, f"\x00\uffff content {chunk_id}") for chunk_id in ids])
        index.upsert([record("empty", ""), record("signs", "=== \t\n ???")])
        assert index.chunk_ids() == {*ids, "empty", "signs"}
        assert found(index, "content") == set(ids)
        index.remove(ids)
        assert index.chunk_ids() == {"empty", "signs"}

    # What is found -------------------------------------------------------------------------

    def test_hits_come_best_first_with_scores_above_zero(self, index: LexicalIndex):
        index.upsert(
            [
                record("much", "wind wind wind tunnel tunnel"),
                record("some", "wind and a great deal of other weather in the tunnel of time"),
                record("none", "nothing of the kind"),
            ]
        )
        hits = index.search("wind tunnel", 10)
        assert [hit.chunk_id for hit in hits] == ["much", "some"]
        assert all(isinstance(hit.score, float) and hit.score > 0 for hit in hits)
        assert [hit.chunk_id for hit in index.search("wind tunnel", 1)] == ["much"]
        assert index.search("wind tunnel", 0) == []
        assert len(index.search("wind tunnel", 1_000_000)) == 2

    def test_what_lies_at_a_path_in_the_query_comes_before_what_mentions_it(
        self, index: LexicalIndex
    ):
        mention = "see docs/Keys.md: " + "docs/keys.md " * 5
        index.upsert(
            [
                record("mention", mention, title="docs/keys.md", heading_path=("docs/keys.md",)),
                record("there", "lamps", 1, 2, path="docs/keys.md"),
                record("elsewhere", "lamps", 2, 3, path="lamps/keys.md"),
                *many(20),
            ]
        )
        for query in ("docs/keys.md", "what does `./docs/KEYS.md` say", "/srv/docs/keys.md#L3"):
            assert index.search(query, 1)[0].chunk_id == "there"
        assert [hit.chunk_id for hit in index.search("keys.md", 2)] == ["elsewhere", "there"]
        assert index.search("docs/keys.md", 1, SearchScope([2]))[0].chunk_id == "elsewhere"
        assert index.search("docs/keys.md -see", 5)[0].chunk_id == "there"

    def test_a_numbered_document_comes_before_what_mentions_it(self, index: LexicalIndex):
        index.upsert(
            [
                record("mention", "PEP 8 " * 20, title="PEP 8", heading_path=("PEP 8",)),
                record("there", "lamps", 1, 2, path="peps/pep-0008.rst"),
                record("other", "ropes", 1, 3, path="peps/pep-0080.rst"),
                *many(20),
            ]
        )
        for query in ("PEP 8", "what does pep8 say?", "PEP-0008"):
            assert index.search(query, 1)[0].chunk_id == "there"

    def test_what_stands_under_a_heading_that_is_the_query_comes_first(self, index: LexicalIndex):
        index.upsert(
            [
                record("mention", "release notes " * 20, title="All release notes of the quay"),
                record("under", "lamps", 1, 2, title="Guide", heading_path=("2.1 Release Notes!",)),
                record("titled", "ropes", 1, 3, title="Quay ropes"),
                record("below", "keys", 1, 4, "Quay ropes", heading_path=("Quay ropes", "Keys")),
                record("within", "keys\n\n## Tide tables\n\nropes", 1, 5),
                *many(20),
            ]
        )
        for query in ("release notes", '"Release Notes"', "release-notes -buoys"):
            assert index.search(query, 1)[0].chunk_id == "under"
        assert index.search("Quay Ropes?", 1)[0].chunk_id == "titled"
        assert index.search("tide table", 1)[0].chunk_id == "within"
        assert index.search("all release notes", 1)[0].chunk_id == "mention"

    def test_what_says_the_query_as_it_was_typed_comes_first(self, index: LexicalIndex):
        apart = "A name is what you import, and what you cannot. "
        index.upsert(
            [
                record("apart", apart * 2),
                record("as typed", "Now and then it says: cannot import the name. Look twice."),
                *many(20),
            ]
        )
        for query in (
            "cannot import the name",
            "Why is it “Cannot import the Name!",
            "cannot import the name -buoys",
        ):
            for scope in (EVERYWHERE, SearchScope(item_ids=frozenset([1]))):
                assert index.search(query, 1, scope)[0].chunk_id == "as typed", query
        assert index.search("import name cannot", 1)[0].chunk_id == "apart"

    def test_a_version_is_not_where_its_digits_are(self, index: LexicalIndex):
        index.upsert(
            [
                record("digits", "2 ropes, 1 lamp, 3 buoys; " * 9, heading_path=("2.3.1", "1.2")),
                record("there", "mended the lamps, and the ropes were 4", heading_path=("2.1.3",)),
                *many(20),
            ]
        )
        for query in ("2.1.3", "v2.1.3", "what changed in 2.1.3?"):
            assert [hit.chunk_id for hit in index.search(query, 2)][:1] == ["there"]
        index.upsert([record("tagged", "ropes of v1.5.11, mended")])
        for query in ("1.5.11", "v1.5.11", "1.5"):
            assert [hit.chunk_id for hit in index.search(query, 2)] == ["tagged"]

    def test_what_begins_as_a_version_is_also_found_by_its_words(self, index: LexicalIndex):
        index.upsert(
            [
                record("disk", "a disk of one inch"),
                record("both", "for Pythons 3.8 and 3.12"),
                record("first", "lamps of 2.4.0rc2"),
                *(record(f"other-{n}", "buoys and ropes") for n in range(20)),
            ]
        )
        for query, found in (
            ("1.5-inch", "disk"),
            ("3.8-3.12", "both"),
            ("2.4.0rc2", "first"),
            ("v2.4.0-rc.2", "first"),
        ):
            assert index.search(query, 1)[0].chunk_id == found, query

    def test_of_equals_the_lower_ids_are_found_however_they_came_in(self, index: LexicalIndex):
        records = [record(f"chunk-{n:03d}", "lion river", item_id=n % 2 + 1) for n in range(400)]
        scrambled = sorted(records, key=lambda one: one.chunk_id[::-1], reverse=True)
        for start in range(0, len(scrambled), 80):
            index.upsert(scrambled[start : start + 80])
        index.upsert([record("the best", "river river lion")])
        index.remove(["chunk-001", "chunk-300"])
        left = [one for one in records if one.chunk_id not in {"chunk-001", "chunk-300"}]
        for scope, equals in (
            (EVERYWHERE, left),
            (SearchScope(item_ids=frozenset([2])), [one for one in left if one.item_id == 2]),
        ):
            for query in ("lion", "river"):
                for limit in (1, 5, 150, 1000):
                    hits = [hit.chunk_id for hit in index.search(query, limit, scope)]
                    others = [key for key in hits if key != "the best"]
                    assert others == [one.chunk_id for one in equals][: len(others)]
                    assert len(hits) == min(limit, len(equals) + (scope == EVERYWHERE))

    def test_spellings_of_a_name_meet(self, index: LexicalIndex):
        index.upsert(
            [
                record("camel", "call getUserName(id) first"),
                record("snake", "call get_user_name(id) first"),
                record("other", "nothing to see"),
            ]
        )
        for query in (
            *("getUserName", "get_user_name", "get-user-name", "user name", "GETUSERNAME"),
            *("getusername", "Names", "get.user.name"),
        ):
            assert found(index, query) == {"camel", "snake"}, query

    @pytest.mark.parametrize(
        ("name", "lower"),
        [
            ("GitHub-hosted", "github"),
            ("non-JavaScript", "javascript"),
            ("OAuth2", "oauth"),
            ("client.GitHub", "github"),
        ],
    )
    def test_a_name_in_mixed_case_is_found_in_lower_case_within_a_longer_word(
        self, index: LexicalIndex, name: str, lower: str
    ):
        index.upsert(
            [
                record("longer", f"They use {name} machines."),
                record("plain", f"They use {lower} machines."),
                record("other", "nothing to see"),
            ]
        )
        for query in (lower, f'"{lower}"'):
            assert found(index, query) == {"longer", "plain"}, query
        assert "plain" in found(index, name)
        index.remove(["plain"])
        for query in (lower, f'"{lower}"'):
            assert found(index, query) == {"longer"}, query

    def test_words_of_every_kind_are_found(self, index: LexicalIndex):
        index.upsert([record(content, content) for content in FINDABLE.values()])
        index.upsert([record("unrelated", "entirely something else")])
        for query, content in FINDABLE.items():
            hits = found(index, query)
            assert content in hits, query
            assert "unrelated" not in hits, query

    def test_title_headings_and_path_are_found(self, index: LexicalIndex):
        index.upsert(
            [record("one", "body", title="Manual", heading_path=["Setup"], path="docs/intro.md")]
        )
        for query in ("manual", "setup", "intro", '"manual"', '"setup"', "intro.md"):
            assert found(index, query) == {"one"}, query

    def test_a_phrase_does_not_count_in_a_path(self, index: LexicalIndex):
        path = "release_notes/whatsNew/文.md"
        index.upsert([record("in", "sky", path=path), record("says", "release_notes: whatsNew 文")])
        for query in ('"release_notes"', '"releaseNotes"', '"whatsNew"', '"文"'):
            assert found(index, query) == {"says"}, query
        assert found(index, "release_notes whatsNew 文") == {"in", "says"}

    def test_only_what_a_text_says_leaves_it_out(self, index: LexicalIndex):
        index.upsert(
            [
                record("in", "fox draft", title="Final", path="a.md"),
                record("above", "fox", title="Draft", heading_path=["Draft"], path="draft/b.md"),
            ]
        )
        assert found(index, "fox -draft") == {"above"}
        assert found(index, 'fox "draft"') == {"in", "above"}

    def test_a_defined_symbol_ranks_before_its_mention(self, index: LexicalIndex):
        index.upsert(
            [
                record("use", "value = load_settings(path)\nprint(value)\nreturn value"),
                record("definition", "def load_settings(path):\n    print(path)\n    return 1"),
            ]
        )
        if self.ranks_symbols:
            assert index.search("load_settings", 2)[0].chunk_id == "definition"
        assert found(index, "load_settings") == {"use", "definition"}

    ranks_symbols = True

    # Phrases and exclusions ----------------------------------------------------------------

    def test_phrases_and_exclusions(self, index: LexicalIndex):
        index.upsert(
            [
                record("one", "the quick brown fox"),
                record("two", "two times fox, brown and slow"),
                record("three", "a brown fox that sleeps"),
                record("four", "a dog"),
            ]
        )
        for query, matching in PHRASES.items():
            assert found(index, query) == matching, query

    @pytest.mark.parametrize(
        ("name", "holding", "about"),
        [
            ("__slots__", "declare `__slots__` in a class", "slots, slots and more slots"),
            ("--reload", "run it with --reload=yes", "reload, reloading, reload again"),
            ("_private", "call self._private() never", "private as private can be"),
        ],
    )
    def test_a_name_that_signs_make_of_a_word_stands_alone_in_quotes(
        self, index: LexicalIndex, name: str, holding: str, about: str
    ):
        others = [record(f"other{n}", about, title=about, path=f"{n}.md") for n in range(5)]
        index.upsert([record("holds", holding, path="h.md"), *others])
        assert found(index, name) == {"holds", *(other.chunk_id for other in others)}
        assert found(index, f'"{name}"') == {"holds"}

    @pytest.mark.parametrize("name", ["__slots__", "_slots"])
    def test_such_a_name_left_out_leaves_the_word_in(self, index: LexicalIndex, name: str):
        index.upsert([record("name", f"the {name} of a class"), record("word", "slots of a class")])
        assert found(index, f"class -{name}") == {"word"}
        assert found(index, "class -slots") == set()

    def test_operators_are_found_as_words_are(self, index: LexicalIndex):
        index.upsert(
            [
                record("walrus", "bind a name with (n := 10)"),
                record("arrow", "annotate with `->` what it gives, as in f() -> int"),
                record("other", "what does a name do"),
            ]
        )
        assert found(index, ":=") == {"walrus"}
        assert found(index, "what does := do") == {"walrus"}
        assert found(index, '"->"') == {"arrow"}
        assert found(index, 'name ":="') == {"walrus"}
        assert found(index, 'name -":="') == {"other"}
        assert found(index, "name ->") == {"walrus", "arrow", "other"}
        assert found(index, "name <=>") == {"walrus", "other"}
        assert found(index, '"<=>"') == set()
        assert found(index, "what is :=?") == {"walrus"}
        assert found(index, "what is <=>") == found(index, "what is") == {"arrow", "other"}

    @pytest.mark.parametrize("marks", ["/* {} */", "/** {} */", "<!-- {} -->", "*** {} ***"])
    def test_a_comment_finds_what_its_words_find(self, index: LexicalIndex, marks: str):
        index.upsert(
            [
                record("said", "bind a name"),
                record("code", "/** x */ <!-- y --> *** z *** /* u */"),
            ]
        )
        assert found(index, marks.format("bind a name")) == {"said"}

    def test_operators_in_titles_are_found_and_leave_nothing_out(self, index: LexicalIndex):
        index.upsert(
            [
                record("titled", "names are bound", title="The := operator"),
                record("said", "a==-1 binds no names"),
            ]
        )
        assert found(index, '":="') == {"titled"}
        assert found(index, 'names -":="') == {"titled", "said"}
        assert found(index, 'names -"=="') == {"titled"}

    def test_a_phrase_stands_where_a_reader_sees_it(self, index: LexicalIndex):
        text = "see [the guide](how/to.md) for <b>brown</b> foxes\n\nhere [quick][ref]\n\ndogs"
        index.upsert(
            [
                record("prose", text, path="a.md"),
                record("rest", "see :ref:`the guide <to>` for brown foxes", path="a.rst"),
                record("code", text, path="a.py"),
            ]
        )
        for query, matching in {
            '"see the guide for brown foxes"': {"prose", "rest"},
            '"the guide for"': {"prose", "rest"},
            '"brown foxes"': {"prose", "rest"},
            '"foxes here"': {"prose", "code"},
            '"quick dogs"': set(),
            '"guide how to md for"': {"prose", "code"},
            '"for b brown"': {"prose", "code"},
        }.items():
            assert found(index, query) == matching, query

    def test_a_phrase_begins_and_ends_within_cjk(self, index: LexicalIndex):
        index.upsert(
            [
                record("year", "報告は2024年の予算、今年5月に出る"),
                record("korean", "이 좋은 책을 읽은 사람이 책에 FastAPI를 쓴다"),
                record("title", "none", title="版3.5の話"),
                record("shown", "見出し [2024](a.md)年度 の<b>API</b>は", path="a.md"),
                record("alone", "2024 年"),
                record("other", "東京都 2024世紀 2024\n5\n年の 2024か\u309aは 月の年 5"),
            ]
        )
        for query, matching in {
            '"2024年"': {"year", "alone", "shown"},
            '"は2024年"': {"year"},
            '"年の"': {"year", "other"},
            '"年5月"': {"year"},
            '"年5"': {"year", "other"},
            '"月5"': set(),
            '"좋은 책"': {"korean"},
            '"이 책"': {"korean"},
            '"책에 FastAPI를"': {"korean"},
            '"책에 fastapi 를"': {"korean"},
            '"版3.5の"': {"title"},
            '"5の"': {"title"},
            '"のAPIは"': {"shown"},
            '"年度 の"': {"shown"},
            '"東京 京"': set(),
            '"京 京都"': set(),
            '"2024か"': set(),
            '"2024年 5月"': set(),
            '"年"': {"year", "alone", "shown", "other"},
            '2024 -"2024年"': {"other", "shown"},
            '5 -"年5月"': {"other", "title"},
        }.items():
            assert found(index, query) == matching, query

    def test_a_phrase_finds_names_however_they_are_written(self, index: LexicalIndex):
        index.upsert(
            [
                record("name", "here getUserName returns text"),
                record("apart", "the name of a user, get it; it returns"),
            ]
        )
        for query in (
            *('"user name"', '"get user name"', '"getUserName returns"', '"GetUserName Returns"'),
            *('"get_user_name returns"', '"getusername returns"', '"getUserName"'),
        ):
            assert found(index, query) == {"name"}, query

    def test_a_phrase_in_lower_case_finds_a_name_in_mixed_case(self, index: LexicalIndex):
        index.upsert(
            [record("mixed", "the FastAPI application"), record("lower", "fastapi application")]
        )
        for query in ('"fastapi application"', '"FastAPI application"'):
            assert found(index, query) == {"mixed", "lower"}

    def test_a_phrase_does_not_reach_from_one_heading_into_the_next(self, index: LexicalIndex):
        index.upsert([record("one", "text", title="User Guide", heading_path=["Access", "Rights"])])
        assert found(index, '"user guide"') == {"one"}
        assert found(index, '"access rights"') == set()

    def test_an_excluded_name_leaves_out_all_its_spellings(self, index: LexicalIndex):
        index.upsert(
            [
                record("camel", "shared getUserName"),
                record("snake", "shared get_user_name"),
                record("parts", "shared get the name of a user"),
            ]
        )
        assert found(index, "shared -getUserName") == {"parts"}
        assert found(index, "shared -getusername") == {"parts"}

    def test_what_holds_an_excluded_word_within_a_name_is_not_left_out(self, index: LexicalIndex):
        index.upsert(
            [
                record("word", "shared Java"),
                record("apart", "shared java-based JAVA_HOME"),
                record("name", "shared JavaScript"),
                record("both", "shared JavaScript is not Java"),
                record("title", "shared", title="Java"),
            ]
        )
        assert found(index, "shared -java") == {"name", "title"}
        assert found(index, "shared -JavaScript") == {"word", "apart", "title"}
        assert found(index, "shared -javascript") == {"word", "apart", "title"}
        assert found(index, "shared -script") == index.chunk_ids()

    def test_a_contraction_beside_other_words_finds_nothing(self, index: LexicalIndex):
        index.upsert(
            [
                record("engine", "the engine starts"),
                record("talk", "it doesn't, I don't, you can't, we'll see the id well"),
            ]
        )
        assert found(index, "why doesn't the engine start") == {"engine"}
        assert found(index, "I'd like an engine that we can\u2019t stop") == {"engine"}
        assert found(index, "can't") == found(index, '"can\'t"') == {"talk"}

    def test_a_text_that_shows_a_switch_is_not_left_out_by_it(self, index: LexicalIndex):
        index.upsert(
            [
                record("command", "run `x` or: python -mod venv .venv"),
                record("name", "python -Xmx512m venv"),
                record("word", "python mod venv"),
                record("both", "python -mod venv, where mod is short"),
                record("longer", "python --mod venv"),
            ]
        )
        assert found(index, "python -mod venv") == {"command", "name", "both"}
        assert found(index, "python -Xmx512m") == index.chunk_ids()
        assert found(index, 'python -"mod venv"') == {"command", "name", "both"}

    def test_what_explains_a_switch_is_found_though_it_says_the_word(self, index: LexicalIndex):
        index.upsert(
            [
                record("option", "-name pattern: base of file name (the path without folders)"),
                record("capital", "-Name, of which there is no file name"),
                record("word", "find a file by its name"),
                record("find", "find it in folders"),
            ]
        )
        assert found(index, "what does find -name do") == {"option", "find"}
        assert found(index, "find -Name") == {"capital", "find"}
        assert found(index, 'find -"name"') == {"find"}

    def test_a_switch_of_one_letter_leaves_nothing_out(self, index: LexicalIndex):
        index.upsert(
            [
                record("option", "rsync -a copies a tree as it is, e.g. a home"),
                record("capital", "rsync -A keeps a list of who may do what"),
                record("draft", "rsync, a draft"),
            ]
        )
        assert index.search("what does rsync -a do", 5)[0].chunk_id == "option"
        assert found(index, "rsync -a") == index.chunk_ids()
        assert found(index, "rsync -e -draft") == {"option", "capital"}

    def test_no_text_is_a_query_language_or_an_error(self, index: LexicalIndex):
        index.upsert(many(3))
        for query in HOSTILE_QUERIES:
            assert {hit.chunk_id for hit in index.search(query, 5)} <= index.chunk_ids()
        assert found(index, "shared") == index.chunk_ids()

    # Languages -----------------------------------------------------------------------------

    def test_a_word_is_found_by_its_stem_in_the_language_of_each_record(self, index: LexicalIndex):
        index.upsert(
            [
                record("german", "das Haus am Meer", title="Alte Hunde", language="german"),
                record("english", "who runs there", title="Old Dogs"),
                record("swedish", "flickorna springer", path="ett/hus", language="swedish"),
            ]
        )
        for query, expected in {
            "Häuser": {"german"},
            "HUND": {"german"},
            "running dog": {"english"},
            "flicka husen": {"swedish"},
            "Häuser running husen": {"german", "english", "swedish"},
        }.items():
            assert found(index, query) == expected, query
        assert found(index, "Häuser running", SearchScope(item_ids=[2])) == set()

    def test_stems_of_one_language_find_nothing_in_another(self, index: LexicalIndex):
        text = "a relational approach"
        index.upsert([record("english", text), record("german", text, language="german")])
        assert found(index, "relates") == {"english"}  # both have the stem `relat`
        assert found(index, "relational") == {"english", "german"}

    def test_phrases_and_exclusions_hold_in_each_language(self, index: LexicalIndex):
        index.upsert(
            [
                record("haus", "die alten Häuser am Meer", language="german"),
                record("house", "the old houses near the sea"),
                record("name", "getUserNames gibt alte Namen", language="german"),
            ]
        )
        for query, expected in {
            '"altes Haus"': {"haus"},
            '"old house"': {"house"},
            '"user name" alt': {"name"},
            '"getusernames gibt"': {"name"},
            "alt old -Häusern": {"house", "name"},
            "alt old -housing": {"haus", "name"},
            'alt old -"alte haus"': {"house", "name"},
        }.items():
            assert found(index, query) == expected, query

    def test_names_are_the_same_in_every_language(self, index: LexicalIndex):
        index.upsert(
            [
                record("german", "class HausVerwaltung: ruft get_user_name", language="german"),
                record("english", "calls getUserName"),
            ]
        )
        for query in ("getUserName", "get_user_name", "getusername"):
            assert found(index, query) == {"german", "english"}, query
        assert found(index, "hausverwaltung") == {"german"}

    def test_a_record_may_change_its_language(self, index: LexicalIndex):
        index.upsert([record("one", "das Kind"), record("two", "das Kind")])
        assert found(index, "Kindern") == set()
        index.upsert([record("one", "das Kind", language="german")])
        assert found(index, "Kindern") == {"one"}
        index.upsert([record("one", "das Kind")])
        assert found(index, "Kindern") == set()
        assert found(index, "Kind") == {"one", "two"}

    def test_a_word_is_left_out_by_its_stem_in_each_language_but_not_within_a_name(
        self, index: LexicalIndex
    ) -> None:
        index.upsert(
            [
                record("none", "gemeinsam", language="german"),
                record("word", "gemeinsam: die Häuser", language="german"),
                record("name", "gemeinsam: die HausVerwaltung", language="german"),
                record("both", "gemeinsam: die HausVerwaltung im Haus", language="german"),
                record("english", "gemeinsam: a HausVerwaltung"),
            ]
        )
        assert found(index, "gemeinsam -Haus") == {"none", "name", "english"}
        assert found(index, "gemeinsam -HausVerwaltung") == {"none", "word"}

    def test_it_tells_what_it_holds_in_another_language(self, index: LexicalIndex):
        assert index.in_other_language({"german": "german"}) == set()
        index.upsert([record("plain", "Haus"), record("gone", "Haus", language="german")])
        index.upsert([record("german", "Haus", language="german"), record("french", "maison")])
        index.remove(["gone"])
        expected = {"plain": "english", "german": "german", "french": None, "unknown": "german"}
        assert index.in_other_language({}) == set()
        assert index.in_other_language(expected) == set()
        others = {"plain": "german", "german": None, "french": "french", "gone": None}
        assert index.in_other_language(others) == {"plain", "german", "french"}
        index.upsert([record("french", "maison", language="french")])
        assert index.in_other_language(others) == {"plain", "german"}

    def test_a_language_that_nobody_knows_is_the_indexs_own(self, index: LexicalIndex):
        index.upsert([record("one", "who runs there", language="klingon")])
        assert found(index, "running") == {"one"}

    # Scopes --------------------------------------------------------------------------------

    def test_a_scope_keeps_what_it_names_and_changes_no_score(self, index: LexicalIndex):
        records = many(60)
        index.upsert(records)
        scores = {hit.chunk_id: hit.score for hit in index.search("shared chunkword7", 100)}
        for items, documents in (([2], None), (None, [3, 8]), ([1, 3], [1, 2, 3]), ([1], [2])):
            scope = SearchScope(item_ids=items, document_numbers=documents)
            hits = index.search("shared chunkword7", 100, scope)
            assert {hit.chunk_id for hit in hits} == {
                r.chunk_id
                for r in records
                if (items is None or r.item_id in items)
                and (documents is None or r.document_number in documents)
            }
            assert all(hit.score == pytest.approx(scores[hit.chunk_id], rel=1e-5) for hit in hits)

    def test_a_scope_may_be_empty_unknown_and_very_large(self, index: LexicalIndex):
        index.upsert([*many(20), record("far", "shared", -5, 2**53 - 1)])
        assert found(index, "shared", SearchScope(item_ids=[])) == set()
        assert found(index, "shared", SearchScope(document_numbers=frozenset())) == set()
        assert found(index, "shared", SearchScope(item_ids={999, 2**63, -(2**70)})) == set()
        assert len(found(index, "shared", SearchScope(item_ids=range(50_000)))) == 20
        scope = SearchScope(item_ids=(-5,), document_numbers={2**53 - 1})
        assert found(index, "shared", scope) == {"far"}

    # Threads -------------------------------------------------------------------------------

    def test_readers_beside_a_writer_see_only_what_is_true(self, index: LexicalIndex):
        """Some records stay; others come and go. Readers always find the first kind."""
        lasting = {r.chunk_id for r in many(40, "lasting")}
        passing = many(20, "passing")
        index.upsert(many(40, "lasting"))
        searches, stop = [0, 0], threading.Event()

        def read(number: int) -> None:
            while not stop.is_set():
                hits = [hit.chunk_id for hit in index.search("shared", 100)]
                assert len(set(hits)) == len(hits)
                assert lasting <= set(hits) <= lasting | {r.chunk_id for r in passing}
                assert lasting <= index.chunk_ids()
                searches[number] += 1

        with ThreadPoolExecutor(len(searches)) as pool:
            readers = [pool.submit(read, number) for number in range(len(searches))]
            try:
                rounds = 0
                while rounds < 4 or not (all(searches) or any(each.done() for each in readers)):
                    index.upsert(passing)
                    index.upsert(many(5, "lasting"))
                    index.remove([r.chunk_id for r in passing])
                    rounds += 1
            finally:
                stop.set()
            assert [reader.result() for reader in readers] == [None] * len(readers)
        assert index.chunk_ids() == lasting
