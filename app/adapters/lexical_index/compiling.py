"""Turns a parsed query into a tantivy query, term by term; nothing is ever parsed by tantivy."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, product

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.analysis import Word
from app.adapters.lexical_index.fields import (
    ALSO_ALONE,
    BODY,
    DOCUMENT,
    IDENTIFIERS,
    ITEM,
    PATH,
    SAID,
    SPLITS,
    SYMBOLS,
    TITLE,
    WITHIN_NAME,
    FieldWeights,
)
from app.adapters.lexical_index.names import SPLIT_MARK, name_mark, whole_mark
from app.adapters.lexical_index.query import ParsedQuery, Phrase
from app.protocols import SearchScope

MAX_SEARCHED_WORDS = 48
"""Of more plain words, the rarest are searched. No question of the evaluation sets has as many; a
pasted text of 8,000 characters then takes 12 ms at 100,000 records, with 512 words 18 ms."""
MAX_SPLITS = 3
"""Ways of taking a name apart that a phrase tries, the most frequent first."""
MAX_VARIANTS = 24
"""Ways of writing a phrase that are tried."""


class QueryCompiler:
    """Builds queries for one state of the index (a searcher's)."""

    def __init__(
        self, schema: tantivy.Schema, searcher: tantivy.Searcher, weights: FieldWeights
    ) -> None:
        self._schema = schema
        self._searcher = searcher
        self._weights = weights

    def compile(self, parsed: ParsedQuery, scope: SearchScope) -> Query | None:
        """The query, or None when nothing can match it. Filters add nothing to scores."""
        words = self._plain(parsed.words)
        clauses = [(Occur.Must, self._phrase(phrase)) for phrase in parsed.phrases]
        if words is not None:
            clauses.append((Occur.Should if clauses else Occur.Must, words))
        if not clauses:
            return None
        for field, numbers in ((ITEM, scope.item_ids), (DOCUMENT, scope.document_numbers)):
            if numbers is not None:
                storable = storable_numbers(numbers)
                if not storable:
                    return None
                allowed = Query.term_set_query(self._schema, field, storable)
                clauses.append((Occur.Must, Query.const_score_query(allowed, 0.0)))
        clauses += [(Occur.MustNot, self._in_content(phrase)) for phrase in parsed.excluded]
        return clauses[0][1] if len(clauses) == 1 else Query.boolean_query(clauses)

    def frequencies(self, parsed: ParsedQuery) -> list[int]:
        """In how many records each searched word stands: the parts of names count as words."""
        words = [*self._searched(parsed.words), *(w for phrase in parsed.phrases for w in phrase)]
        parts = dict.fromkeys(part for word in words for part in word.parts)
        return [self._searcher.doc_freq(BODY, part) for part in parts]

    # Plain words -------------------------------------------------------------------------------

    def _plain(self, words: Sequence[Word]) -> Query | None:
        """Any of the words in any field: one flat union, which tantivy need not score in full."""
        searched = self._searched(words)
        terms = dict.fromkeys(place for word in searched for place in self._places(word))
        if not terms:
            return None
        return Query.boolean_query(
            [(Occur.Should, self._weighted(self._term(*place), place[0])) for place in terms]
        )

    def _searched(self, words: Sequence[Word]) -> Sequence[Word]:
        """The words that are looked for, of very many the rarest."""
        if len(words) <= MAX_SEARCHED_WORDS:
            return words
        return sorted(words, key=self._frequency)[:MAX_SEARCHED_WORDS]

    def _places(self, word: Word) -> Iterator[tuple[str, str]]:
        """Each field and term where a plain word is looked for."""
        stemmed = (*word.parts, word.stem) if word.is_compound else word.parts
        names = (word.whole,) if word.whole else ()
        for field, terms in (
            (BODY, stemmed),
            (TITLE, stemmed),
            (PATH, stemmed),
            (SYMBOLS, (*word.parts, *names)),
            (IDENTIFIERS, names),
        ):
            if self._weight(field) > 0:
                yield from ((field, term) for term in terms)

    def _frequency(self, word: Word) -> tuple[bool, int]:
        """Sorts the rarest first, and what the content never holds last."""
        frequencies = [self._searcher.doc_freq(BODY, part) for part in word.parts]
        frequencies += [self._searcher.doc_freq(IDENTIFIERS, word.whole)] if word.whole else []
        found = [frequency for frequency in frequencies if frequency]
        return not found, min(found, default=0)

    # Phrases -----------------------------------------------------------------------------------

    def _phrase(self, phrase: Phrase) -> Query:
        """The words side by side in one field, however the names among them are written.

        `FastAPI` stands in the index as two parts and `fastapi` as one; so that either is found
        by either, the phrase is tried in each way that the index knows.
        """
        queries = [
            self._weighted(self._side_by_side(field, variant), field)
            for field in (BODY, TITLE)
            for variant in self._variants(phrase)
        ]
        if len(phrase) == 1 and phrase[0].whole:
            queries += [
                self._weighted(self._term(field, phrase[0].whole), field)
                for field in (SYMBOLS, IDENTIFIERS)
            ]
        return Query.boolean_query([(Occur.Should, query) for query in queries])

    def _in_content(self, phrase: Phrase) -> Query:
        """What leaves a record out: that its content surely says the phrase.

        Titles and paths do not: one folder's name would take away all that lies in it. A phrase of
        several words in a record that says its first or last within a name, too, is left in: which
        of the two it is, only the text tells.
        """
        clauses = []
        if len(phrase) == 1 and phrase[0].whole:
            clauses += [
                self._said(whole_mark(phrase[0].whole)),
                self._said(name_mark(phrase[0].stem)),
            ]
        writings = [dict.fromkeys([word.parts, *_in_one_piece(word)]) for word in phrase]
        for parts in islice(product(*writings), MAX_VARIANTS):
            clauses.append(self._alone([term for word in parts for term in word]))
        return Query.boolean_query([(Occur.Should, clause) for clause in clauses])

    def _alone(self, terms: Sequence[str]) -> Query:
        """The terms side by side, surely no beginning or end of a name in the midst of it."""
        within = [self._said(WITHIN_NAME + term) for term in {terms[0], terms[-1]}]
        if len(terms) == 1:
            within = [
                Query.boolean_query(
                    [(Occur.Must, within[0]), (Occur.MustNot, self._said(ALSO_ALONE + terms[0]))]
                )
            ]
        return Query.boolean_query(
            [
                (Occur.Must, self._side_by_side(BODY, terms)),
                *((Occur.MustNot, query) for query in within),
            ]
        )

    def _said(self, term: str) -> Query:
        return Query.term_query(self._schema, SAID, term, "basic")

    def _variants(self, phrase: Phrase) -> list[tuple[str, ...]]:
        """The sequences of terms that the phrase may stand for."""
        variants: dict[tuple[str, ...], None] = {}
        for parts in islice(product(*map(self._writings, phrase)), MAX_VARIANTS):
            variants.setdefault(tuple(part for word in parts for part in word))
        return list(variants)

    def _writings(self, word: Word) -> list[tuple[str, ...]]:
        """The sequences of parts that the word may stand for, the one given first."""
        writings = dict.fromkeys([word.parts])
        if word.whole:
            writings.setdefault((word.stem,))
            known = self._searcher.terms_with_prefix(SPLITS, word.whole + SPLIT_MARK)
            for split, _ in sorted(known, key=lambda pair: -pair[1])[:MAX_SPLITS]:
                writings.setdefault(tuple(split.split(SPLIT_MARK)[1:]))
        return list(writings)

    def _side_by_side(self, field: str, terms: Sequence[str]) -> Query:
        if len(terms) == 1:
            return self._term(field, terms[0])
        return Query.phrase_query(self._schema, field, list(terms))

    # Inside ------------------------------------------------------------------------------------

    def _term(self, field: str, term: str) -> Query:
        return Query.term_query(self._schema, field, term, "freq")

    def _weight(self, field: str) -> float:
        return float(getattr(self._weights, field))

    def _weighted(self, query: Query, field: str) -> Query:
        weight = self._weight(field)
        return query if weight == 1.0 else Query.boost_query(query, weight)


def _in_one_piece(word: Word) -> list[tuple[str, ...]]:
    return [(word.stem,)] if word.stem else []


def storable_numbers(numbers: Collection[int]) -> list[int]:
    """The distinct numbers that a 64-bit column can hold; no record has any other."""
    return sorted({int(number) for number in numbers if -(2**63) <= number < 2**63})
