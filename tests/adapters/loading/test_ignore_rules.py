import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.adapters.loading.ignore_rules import IgnoreFile, deciding_file, parse_ignore_file
from tests.processor_speed import is_within

GIT = ["git", "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false"]

NAMES = [
    "a",
    "b",
    "ab",
    "abc",
    "foo",
    "bar",
    "foo.txt",
    "a.md",
    "b.md",
    "-",
    "é",
    "x y",
    "[a]",
    "#c",
]
FOLDERS = ["a", "b", "ab", "foo", "bar", "x y"]
PIECES = [
    *("*", "**", "?", "/", "/", "!", "#", " ", "\\ ", "\\*", "\\#", "\\!", "\\"),
    *("a", "b", "ab", "foo", "bar", ".txt", ".md", "é", "c", "-", "\r", "\t"),
    *("[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a", "[[:alpha:]]", "[[:nope:]]", "[\\]a]"),
    *("[a-]", "[-a]", "[c-a]", "[a/b]", "[[:alpha:]-z]", "[!]]", "**/", "/**", "a/", "/b"),
]
# `**\/` (an escaped slash straight after two stars) is left out: there git forgets that two
# stars may mean no folder at all, and nobody writes it.
lines = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
ignore_files = st.lists(
    lines.filter(lambda line: "\\/" not in line and "\\**" not in line), max_size=5
).map("\n".join)


@pytest.fixture(scope="module")
def work_tree(tmp_path_factory):
    """A git work tree with the same names as files and as folders, three folders deep."""
    root = tmp_path_factory.mktemp("work-tree")
    subprocess.run([*GIT, "init", "-q", str(root)], check=True)
    (root / ".git" / "info" / "exclude").write_text("")
    for first in FOLDERS:
        for second in FOLDERS:
            folder = root / first / second / "d"
            folder.mkdir(parents=True)
            for name in NAMES:
                for place in (root / f"{name}~", root / first / f"{name}~", folder / name):
                    place.write_text("")
    for name in NAMES:
        if name not in FOLDERS:
            (root / name).write_text("")
            (root / "a" / name).write_text("")
    return root


def documents(folder: Path) -> list[Path]:
    """All files but those of git."""
    return [path for path in folder.rglob("*") if path.is_file() and ".git" not in str(path)]


def excluded_by_git(root: Path) -> set[str]:
    listed = subprocess.run(
        [*GIT, "-C", str(root), "ls-files", "-coz", "--exclude-standard"],
        check=True,
        capture_output=True,
    ).stdout
    kept = {name.decode() for name in listed.split(b"\0") if name}
    return {str(path.relative_to(root)) for path in documents(root)} - kept


def excluded_by_us(root: Path, ignore_paths: list[Path]) -> set[str]:
    excluded: set[str] = set()

    def walk(folder: Path, rules: tuple[IgnoreFile, ...]) -> None:
        base = "" if folder == root else f"{folder.relative_to(root)}/"
        if folder / ".gitignore" in ignore_paths:
            data = (folder / ".gitignore").read_bytes()
            rules += (parse_ignore_file(data, base.encode(), ".gitignore"),)
        for child in folder.iterdir():
            key = base + child.name
            if child.name.startswith(".git"):
                continue
            decided = deciding_file(rules, key.encode(), child.is_dir())
            if decided and decided[1]:
                inside = documents(child) if child.is_dir() else [child]
                excluded.update(str(path.relative_to(root)) for path in inside)
            elif child.is_dir():
                walk(child, rules)

    walk(root, ())
    return excluded


def compare(root: Path, files: dict[str, str]) -> None:
    paths = [root / folder / ".gitignore" for folder in files]
    try:
        for path, text in zip(paths, files.values(), strict=True):
            path.write_bytes(text.encode())
        ours = excluded_by_us(root, paths)
        theirs = excluded_by_git(root)
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
    assert ours == theirs


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(outer=ignore_files, inner=ignore_files)
def test_excludes_exactly_what_git_excludes(work_tree, outer, inner):
    compare(work_tree, {"": outer, "a": inner})


@pytest.mark.parametrize(
    "text",
    [
        "foo",
        "/foo",
        "foo/",
        "a/foo",
        "**/foo",
        "a/**",
        "a/**/d",
        "a/**/\n!a/b/",
        "*\n!*/\n!*.md",
        "a/*\n!a/b",
        "f**/bar",
        "-**/**",
        "é**/**/**",
        "b?**/**",
        "a/f**/d",
        "b**",
        "/**/d/",
        "foo.txt   ",
        "x\\ y/",
        "x y  \nfoo",
        "\ufefffoo",
        "foo\r\nbar\r\n",
        "\\#c",
        "#c",
        "\\[a\\]",
        "[[]a]",
        "?",
        "??",
        "*~",
        "a*b*c*~",
        "**/**/d",
        "a/**/**",
        "!",
        "/",
        "//",
        "foo\\",
    ],
)
def test_known_corners_are_as_in_git(work_tree, text):
    compare(work_tree, {"": text})


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (b"*a" * 60 + b"*b", b"a" * 250),
        (b"**/a/" * 40 + b"b", b"a/" * 60 + b"c"),
        (b"x/" + b"*a*/**/" * 20 + b"b", b"x/" + b"aaaa/" * 60 + b"c"),
    ],
)
def test_hostile_patterns_take_no_exponential_time(pattern, path):
    rules = parse_ignore_file(pattern, b"", ".gitignore")
    started = time.process_time()
    assert deciding_file([rules], path, False) is None
    assert is_within(1, started)


def test_a_deeper_file_overrules_the_outer_one():
    outer = parse_ignore_file(b"*.md\n", b"", "outer")
    inner = parse_ignore_file(b"!keep.md\n", b"docs/", "inner")
    assert deciding_file([outer, inner], b"docs/keep.md", False) == (inner, False)
    assert deciding_file([outer, inner], b"docs/other.md", False) == (outer, True)
    assert deciding_file([outer, inner], b"keep.md", False) == (outer, True)
