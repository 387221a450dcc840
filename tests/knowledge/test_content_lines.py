"""Lines are counted as chunks count them, whatever ends them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.boundaries import map_text
from app.knowledge.content_lines import (
    line_end,
    line_start,
    split_lines,
    without_line_break,
)

TEXTS = st.text(alphabet="ab \n\r\u2028\x0b\x85é", min_size=1, max_size=60)


@given(TEXTS)
def test_lines_are_those_of_the_splitter(text: str):
    text_map = map_text(text)
    lines = split_lines(text)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    assert starts == text_map.line_starts.tolist()
    ends = [
        start + len(without_line_break(line)) for start, line in zip(starts, lines, strict=True)
    ]
    assert ends == text_map.line_ends.tolist()


@given(TEXTS)
def test_lines_joined_are_the_text(text: str):
    assert "".join(split_lines(text)) == text


@given(TEXTS)
def test_every_position_stands_in_its_line(text: str):
    text_map = map_text(text)
    for position in range(len(text)):
        line = int(text_map.line_starts.searchsorted(position, side="right")) - 1
        assert line_start(text, position) == text_map.line_starts[line]
        assert line_end(text, position) == text_map.line_ends[line]


@pytest.mark.parametrize(
    ("text", "lines"), [("a", 1), ("a\n", 1), ("a\n\n", 2), ("\r\n", 1), ("a\rb\r\nc\n", 3)]
)
def test_a_final_line_break_begins_no_further_line(text: str, lines: int):
    assert len(split_lines(text)) == lines
