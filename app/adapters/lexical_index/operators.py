"""Operators: what is written with signs alone, such as `:=`, `->` and `**`.

No word has them, so that they are terms of their own: two or three signs in a row. One alone says
next to nothing, and more are rulers, tables and the like.
"""

import re
from collections.abc import Sequence

MOST_OPERATORS = 4
"""That are looked for in one query, the first ones."""

_SIGN = r"[!%&*+\-./:<=>?@^|~]"
_OPERATOR = re.compile(rf"{_SIGN}{{2,3}}")
_IN_TEXT = re.compile(rf"(?<!{_SIGN}){_SIGN}{{2,3}}(?!{_SIGN})")
_AROUND = "`'\"()[]{},;"
"""May stand around an operator in a sentence, and is none."""
_PUNCTUATION = frozenset({"--", "---", "..", "...", "!!", "!!!", "???", "?!", "!?"})
"""What sentences have between their words: looked for in quotes alone."""


def operators_in(*texts: str) -> set[str]:
    """The operators that stand anywhere in the texts."""
    return {found for text in texts for found in _IN_TEXT.findall(text)}


def operator_of(text: str) -> str | None:
    """The operator that the text is, with nothing but blanks and quotes around it."""
    bare = text.strip().strip(_AROUND)
    return bare if _OPERATOR.fullmatch(bare) else None


def asked_operators(text: str) -> tuple[str, ...]:
    """Those that stand alone in the plain text of a query: `what does := do`, not `a->b`."""
    alone = dict.fromkeys(map(operator_of, text.split()))
    return tuple(each for each in alone if each and each not in _PUNCTUATION)[:MOST_OPERATORS]


def finder_of(operators: Sequence[str]) -> re.Pattern[str]:
    """Finds these operators, at least one, where they are no part of a longer one."""
    any_of_them = "|".join(map(re.escape, operators))
    return re.compile(rf"(?<!{_SIGN})(?:{any_of_them})(?!{_SIGN})")
