"""Lets a word count alike in every language, by how many records hold it in any of its forms."""

import math
from collections.abc import Iterator, Sequence

from app.adapters.lexical_index.term_counts import TermCounts
from app.adapters.text_analysis.languages import SpokenQuery
from app.adapters.text_analysis.mixed_case_names import name_mark
from app.adapters.text_analysis.terms import Word


class Blending:
    """Corrects what tantivy makes of a term that is one form of a word among several.

    BM25 takes a term for the rarer the fewer records hold it. A word would weigh most in the
    language of which there are fewest records, however often they say it. So each form counts as
    if all were one term. With one language nothing is corrected. It serves one query.
    """

    def __init__(self, records: int, counts: TermCounts, queries: Sequence[SpokenQuery]) -> None:
        self._records = records
        self._count = counts
        self._forms = _forms(queries) if len(queries) > 1 else {}
        self._rarities: dict[tuple[str, str], tuple[float, float]] = {}

    @property
    def is_needed(self) -> bool:
        """Whether there is more than one language."""
        return bool(self._forms)

    def may_hold(self, field: str, terms: Sequence[str]) -> bool:
        """Whether a record may have all the terms in the field.

        With one language nothing is counted for that: most words of a query are there. With
        several, most are of another language than most records.
        """
        return not self.is_needed or all(self._count(field, term) for term in terms)

    def frequency(self, field: str, term: str) -> int:
        """In how many records the field holds the word of which this is a form."""
        forms = self._forms.get(term, (term,))
        return sum(self._count(field, form) for form in forms)

    def rarity(self, field: str, term: str) -> float:
        """BM25's inverse document frequency of the word of which this is a form."""
        return self._idf(self.frequency(field, term))

    def factor(self, field: str, terms: Sequence[str]) -> float:
        """By how much the score of these terms, side by side, is too low; below 1 if too high."""
        if not self.is_needed:
            return 1.0
        rarities = [self._rarity(field, term) for term in terms]
        return sum(blended for _, blended in rarities) / sum(own for own, _ in rarities)

    def _rarity(self, field: str, term: str) -> tuple[float, float]:
        """That of the term alone, and that of the word."""
        known = self._rarities.get((field, term))
        if known is None:
            known = self._idf(self._count(field, term)), self.rarity(field, term)
            self._rarities[field, term] = known
        return known

    def _idf(self, frequency: int) -> float:
        """BM25's inverse document frequency."""
        others = max(self._records - frequency, 0)
        return math.log(1 + (others + 0.5) / (frequency + 0.5))


def _forms(queries: Sequence[SpokenQuery]) -> dict[str, frozenset[str]]:
    """All forms of the word that a term is a form of, by term.

    Every language takes a text apart alike; only the stems differ. So words are the same in all
    that are the same in one piece and are taken apart at the same places: `JavaScript` begins with
    `java`, and `javascript` does not.
    """
    by_word: dict[tuple[object, ...], set[str]] = {}
    for query in queries:
        for word in _words(query):
            whole = word.whole or "".join(word.parts)
            lengths = tuple(end - start for start, end in word.spans)
            by_word.setdefault((whole,), set()).add(query.mark + word.stem)
            by_word.setdefault((whole, "name"), set()).add(query.mark + name_mark(word.stem))
            for number, part in enumerate(word.parts):
                by_word.setdefault((whole, lengths, number), set()).add(query.mark + part)
    forms: dict[str, frozenset[str]] = {}
    for same in by_word.values():
        for term in same:
            forms[term] = forms.get(term, frozenset()).union(same)
    return forms


def _words(query: SpokenQuery) -> Iterator[Word]:
    yield from query.parsed.words
    for phrase in query.parsed.searched_phrases:
        yield from phrase
