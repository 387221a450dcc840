"""Path globs mean what git means by them, and no glob is slow."""

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.path_globs import PATTERN_OF_GLOBS, PathFilter, PathGlob, require_a_glob
from tests.processor_speed import is_within

MEANING = [
    # Without a slash: in every folder.
    ("*.md", ["a.md", "docs/a.md", "docs/b/.md"], ["a.mdx", "a.md/b", "md"]),
    ("README*", ["README", "x/README.rst"], ["readme", "README/x"]),
    ("**", ["a", "a/b", "https://example.com/a?b=c"], []),
    # With a slash: from the top; a leading one says nothing else.
    ("docs/*.md", ["docs/a.md", "docs/.md"], ["a.md", "docs/b/a.md", "x/docs/a.md"]),
    ("/a.md", ["a.md"], ["docs/a.md"]),
    # Any number of folders, none included.
    ("docs/**/a.md", ["docs/a.md", "docs/b/a.md", "docs/b/c/a.md"], ["docsa.md", "docs/b/xa.md"]),
    ("**/test/*", ["test/a", "x/y/test/a"], ["test", "test/a/b", "mytest/a"]),
    ("docs/**/**/a", ["docs/a", "docs/b/c/d/a"], ["a"]),
    ("docs/**", ["docs/a", "docs/b/c"], ["docs", "docs2/a", "x/docs/a"]),
    ("docs/", ["docs/a", "docs/b/c"], ["docs", "docs2/a"]),
    # Two stars within a name are one.
    ("a**b/c", ["ab/c", "axxb/c"], ["a/b/c", "a/c"]),
    # One character, and classes of them.
    ("?.py", ["a.py", "é.py", "x/\n.py"], [".py", "ab.py"]),
    ("[a-c]x", ["ax", "cx", "d/bx"], ["dx", "x", "-x"]),
    ("[!a]", ["b", "!"], ["a", ""]),
    ("[^a]", ["b", "^"], ["a", ""]),
    ("[]a]", ["]", "a"], ["b"]),
    ("[^]a]", ["b"], ["]", "a"]),
    ("[[^]x", ["[x", "^x"], ["ax"]),
    ("app/[[]id]/*", ["app/[id]/page.tsx"], ["app/i/page.tsx"]),
    ("[*]", ["*"], ["a"]),
    # What cannot be a class is itself, and so is all that regular expressions would read.
    ("[a", ["[a"], ["a"]),
    ("(a|b)+.$", ["(a|b)+.$"], ["a", "ab"]),
    ("[z-a]", [], ["z", "a", "-"]),
    # Upper and lower case differ; addresses are keys, too.
    ("A.md", ["A.md"], ["a.md"]),
    ("https://example.com/**", ["https://example.com/a/b"], ["http://example.com/a"]),
]


@pytest.mark.parametrize(("glob", "matching", "others"), MEANING, ids=[row[0] for row in MEANING])
def test_a_glob_matches_just_what_git_would(glob, matching, others):
    keys = [*matching, *others]
    assert [key for key in keys if PathGlob(glob).matches(key)] == matching


def says(glob: str, key: str) -> bool:
    """The slow and obvious way, for globs of `a`, `b`, `*`, `?`, `/` alone."""
    if not glob:
        return not key
    if glob == "/**":
        return len(key) > 1 and key[0] == "/"
    if glob.startswith("/**/"):
        return any(
            says(glob[3:], key[start:])
            for start, sign in enumerate(key)
            if sign == "/" and key[:1] == "/"
        )
    if glob[0] == "*":
        return says(glob[1:], key) or (key[:1] not in ("", "/") and says(glob, key[1:]))
    return (
        bool(key)
        and (glob[0] == key[0] or (glob[0] == "?" and key[0] != "/"))
        and says(glob[1:], key[1:])
    )


def means(glob: str, key: str) -> bool:
    rooted = glob if glob.startswith("/") else f"/{glob}"
    if "/" not in glob:
        rooted = f"/**/{glob}"
    return says(rooted + "**" if rooted.endswith("/") else rooted, f"/{key}")


NAMES = st.text("ab", min_size=1, max_size=3)
GLOB_NAMES = st.one_of(st.just("**"), st.text("ab*?", min_size=1, max_size=4))


@given(
    st.lists(GLOB_NAMES, min_size=1, max_size=5).map("/".join),
    st.sampled_from(["", "/"]),
    st.sampled_from(["", "/"]),
    st.lists(NAMES, min_size=1, max_size=5).map("/".join),
)
def test_globs_of_a_small_alphabet_match_as_the_definition_says(names, first, last, key):
    glob = first + names + last
    assert PathGlob(glob).matches(key) == means(glob, key)


