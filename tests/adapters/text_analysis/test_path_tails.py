"""What a document may be called by its path, and what a query asks for by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.path_tails import (
    MOST_CHARACTERS,
    MOST_PARTS,
    MOST_PATHS,
    asked_paths,
    path_tails,
)

ANALYSER = Analyser()
NAMES = st.text(st.sampled_from("aBé1-_. "), min_size=1, max_size=8).filter(
    lambda name: name.strip(". ") != ""
)
KEYS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)


def ways(query: str) -> list[tuple[str, ...]]:
    return [path.ways for path in asked_paths(query, ANALYSER)]


def names(query: str, key: str) -> bool:
    return not set(path_tails(key)).isdisjoint(way for path in ways(query) for way in path)


def test_a_document_is_called_by_each_tail_of_its_path_with_and_without_the_ending():
    assert path_tails("Docs/guide/v1.5.11.md") == [
        "docs/guide/v1.5.11.md",
        "docs/guide/v1.5.11.",
        "guide/v1.5.11.md",
        "guide/v1.5.11.",
        "v1.5.11.md",
        "v1.5.11.",
        "/docs/guide/v1.5.11.md",
        "/docs/guide/v1.5.11.",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "v1.5.11",
        "v1.5.11.md",
        "V1.5.11.MD",
        "docs/v1.5.11.md",
        "docs/v1.5.11",
        "./docs/v1.5.11.md",
        "../docs/v1.5.11.md",
        "~/docs/v1.5.11.md",
        "`docs/v1.5.11.md`",
        "'v1.5.11.md'",
        "(see docs/v1.5.11.md).",
        "@docs/v1.5.11.md",
        "docs\\v1.5.11.md",
        "docs/v1.5.11.md#L120-L135",
        "docs/v1.5.11.md:42:7",
        "/srv/checkout/docs/v1.5.11.md",
        "/srv/checkout/docs/v1.5.11",
        "C:\\checkout\\docs\\v1.5.11.md",
        "file:///srv/checkout/docs/v1.5.11.md",
        "https://example.org/blob/main/docs/v1.5.11.md#changes",
        "what does docs/v1.5.11.md say about keys?",
        "what is new in `v1.5.11.md`?",
    ],
)
def test_a_query_names_a_document_in_any_of_these_forms(query: str):
    assert names(query, "docs/v1.5.11.md")


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("other/v1.5.11.md", "docs/v1.5.11.md"),
        ("5.11.md", "docs/v1.5.11.md"),
        ("v1.5.1", "docs/v1.5.11.md"),
        ("docs/", "docs/index.md"),
        ("index", "docs/index.md"),
        ("how do read/write locks work", "docs/write.md"),
        ("what are the first-steps", "first-steps.md"),
        ("what is new in 3.11?", "whatsnew/3.11.rst"),
        ("how is node.js installed?", "guide/node.js.md"),
        ("ropes and/or lamps", "and/or.md"),
        ("TCP/IP", "ip.md"),
        ("client/server", "server.md"),
        ("os.path", "os/path.md"),
        ("-docs/index.md", "docs/index"),
    ],
)
def test_what_merely_resembles_a_name_names_nothing(query: str, key: str):
    assert not names(query, key)


def test_a_name_without_its_ending_is_known_where_it_is_the_whole_query():
    assert names("pep-0572", "peps/pep-0572.rst")
    assert names("`tutorial_001`", "src/tutorial_001.py")
    assert names("3.11", "whatsnew/3.11.rst")
    assert names("client/server", "client/server.md")
    assert not names("what is pep-0572", "peps/pep-0572.rst")


@pytest.mark.parametrize(
    "query",
    [
        "https://example.org/docs/intro.html",
        "http://example.org/docs/Intro.html#part",
        "what does https://example.org/docs/intro.html say",
        "example.org/docs/intro",
        "docs/intro.html",
        "intro.html",
    ],
)
def test_a_page_is_named_by_its_address(query: str):
    assert names(query, "https://example.org/docs/intro.html")


def test_a_page_without_an_ending_is_named_by_its_address_in_a_sentence_too():
    assert names("what does https://example.org/docs/ say", "https://example.org/docs")
    assert not names("https://example.org/docs/more.html", "https://example.org/docs")


def test_accents_and_their_forms_make_no_difference():
    assert names("ueber/U\u0308bersicht.md", "ueber/\xdcbersicht.md")


def test_a_name_with_blanks_is_known_where_it_is_the_whole_query():
    assert names("Meeting notes 2024.md", "work/Meeting  Notes 2024.md")
    assert names(r".\work\Meeting Notes 2024.md", "work/Meeting Notes 2024.md")
    assert names("`work/Meeting Notes 2024.md#L3`", "work/Meeting Notes 2024.md")
    assert not names("the Meeting notes 2024.md", "work/Meeting Notes 2024.md")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "how are keys rotated?",
        "It ends. Does it? Yes...",
        "e-mail of first-steps",
        "and/or in 3.11, e-mail v1.5.11",
        "a - b",
        "/",
    ],
)
def test_ordinary_text_names_nothing(query: str):
    assert ways(query) == []


def test_a_longer_path_may_end_with_a_whole_key_the_longest_first():
    query = "what does /srv/docs/index.md say"
    assert ways(query) == [("srv/docs/index.md", "/docs/index.md", "/index.md")]
    assert ways("docs/index") == [("docs/index", "docs/index.")]
    assert ways("/srv/docs/index") == [("srv/docs/index", "srv/docs/index.", "/docs/index.")]


def test_no_more_is_looked_for_than_is_allowed():
    assert len(ways(" ".join(f"a/{n}.md" for n in range(100)))) == MOST_PATHS
    assert ways("a" * MOST_CHARACTERS + ".md") == []
    deep = "/".join(f"n{n}" for n in range(40)) + ".md"
    assert len(path_tails(deep)) == 2 * MOST_PARTS + 2
    assert names(deep, deep)
    assert all(len(term) <= MOST_CHARACTERS for term in path_tails("ab/" * 400 + "c.md"))


@given(KEYS)
def test_every_key_with_an_ending_is_named_by_itself_and_by_a_path_to_it(key: str):
    key = key.strip("/. ") + ".md"
    assert names(key, key)
    assert names(key.upper(), key) or "é" in key
    if " " not in key:
        assert names(f"/srv/{key}", key)
        assert names(f"what does {key} say", key)


@given(st.text(max_size=80))
def test_any_text_may_be_a_key_or_a_query(text: str):
    assert all(term and term.split() == [term] for term in path_tails(text + "/x.md"))
    for path in asked_paths(text, ANALYSER):
        assert path.ways
