"""What most of a chunk is, and whether it holds whole sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.chunk_facts import CHUNK_TYPES
from app.adapters.splitting.recursive import RecursiveTextSplitter

PROSE = "The pilot boards the ship at the quay, and then the gate is opened."
CODE = "```python\ndef rotate_keys(gate):\n    return gate.rotate()\n```"
TABLE = "| gate | key |\n| --- | --- |\n| north | brass |\n| south | iron |"
LIST = "- first rotate the keys\n  of every gate\n- then tell the pilot\n\n1. and rest\n"


def chunk_types(text: str, size: int = 1000) -> list[str]:
    return [chunk.chunk_type for chunk in RecursiveTextSplitter(size, 0).split_text(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROSE, "text"),
        (CODE, "code"),
        (f"Rotate them so::\n\n    {PROSE}\n    {PROSE}\n", "code"),
        (TABLE, "table"),
        (LIST, "list"),
        ("# Keys\n\n## Gates\n", "heading"),
        (f"# Keys\n\n{PROSE}", "text"),
        (f"{PROSE}\n\n{PROSE}\n\n{CODE}", "text"),
        (f"# Keys\n\nSo:\n\n{CODE}", "code"),
        ("|", "text"),
    ],
    ids=[
        "prose",
        "fence",
        "literal",
        "table",
        "list",
        "headings",
        "section",
        "mixed",
        "mostly",
        "bar",
    ],
)
def test_a_chunk_is_what_at_least_half_of_it_is(text, expected):
    assert chunk_types(text) == [expected]


def test_a_cut_block_is_still_what_it_is() -> None:
    long_code = "```\n" + "".join(f"call_number_{n}(argument)\n" for n in range(30)) + "```\n"
    assert set(chunk_types(long_code, size=200)) == {"code"}


def completeness(text: str, size: int) -> list[float]:
    found = RecursiveTextSplitter(size, 0).split_text(text)
    return [chunk.completeness for chunk in found if chunk.completeness is not None]


def test_whole_sections_are_complete_paragraphs_half_and_pieces_of_them_not() -> None:
    section = f"# Keys\n\n{PROSE}\n\n"
    assert completeness(section + section.replace("Keys", "Gates"), 100) == [1, 1]
    assert completeness(f"{PROSE}\n\n" * 3, 75) == [0.75, 0.5, 0.75]
    words = completeness(" ".join(["harbour"] * 60), 100)
    assert (words[0], words[-1]) == (0.5, 0.5)
    assert set(words[1:-1]) == {0.0}


@given(st.text(st.sampled_from("ab #|-`.\n\t1"), min_size=1, max_size=300), st.integers(1, 60))
def test_every_chunk_of_any_text_has_a_type_and_a_completeness(text, size):
    for chunk in RecursiveTextSplitter(size, 0).split_text(text):
        assert chunk.chunk_type in CHUNK_TYPES
        assert chunk.completeness in (0, 0.25, 0.5, 0.75, 1)
