"""What most of a chunk is, and whether it holds whole sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.protocols import CHUNK_TYPES

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


NOTE = f"   {PROSE}\n   {PROSE}\n"
CALLS = "   def rotate_keys(gate):\n\n       return gate.rotate()\n   rotate_keys(north_gate)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f".. {name}::\n\n{NOTE}", "text") for name in ("note", "Warning", "c:function")),
        (f".. versionadded:: 1.2::\n{NOTE}", "text"),
        *((f".. {name}::\n\n{CALLS}", "code") for name in ("code-block", "Code", "parsed-literal")),
        *((f".. {name}:: a\n\n{CALLS}", "code") for name in ("literalinclude", "math", "prompt")),
        *((f".. {name}::\n\n{NOTE}", "table") for name in ("list-table", "csv-table", "table")),
        (f".. list-table:: Gates\n   :widths: 1 1\n\n{NOTE}", "table"),
        (f".. note::\n\n   So::\n\n{CALLS.replace('   ', '      ')}", "code"),
        *((f"```{{{name}}}\n{PROSE}\n```", "text") for name in ("note", "prf:proof")),
        *((f"> ~~~ {{{name}}} A\n> {PROSE}\n> ~~~", "text") for name in ("tip", "figure")),
        *((f"```{{{name}}}\n{CALLS}\n```", "code") for name in ("code-cell", "math", "mermaid")),
        *((f"```{{{name}}}\n{CALLS}\n```", "code") for name in (".python", "r a, b=c", "python")),
        *((f"```{{{name}}} A\n{NOTE}\n```", "table") for name in ("list-table", "table")),
        *((f":::{{{name}}} A\n{NOTE}\n:::", "table") for name in ("list-table", "csv-table")),
        (f":::\n\n{NOTE}", "text"),
        (f"::\n\n{CALLS}", "code"),
        (f"- ````{{note}}\n  ```py\n{CALLS}\n  ```\n  ````", "code"),
    ],
)
def test_directives_hold_code_tables_or_text(text, expected):
    assert chunk_types(text) == [expected]


def test_code_in_a_note_within_fences_is_kept_whole_and_ends_with_the_note() -> None:
    code = "~~~ py\n" + "rotate(gate)\n" * 9 + "~~~"
    for filler in range(0, 80, 7):
        text = f"`````{{tabs}}\n````{{note}}\n{'word ' * filler}\n\n{code}\n````\n`````\n{PROSE}"
        found = RecursiveTextSplitter(len(code) + 5, 0).split_text(text)
        assert any(code in chunk.content for chunk in found), filler
    unclosed = f"```{{note}}\n~~~ py\n{PROSE}\n```\n\n{PROSE}\n\n{PROSE}"
    assert chunk_types(unclosed) == ["text"]


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
