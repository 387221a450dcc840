"""Names in mixed case, such as `JavaScript`: which parts of a word they are, and what they say."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

SPLIT_MARK = "="
"""Stands between a whole and its parts in a split, and marks names; no term contains it."""


class Name(NamedTuple):
    """Parts of a word that nothing but a capital letter tells apart: two at least."""

    first: int
    """Its first part, counted from the word's first."""
    end: int
    """The part after its last."""
    stem: str
    """All of it in one piece, stemmed; empty where that would be too long for a term."""
    whole: str
    """The same, folded but not stemmed."""


def names_in_mixed_case(word: str, parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """First part and the part after the last of each name; `parts` are spans within the word.

    What a sign or a digit tells apart is no name: `java_script`, `Java8`.
    """
    first = 0
    for end in range(1, len(parts) + 1):
        if end < len(parts) and _is_capital_alone(word, parts[end - 1], parts[end]):
            continue
        if end - first > 1:
            yield first, end
        first = end


def whole_mark(whole: str) -> str:
    """The term of a text that has this name, whatever signs and capitals are in it."""
    return whole + SPLIT_MARK


def name_mark(stem: str) -> str:
    """The term of a text that has this name in mixed case."""
    return SPLIT_MARK + stem


def _is_capital_alone(word: str, part: tuple[int, int], following: tuple[int, int]) -> bool:
    place = following[0]
    return part[1] == place and not (word[place - 1].isdecimal() or word[place].isdecimal())
