"""Titles and headings: what one is called, and whether a query calls it so.

Who types `Background Tasks` or `How do I make a back-up?` mostly means the section of that heading,
however often others say its words. A heading is called what it says, whatever its capitals, blanks
and signs, and without the number it begins with: `2.1 Redirects`, `Chapter 3. Indexes`,
`PEP 8 - Style Guide`.
"""

from collections.abc import Iterable, Sequence

import regex

from app.adapters.lexical_index.analysis import Analyser
from app.adapters.lexical_index.terms import Word

MOST_CHARACTERS = 200
"""Of a heading; longer ones are not asked for as a whole."""

_NUMBERS = r"\p{Nd}+(?:\.\p{Nd}+)*"
_NUMBER = regex.compile(
    rf"(?:(?:\p{{L}}+\s)?(?:\p{{Lu}}\.)?{_NUMBERS}(?:[.:)]|\s?[-\u2013\u2014])|{_NUMBERS})\s+"
)
"""`2.1`, `3.`, `A.2:`, `Chapter 11.`, `PEP 8 -`; but not the beginning of `Python 3 support`."""


def heading_terms(heading: str, analyser: Analyser) -> list[str]:
    """The terms for a heading: with the number that it begins with, and without."""
    if len(heading) > MOST_CHARACTERS:
        return []
    number = _NUMBER.match(heading)
    texts = dict.fromkeys([heading, heading[number.end() :] if number else heading])
    terms = (heading_term(analyser.words(text)) for text in texts)
    return [term for term in dict.fromkeys(terms) if term]


def heading_term(words: Iterable[Word]) -> str:
    """The term for a heading that says these words; empty for one without words.

    Without gaps, so that `FastAPI` and `fastapi` are one.
    """
    return "".join(part for word in words for part in _parts(word))


def _parts(word: Word) -> Sequence[str]:
    if word.version:
        return (".".join(word.version),)
    return (word.whole,) if word.has_signs else word.parts