@given(st.text(max_size=30) | st.text("a/*?[]!^-\\", max_size=30), st.text("a/*[]b\n", max_size=20))
def test_any_text_is_a_glob_and_its_literal_start_begins_every_match(glob, key):
    parsed = PathGlob(glob)
    if parsed.matches(key):
        assert key.startswith(parsed.literal_start)


@given(st.text(st.characters(blacklist_characters="*?[]/^!"), min_size=1), st.text("x/y"))
def test_a_text_without_signs_matches_itself_alone(text, more):
    assert PathGlob(text).matches(text)
    assert PathGlob(text).matches(f"a/b/{text}")
    assert PathGlob(f"/{text}").matches(f"{more}{text}") == (more == "")


@given(st.text("a[*?/!^]A\u0308\u00c4-K\u212a;\u037e`\u1fef", min_size=1))
def test_a_key_allows_its_own_document_whatever_signs_it_holds(key):
    key = key.lstrip("/") or "a"
    for form in ("NFC", "NFD"):
        allowed = PathFilter([unicodedata.normalize(form, key), "other"])
        assert allowed.allows(key)
        assert key.startswith(allowed.literal_starts)


def test_a_key_of_brackets_means_its_own_document_and_what_it_says_as_a_glob():
    allowed = PathFilter(["app/[id]/page.md"])
    keys = ["app/[id]/page.md", "app/i/page.md", "app/[x]/page.md", "x/app/[id]/page.md"]
    assert [key for key in keys if allowed.allows(key)] == keys[:2]


def test_globs_match_however_accents_are_written():
    apart, together = "U\u0308ber", "\u00dcber"
    for asked in (apart, together):
        allowed = PathFilter([f"docs/{asked}/?.md"])
        for stored in (apart, together):
            assert allowed.allows(f"docs/{stored}/\u00e4.md")
            assert allowed.allows(f"docs/{stored}/a\u0308.md")
    assert not PathFilter(["docs/U*"]).allows("docs/U\u0308ber")


def test_without_paths_everything_is_allowed():
    assert PathFilter([]).allows("a")
    assert not PathFilter([])


HOSTILE = {
    "stars": ("*a" * 250, "a" * 499 + "b"),
    "stars at the end": ("*a" * 249 + "*", "ab" * 250),
    "question marks": ("*" + "?" * 499, "a" * 498),
    "classes": ("*[a-z]" * 83, "a" * 499 + "/"),
    "open classes": ("[" * 500, "[" * 499),
    "folders": ("**/" * 166 + "b", "a/" * 250),
    "folders between names": ("**/a/" * 100, "a/" * 249 + "b"),
    "folders between stars": ("**/*/" * 100, "a/" * 249 + "b"),
    "slashes": ("/" * 500, "/" * 500),
}


@pytest.mark.parametrize(("glob", "key"), HOSTILE.values(), ids=HOSTILE.keys())
def test_no_glob_takes_long(glob, key):
    parsed = PathGlob(glob)
    parsed.matches("warm")
    started = time.process_time()
    for _ in range(5):
        parsed.matches(key)
    assert is_within(5 * 0.05, started)  # the worst takes 10 ms


def test_a_glob_of_many_folders_costs_little_on_an_ordinary_path():
    """As many documents are asked as there are; each costs by its own depth."""
    parsed = PathGlob("**/*/" * 100)
    started = time.process_time()
    for _ in range(1000):
        parsed.matches("src/app/search/globs.py")
    assert is_within(0.5, started)  # 0.02 s


@pytest.mark.parametrize("path", ["*.{md,txt}", "{a,b}/*", "docs/**/{a,}", "./docs", "./*.md"])
def test_a_glob_of_other_tools_is_refused_by_the_rule_and_by_the_description(path):
    with pytest.raises(ValueError, match=r"write"):
        require_a_glob(path)
    assert not re.search(PATTERN_OF_GLOBS, path)


@pytest.mark.parametrize(
    "path",
    ["{{name}}/*.md", "{slug}.md", "*.{md}", "{a,b}.md", "{a}/*,{b}", ".hidden/*", "../*", "a./*"],
)
def test_what_may_match_a_key_is_no_glob_of_other_tools(path):
    assert require_a_glob(path) == path
    assert re.search(PATTERN_OF_GLOBS, path)


@given(st.text("./*{},a \0", max_size=12))
def test_the_description_lets_pass_just_what_the_rule_does(path: str):
    try:
        follows_the_rule = require_a_glob(path) == path
    except ValueError:
        follows_the_rule = False
    is_a_name = bool(path.strip()) and "\0" not in path
    assert bool(re.search(PATTERN_OF_GLOBS, path)) == (follows_the_rule and is_a_name)
