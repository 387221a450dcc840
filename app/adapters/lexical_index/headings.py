"""Titles and headings: what one is called, and whether a query calls it so.

Who types `Background Tasks` or `How do I make a back-up?` mostly means the section of that heading,
however often others say its words. A heading is called what it says, whatever its capitals, blanks
and signs, and without the number it begins with: `2.1 Redirects`, `Chapter 3. Indexes`,
`PEP 8 - Style Guide`.
"""

import re
from collections.abc import Iterable, Sequence

import regex

from app.adapters.lexical_index.analysis import Analyser
from app.adapters.lexical_index.terms import Word
from app.adapters.splitting.plain_headings import plain_heading

MOST_CHARACTERS = 200
"""Of a term; a heading that gives more has none."""

_HEADING = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t]+(?P<hashed>\S.*?)(?:[ \t]+#+)?"
    r"|(?P<underlined>\S.*?)[ \t\r]*\n[ \t]*([=\-~^])\3{2,})[ \t\r]*$",
    re.MULTILINE,
)

_NUMBERS = r"\p{Nd}+(?:\.\p{Nd}+)*"
_NUMBER = regex.compile(
    rf"(?:(?:\p{{L}}+\s)?(?:\p{{Lu}}\.)?{_NUMBERS}(?:[.:)]|\s?[-\u2013\u2014])|{_NUMBERS})\s+"
)
"""`2.1`, `3.`, `A.2:`, `Chapter 11.`, `PEP 8 -`; but not the beginning of `Python 3 support`."""


def names_of(title: str, heading_path: Sequence[str], content: str) -> list[str]:
    """The titles and headings that a chunk stands under: the innermost, and those within it.

    And the title of the document where that stands above no text, as in frontmatter.
    """
    within = (
        plain_heading(found["hashed"] or found["underlined"])
        for found in _HEADING.finditer(content)
    )
    above = [*heading_path[-1:], *([] if title in heading_path else [title])]
    return list(dict.fromkeys([*above, *within]))


def heading_terms(heading: str, analyser: Analyser) -> list[str]:
    """The terms for a heading: with the number that it begins with, and without."""
    number = _NUMBER.match(heading)
    texts = dict.fromkeys([heading, heading[number.end() :] if number else heading])
    terms = (heading_term(analyser.words(text)) for text in texts)
    return [term for term in dict.fromkeys(terms) if term]


def heading_term(words: Iterable[Word]) -> str:
    """The term for a heading that says these words; empty for one without words, or with too many.

    Without gaps, so that `FastAPI` and `fastapi` are one.
    """
    term = "".join(part for word in words for part in _parts(word))
    return term if len(term) <= MOST_CHARACTERS else ""


def _parts(word: Word) -> Sequence[str]:
    if word.version:
        return (".".join(word.version),)
    return (word.whole,) if word.has_signs else word.parts
