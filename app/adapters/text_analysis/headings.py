"""Titles and headings: what one is called, and whether a query calls it so.

Who types `Background Tasks` or `How do I make a back-up?` mostly means the section of that heading,
however often others say its words. A heading is called what it says, whatever its capitals, blanks
and signs, and without the number it begins with: `2.1 Redirects`, `Chapter 3. Indexes`,
`PEP 8 - Style Guide`.
"""

import functools
import re
from collections.abc import Iterable, Sequence

import regex

from app.adapters.splitting.boundaries import map_lines
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.markup import markup_of
from app.adapters.splitting.structure import read_structure
from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.terms import Word

MOST_CHARACTERS = 200
"""Of a term; a heading that gives more has none."""

KNOWN_HEADINGS = 4096
"""Whose terms are kept: all chunks of a section stand under the same, and many of a document."""

_MAY_BE_HEADING = re.compile(
    r"^(?: {0,3}#{1,6}[ \t]|[ \t]*([!-/:-@\[-`{-~])\1*[ \t\r]*$)|<[hH][1-6]", re.MULTILINE
)
"""What a text without headings often lacks: to look for it takes a hundredth of the
time."""

_NUMBERS = r"\p{Nd}+(?:\.\p{Nd}+)*"
_NUMBER = regex.compile(
    rf"(?:(?:\p{{L}}+\s)?(?:\p{{Lu}}\.)?{_NUMBERS}(?:[.:)]|\s?[-\u2013\u2014])|{_NUMBERS})\s+"
)
"""`2.1`, `3.`, `A.2:`, `Chapter 11.`, `PEP 8 -`; but not the beginning of `Python 3 support`."""


def names_of(
    titles: Sequence[str], heading_path: Sequence[str], content: str, path: str
) -> list[str]:
    """The titles and headings that a chunk stands under: the innermost, and those within it.

    And the first of the titles, which is the document's own, where that stands above no text, as in
    frontmatter. A further one, of its item, is that of a chunk under no heading: else all would be
    called by it. `path` is the key of the document, which tells how it is marked up.
    """
    own, of_item = titles[:1], () if heading_path else titles[1:]
    above = [*heading_path[-1:], *(title for title in own if title not in heading_path), *of_item]
    return list(dict.fromkeys([*above, *_headings_within(content, path)]))


def _headings_within(content: str, path: str) -> list[str]:
    """As the splitter finds them, but for code that begins in an earlier chunk."""
    if not _MAY_BE_HEADING.search(content):
        return []
    structure = read_structure(Lines(content, map_lines(content)), markup_of(path))
    return [heading.path[-1] for heading in structure.headings if heading.path]


@functools.lru_cache(KNOWN_HEADINGS)
def heading_terms(heading: str, analyser: Analyser) -> tuple[str, ...]:
    """The terms for a heading: with the number that it begins with, and without."""
    number = _NUMBER.match(heading)
    texts = dict.fromkeys([heading, heading[number.end() :] if number else heading])
    terms = (heading_term(analyser.words(text)) for text in texts)
    return tuple(term for term in dict.fromkeys(terms) if term)


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
