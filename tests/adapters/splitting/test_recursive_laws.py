"""Laws that hold for every text, every size and every tokenizer."""

from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from token_meters import BytesMeter, PatternMeter, word_piece_meter

from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.protocols import TextChunk, TokenMeter

PARTS = (
    *("a", "B7", "word", "Sentence one. ", "Ende! ", "etc.) ", "x" * 120, "- item\n"),
    *("文字。", "「はい。」", "한글", "é", "e\u0301", "क्षि", "a" + "\u0301" * 30, "\u06001"),
    *("👩‍👩‍👧‍👦", "🇩🇪", "🇫🇷🇩🇪🇮🇹", "👍🏽", "\U0001f9d1\U0001f3ff", "\u200b", "\u200d", "\ufeff"),
    *(" ", "  ", "\t", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "\u2028", "\x1c", "\x85", "\x00"),
    *("# Title\n", "## Sub ##\n\n", "Title\n=====\n", "---\n", "====\nOver\n====\n\n", "\u3000"),
    *("```\n", "~~~~\n", "``` py\nx = 1\n```\n", "code::\n\n    x\n", "    indented\n", "#", "="),
    *("| a | b |\n|---|---|\n| 1 | 2 |\n", "+--+\n|a |\n+--+\n", "=== ===\na   b\n=== ===\n\n"),
    *(
        "...",
        "+/=-_",
        "$$\n",
        "$$ x\n",
        ":::{code}\n",
        ":::\n",
        "<!--\n",
        "-->\n",
        "{/*\n",
        "*/}\n",
    ),
    *("{% highlight sh %}\n", "{% endhighlight %}\n", "<h2>Sub</h2>\n", "<h1>\n", "</h1>\n"),
    *("{% comment %}\n", "{% endcomment %}\n", "%%\n", "{::comment}\n", "{:/}\n"),
    *("```{note}\n", ".. note::\n", "  .. table::\n\n", "(a)=\n", ".. _a:\n", ".. index::\n  a\n"),
)

any_text = st.text(max_size=300) | st.text(st.characters(codec="utf-8"), max_size=300)
built_text = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)
texts = built_text | any_text | st.tuples(built_text, any_text, built_text).map("".join)
meters: st.SearchStrategy[TokenMeter | None] = st.one_of(
    st.none(),
    st.builds(PatternMeter, st.just(r"\S+"), st.integers(1, 40)),
    st.builds(PatternMeter, st.just(r"."), st.integers(1, 80)),
    st.builds(PatternMeter, st.just(r"\s?\w{1,3}|\s?\W"), st.integers(1, 40)),
    st.builds(BytesMeter, st.integers(1, 80)),
)


def clusters(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in regex.finditer(r"\X", text)]


def check_cover(text: str, chunks: list[TextChunk], overlap: int) -> None:
    if not text.strip():
        assert chunks == []
        return
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.content for chunk in chunks)
    assert all(text[c.start_index : c.end_index] == c.content for c in chunks)
    assert chunks[0].start_index == 0
    assert chunks[-1].end_index == len(text)
    for before, after in pairwise(chunks):
        assert before.start_index < after.start_index <= before.end_index < after.end_index
        assert before.end_index - after.start_index <= overlap


def torn(text: str, chunks: list[TextChunk]) -> list[str]:
    cuts = {c.start_index for c in chunks} | {c.end_index for c in chunks}
    return [text[a:b] for a, b in clusters(text) if any(a < cut < b for cut in cuts)]


