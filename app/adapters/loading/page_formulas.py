"""Writes raised and lowered characters so that a number stays the number it is."""

import re

EXPONENT = re.compile(r"[-+\u2212±]?(?:[0-9]+(?:[.,/][0-9]+)?|[^\W\d_])")
"""A number or a letter; not the ends of 1st and 2nd, and no trade mark."""

ENDS_OF_ORDINALS = {"a", "e", "o"}
"""Single letters that are raised after a number in French, Italian and Spanish: 2e, 1o."""

TERM = re.compile(r"[\w.,/+*\u2212-]*[0-9+*/\u2212-][\w.,/+*\u2212-]*")
"""Of several characters, what is calculated with."""

MOST_TERM_CHARACTERS = 30
"""What is longer is a text that is set small."""


def raised(before: str, text: str) -> str:
    """A superscript after `before`: 10^6, x^(n+1); as it is where it is no exponent."""
    is_ordinal = before[-1:].isdigit() and text in ENDS_OF_ORDINALS
    if is_ordinal or not _is_base(before):
        return text
    if len(text) <= MOST_TERM_CHARACTERS and EXPONENT.fullmatch(text):
        return f"^{text}"
    return f"^({text})" if _is_term(text) else text


def lowered(before: str, text: str) -> str:
    """A subscript after `before`: H2O, as all write it and look for it, but x_i and 101_2.

    A number after a letter can be told from it; one after a number would become its end.
    """
    is_told_apart = text.isdigit() and not before[-1:].isdigit()
    if is_told_apart or not _is_base(before):
        return text
    if text.isalnum():
        return f"_{text}"
    return f"_({text})" if _is_term(text) else text


def _is_base(before: str) -> bool:
    return before[-1:].isalnum() or before[-1:] in {")", "]", "}"}


def _is_term(text: str) -> bool:
    return 1 < len(text) <= MOST_TERM_CHARACTERS and bool(TERM.fullmatch(text))
