"""Finds a query's terms in texts, for highlights: without analysing every word of them."""

import re
from collections.abc import Iterator, Set

from app.adapters.lexical_index.analysis import Analyser, Token

PREFIX_CHARACTERS = 3
"""Of a term, these stand in every word that it is the stem of: Snowball changes the ends."""


class TermFinder:
    """Finds the terms of one query.

    In a text of ASCII alone only stretches that hold the beginning of a term are analysed, which
    takes a fifth of the time; any other text may write a term in ways that folding undoes.
    """

    def __init__(self, terms: Set[str], analyser: Analyser) -> None:
        self._terms = terms
        self._analyser = analyser
        beginnings = sorted({re.escape(term[:PREFIX_CHARACTERS]) for term in terms})
        self._beginning = re.compile("|".join(beginnings), re.IGNORECASE | re.ASCII)

    def find(self, text: str) -> Iterator[Token]:
        """The tokens whose term is sought, in the order of the text."""
        if not self._terms:
            return
        stretches = self._stretches(text) if text.isascii() else [(0, len(text))]
        for start, end in stretches:
            for token in self._analyser.tokens_between(text, start, end):
                if token.term in self._terms:
                    yield token

    def _stretches(self, text: str) -> Iterator[tuple[int, int]]:
        """Spans without white space around each beginning of a term, in order, once each."""
        end = 0
        while (match := self._beginning.search(text, end)) is not None:
            start = match.start()
            while start > 0 and not text[start - 1].isspace():
                start -= 1
            end = match.end()
            while end < len(text) and not text[end].isspace():
                end += 1
            yield start, end