@settings(max_examples=250, deadline=None)
@given(texts, st.integers(1, 150), st.data())
def test_chunks_are_exact_cover_everything_go_forward_and_keep_the_size(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    chunks = RecursiveTextSplitter(size, overlap).split_text(text)
    check_cover(text, chunks, overlap)
    assert all(len(chunk.content) <= size for chunk in chunks)
    assert all(len(cluster) > size for cluster in torn(text, chunks))


@settings(max_examples=250, deadline=None)
@given(texts, st.integers(1, 150), meters.filter(bool), st.data())
def test_chunks_fit_the_window_of_any_tokenizer_unless_one_character_does_not(
    text, size, meter, data
):
    overlap = data.draw(st.integers(0, size - 1))
    chunks = RecursiveTextSplitter(size, overlap, meter).split_text(text)
    check_cover(text, chunks, overlap)
    for chunk in chunks:
        assert len(chunk.content) <= size
        assert meter.count(chunk.content) <= meter.max_tokens or len(chunk.content) == 1
    for cluster in torn(text, chunks):
        assert len(cluster) > size or meter.count(cluster) > meter.max_tokens


@settings(max_examples=150, deadline=None)
@given(texts, st.integers(1, 400), st.integers(1, 254), st.data())
def test_chunks_fit_the_window_of_the_default_model(text, size, max_tokens, data):
    overlap = data.draw(st.integers(0, size - 1))
    meter = word_piece_meter()
    chunks = RecursiveTextSplitter(size, overlap, meter, max_tokens).split_text(text)
    check_cover(text, chunks, overlap)
    for chunk in chunks:
        assert meter.count(chunk.content) <= max_tokens or len(chunk.content) == 1


@settings(max_examples=100, deadline=None)
@given(st.text("abcxyz019", min_size=101, max_size=900), st.integers(40, 99))
def test_pieces_of_a_word_too_long_for_word_pieces_still_fit(word, size):
    """Whole, a word of over 100 characters is one token; cut to less, it is dozens."""
    meter = word_piece_meter()
    text = f"see {word} there"
    assert meter.count(text) == 3
    chunks = RecursiveTextSplitter(size, size // 5, meter, 12).split_text(text)
    check_cover(text, chunks, size // 5)
    assert all(meter.count(chunk.content) <= 12 for chunk in chunks)


@settings(max_examples=150, deadline=None)
@given(texts, st.integers(1, 80))
def test_lines_are_those_of_an_editor(text, size):
    for chunk in RecursiveTextSplitter(size, size // 4).split_text(text):
        first = regex.findall(r"\r\n|\r|\n", text[: chunk.start_index])
        begun_within_pair = text[chunk.start_index - 1 : chunk.start_index + 1] == "\r\n"
        before_last = regex.findall(r"\r\n|\r|\n", text[: chunk.end_index - 1])
        last_ends_pair = text[: chunk.end_index].endswith("\r\n")
        if not begun_within_pair:
            assert chunk.start_line == 1 + len(first)
        expected_end = 1 + len(before_last) - (1 if last_ends_pair else 0)
        assert chunk.end_line == expected_end


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("ab .\n", max_size=60), min_size=2, max_size=6),
    st.lists(st.text("xy \n", min_size=1, max_size=70), min_size=1, max_size=5),
    st.integers(90, 200),
    st.sampled_from(["```", "~~~~", "  ```"]),
)
def test_fenced_code_that_fits_stands_whole_in_some_chunk(prose, codes, size, fence):
    blocks = [f"{fence} py\n{code}\n{fence}" for code in codes]
    text = "\n\n".join(part for pair in zip(prose * 5, blocks, strict=False) for part in pair)
    chunks = RecursiveTextSplitter(size, size // 5).split_text(text)
    for block in blocks:
        assert any(block in chunk.content for chunk in chunks)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("ab. ", min_size=1, max_size=60), min_size=1, max_size=6),
    st.integers(1, 6),
    st.integers(8, 25),
)
def test_code_that_fits_the_window_stands_whole_in_some_chunk(prose, rows, max_tokens):
    block = "```\n" + "x = 1\n" * rows + "```"
    meter = PatternMeter(r"\S+", max_tokens)
    chunks = RecursiveTextSplitter(400, 80, meter).split_text(f"\n\n{block}\n\n".join(prose))
    fits = meter.count(block) <= max_tokens
    if fits and len(prose) > 1:
        assert any(block in chunk.content for chunk in chunks)


@settings(max_examples=100, deadline=None)
@given(texts)
def test_the_same_text_is_cut_the_same_again(text):
    splitter = RecursiveTextSplitter(60, 15, word_piece_meter(), 20)
    assert splitter.split_text(text) == splitter.split_text(text)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_line_break_of_two_characters_is_cut_only_where_chunks_have_one(size):
    chunks = RecursiveTextSplitter(size, 0).split_text("a\r\nb\r\n\r\nc")
    ends = {"a\r\nb\r\n\r\nc"[c.start_index - 1 : c.start_index + 1] for c in chunks[1:]}
    assert ("\r\n" in ends) == (size == 1)


def test_lone_surrogates_are_cut_like_other_characters():
    text = "broken \ud800 text " * 20
    check_cover(text, RecursiveTextSplitter(50, 10).split_text(text), 10)
