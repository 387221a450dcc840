"""What is embedded is a chunk's own words after a line of context, and fits the model's window."""

import re

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.indexing.embedded_text import (
    MOST_CHARACTERS,
    chunk_context,
    embedded_text,
    splitting_limit,
)
from app.protocols import LoadedDocument, TextChunk


class Meter:
    """Words and signs are tokens; a long word falls into pieces of 1, 2, 3, … letters.

    The rest of a word that is cut has more tokens than it had within the word, as with models.
    """

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        spans = []
        for word in re.finditer(r"\w+|[^\w\s]", text):
            start, size = word.start(), 1
            while start < word.end():
                spans.append((start, min(start + size, word.end())))
                start, size = start + size, size + 1
        return np.array(spans, np.int64).reshape(-1, 2)

    def reads(self, text: str) -> bool:  # noqa: ARG002, whatever it says
        return True

    def count(self, text: str) -> int:
        return len(self.spans(text))


def loaded(title: str | None) -> LoadedDocument:
    return LoadedDocument(
        content="", content_hash="", document_id="d", source_uri="/d", title=title
    )


def chunk(content: str, headings: tuple[str, ...] = ()) -> TextChunk:
    return TextChunk(content, 0, len(content), 0, 1, 1, headings)


def context(
    title: str | None,
    headings: tuple[str, ...] = (),
    content: str = "words",
    key: str = "guide/auth.md",
    max_tokens: int | None = 254,
) -> str:
    meter = Meter(max_tokens) if max_tokens else None
    return chunk_context(loaded(title), key, chunk(content, headings), meter)


@pytest.mark.parametrize(
    ("title", "headings", "content", "expected"),
    [
        ("Manual", ("Login", "Keys"), "rotate them", "Manual > Login > Keys"),
        ("Manual", (), "rotate them", "Manual"),
        # What the chunk says itself is not said again, however it is written there.
        ("Manual", ("Key  Rotation",), "key\nROTATION is easy", "Manual"),
        ("Manual", ("Login",), "The manual of login", ""),
        ("Manual", ("The key_a of C",), "## The `key_a` of **C**", "Manual"),
        # Nor is anything said twice in a row.
        ("Manual", ("MANUAL", "Keys"), "rotate", "Manual > Keys"),
        ("Line\nbreak", (" ", "a\tb"), "rotate", "Line break > a b"),
        (" ", (), "rotate", ""),
    ],
)
def test_title_and_headings_are_told_unless_the_chunk_tells_them(
    title, headings, content, expected
):
    assert context(title, headings, content) == expected


@pytest.mark.parametrize(
    ("title", "key", "expected"),
    [
        (None, "src/app/auth.py", "src/app/auth.py"),
        ("auth", "src/app/auth.py", "src/app/auth.py"),
        ("", "auth.py", "auth.py"),
        (None, "docs/auth.md", "docs/auth.md"),
        (None, "auth.md", ""),
        ("LICENSE", "LICENSE", ""),
        ("Auth", "auth.md", "Auth"),
    ],
)
def test_the_path_stands_for_a_title_that_is_only_the_files_name(title, key, expected):
    assert context(title, key=key) == expected


def test_of_a_line_that_is_too_long_the_end_is_kept():
    deep = tuple(f"h{n}" for n in range(30))
    line = context("Manual", deep, "x " * 225)
    assert "Manual" not in line
    assert line.endswith("h28 > h29")
    assert context("Manual", deep, "word").endswith(line)
    assert context("Manual", deep, "word").startswith("Manual")  # here is room for all of it


def test_without_a_meter_a_line_has_so_many_characters_at_most():
    assert context("t" * 500, max_tokens=None) == "t" * MOST_CHARACTERS
    assert context("Manual", ("Login",), max_tokens=None) == "Manual > Login"


WORDS = st.text("abcdefghijklm", min_size=1, max_size=14)
LINES = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=60)


@given(
    max_tokens=st.integers(1, 60),
    title=st.none() | LINES,
    headings=st.lists(LINES, max_size=4).map(tuple),
    words=st.lists(st.sampled_from(["x", "y", "!"]), min_size=1, max_size=60),
    key=st.sampled_from(["a.md", "x/y.py"]) | WORDS.map(lambda word: f"{word}/{word}.py"),
)
def test_content_that_the_splitter_allows_always_fits_with_its_context(
    max_tokens, title, headings, words, key
):
    meter = Meter(max_tokens)
    content = " ".join(words[: splitting_limit(meter)])
    text = embedded_text(context(title, headings, content, key, max_tokens), content)
    assert text.endswith(content)
    assert text == content or text[: -len(content)].endswith("\n")
    assert meter.count(text) <= max_tokens


@given(st.integers(1, 600))
def test_the_splitter_gets_at_least_half_of_any_window(max_tokens):
    assert (max_tokens + 1) // 2 <= splitting_limit(Meter(max_tokens)) <= max_tokens
