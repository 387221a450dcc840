"""Keeps emoji, flags and accented letters whole where words are marked."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set

import numpy as np

from app.adapters.splitting.boundaries import Positions
from app.adapters.splitting.graphemes import grapheme_breaks, may_be_torn
from app.adapters.text_analysis.terms import Token

_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")

_OF_NO_WORD = "PZC"
"""Punctuation, space and control characters, by the first letter of their category."""


def flags_in(text: str) -> frozenset[str]:
    """The flags that the text shows, each of two letters."""
    return frozenset(_FLAG.findall(text))


def whole_characters(text: str, tokens: Iterable[Token], flags: Set[str]) -> Iterator[Token]:
    """The tokens, widened where they begin or end within a character; of flags only these.

    An accent at which a token begins stays without the space or the full stop that it stands on.
    """
    breaks: Positions | None = None
    for token in tokens:
        if not may_be_torn(text, token.start, token.end):
            yield token
            continue
        if breaks is None:
            breaks = np.flatnonzero(grapheme_breaks(text))
        start = int(breaks[np.searchsorted(breaks, token.start, side="right") - 1])
        end = int(breaks[np.searchsorted(breaks, token.end)])
        if _FLAG.fullmatch(text, start, end) and text[start:end] not in flags:
            continue
        if unicodedata.category(text[start])[0] in _OF_NO_WORD:
            start = token.start
        yield token._replace(start=start, end=end)
