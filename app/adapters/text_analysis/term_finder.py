"""Finds a query's terms in texts, for highlights: without analysing every word of them."""

import re
import string
from collections.abc import Iterator, Set

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.terms import Token, TokenValues

BEGINNING_CHARACTERS = 3
"""Of a term, as many at most are looked for: more find hardly fewer words."""

QUICK_LANGUAGES = frozenset({"english"})
"""Whose stemmers change nothing but the ends of words, and those as `_beginning` knows. Others
take prefixes off (Dutch, Indonesian) or read `ue` as an umlaut (German)."""

_FOREIGN = re.compile(r"[^\x00-\x7f]")
_SIGNS_WITHIN = re.compile(r"[-_.,'](?<![-_.,'].)[-_.,']*+(?=[a-z0-9])")
"""What may stand between the letters of a name in one piece: `e-mail` is also `email`. Looked for
once in each row of signs, from its start: a ruler of thousands of them is read once."""

_STRETCH = re.compile(r"[^ ]+")
_WHITE_SPACE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f"
_BREAKS = '/()[]{}<>:;"`*|=\\'
"""Signs that no word holds. They stay with what follows, which may begin otherwise for them."""
_PLAIN = str.maketrans(
    string.ascii_uppercase + _WHITE_SPACE + _BREAKS,
    string.ascii_lowercase + " " * len(_WHITE_SPACE + _BREAKS),
)
"""Text of the same length in which only small letters and spaces need be looked for."""


class TermFinder:
    """Finds the terms of one query in one text after the other. For one thread.

    No word reaches across white space or certain signs, so each stretch between them can be
    analysed by itself; each different one is, once. One of ASCII alone in an English text is
    analysed only if a word or a part of a name in it begins as a term does: any other may write a
    term in ways that folding or stemming undoes.
    """

    def __init__(self, terms: Set[str], analyser: Analyser) -> None:
        self._terms = terms
        self._analyser = analyser
        self._beginnings: frozenset[str] | None = None
        if analyser.language in QUICK_LANGUAGES:
            self._beginnings = frozenset(map(_beginning, terms))
        self._found: dict[str, tuple[TokenValues, ...]] = {}

    def find(self, text: str) -> Iterator[Token]:
        """The tokens whose term is sought, in the order of the text."""
        if not self._terms:
            return
        plain, found = text.translate(_PLAIN), self._found
        end = 0
        for place in self._places(text, plain):
            if place < end:
                continue
            start = plain.rfind(" ", end, place) + 1 or end
            end = plain.find(" ", place + 1)
            end = len(plain) if end < 0 else end
            if start and text[start - 1] in _BREAKS:
                start -= 1
            stretch = text[start:end]
            tokens = found.get(stretch)
            if tokens is None:
                tokens = found[stretch] = self._look_into(stretch)
            for term, first, last, position, is_whole in tokens:
                yield Token(term, start + first, start + last, position, is_whole)

    def _places(self, text: str, plain: str) -> list[int]:
        """Where each stretch that has to be analysed tells so, in order; some stretches twice."""
        if self._beginnings is None:
            return [match.start() for match in _STRETCH.finditer(plain)]
        places = [] if text.isascii() else [match.start() for match in _FOREIGN.finditer(plain)]
        for match in _SIGNS_WITHIN.finditer(plain):
            first = end = match.start()
            while first and end - first < BEGINNING_CHARACTERS and plain[first - 1].isalnum():
                first -= 1
            if 0 < end - first < BEGINNING_CHARACTERS:
                places.append(first)
        for beginning in self._beginnings:
            place = plain.find(beginning)
            while place >= 0:
                following = place + 1
                # Within a word, nothing begins at a small letter that follows another.
                if not (place and text[place].islower() and text[place - 1].islower()):
                    places.append(place)
                    following = plain.find(" ", following)
                    if following < 0:
                        break
                place = plain.find(beginning, following)
        places.sort()
        return places

    def _look_into(self, stretch: str) -> tuple[TokenValues, ...]:
        tokens = self._analyser.analyse_stretch(stretch)
        return tuple(values for values in tokens if values[0] in self._terms)


def _beginning(term: str) -> str:
    """The characters that begin every word of which the term is the stem.

    Of three letters or more, the stemmer may have changed the last (`dries` and `dry` are `dri`,
    `using` is `use`), and it makes `dying` into `die`. Only a switch has capitals.
    """
    if len(term) < BEGINNING_CHARACTERS or term.startswith("-"):
        return term[:BEGINNING_CHARACTERS].lower()
    changed = 2 if term.endswith("ie") else 1
    return term[: min(BEGINNING_CHARACTERS, len(term) - changed)]
