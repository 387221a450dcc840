"""Finds a query's terms in texts, for highlights: without analysing every word of them."""

import re
from collections.abc import Iterator, Set

from app.adapters.lexical_index.analysis import Analyser, Token

BEGINNING_CHARACTERS = 3
"""Of a term, as many at most are looked for: more find hardly fewer words."""

QUICK_LANGUAGES = frozenset({"english"})
"""Whose stemmers change nothing but the ends of words, and those as `_beginning` knows. Others
take prefixes off (Dutch, Indonesian) or read `ue` as an umlaut (German)."""

_SIGNS = r"[-_.,']*"
"""What may stand between the letters of a name in one piece: `e-mail` is also `email`."""

_STRETCH = re.compile(r"\S+")
"""No word reaches across white space, so each stretch can be analysed by itself."""


class TermFinder:
    """Finds the terms of one query in one text after the other. For one thread.

    Each different stretch is looked at once. One of ASCII alone in an English text is analysed only
    if it holds the beginning of a term: any other may write a term in ways that folding or stemming
    undoes.
    """

    def __init__(self, terms: Set[str], analyser: Analyser) -> None:
        self._terms = terms
        self._analyser = analyser
        beginnings = {_SIGNS.join(map(re.escape, _beginning(term))) for term in terms}
        self._beginnings = re.compile("|".join(sorted(beginnings)), re.IGNORECASE | re.ASCII)
        self._is_quick = analyser.language in QUICK_LANGUAGES
        self._found: dict[str, tuple[Token, ...]] = {}

    def find(self, text: str) -> Iterator[Token]:
        """The tokens whose term is sought, in the order of the text."""
        if not self._terms:
            return
        found = self._found
        for match in _STRETCH.finditer(text):
            stretch = match.group()
            tokens = found.get(stretch)
            if tokens is None:
                tokens = found[stretch] = self._look_into(stretch)
            for term, start, end, position, is_whole in tokens:
                offset = match.start()
                yield Token(term, offset + start, offset + end, position, is_whole)

    def _look_into(self, stretch: str) -> tuple[Token, ...]:
        if self._is_quick and stretch.isascii() and not self._beginnings.search(stretch):
            return ()
        tokens = self._analyser.analyse(stretch)
        return tuple(token for token in tokens if token.term in self._terms)


def _beginning(term: str) -> str:
    """The characters that begin every word of which the term is the stem.

    Of three letters or more, the stemmer may have changed the last (`dries` and `dry` are `dri`,
    `using` is `use`), and it makes `dying` into `die`.
    """
    if len(term) < BEGINNING_CHARACTERS:
        return term
    changed = 2 if term.endswith("ie") else 1
    return term[: min(BEGINNING_CHARACTERS, len(term) - changed)]
