"""Turns a phrase into tantivy queries: for what must say it, and for what is left out for that."""

from collections.abc import Iterator, Sequence
from itertools import islice, product

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.fields import (
    ALSO_ALONE,
    BODY,
    QUOTABLE,
    SHOWN,
    SIGNED,
    SPLITS,
    SYMBOLS,
    TITLE,
    WITHIN_NAME,
)
from app.adapters.lexical_index.places import Place, PlaceQueries
from app.adapters.text_analysis.cjk_edges import patterns_of
from app.adapters.text_analysis.languages import SpokenQuery
from app.adapters.text_analysis.mixed_case_names import SPLIT_MARK, name_mark, whole_mark
from app.adapters.text_analysis.terms import Phrase, Word, needs_signs

MAX_SPLITS = 3
"""How many ways of taking a name apart are tried, the most frequent first."""
MAX_VARIANTS = 24
"""How many ways of writing a phrase are tried."""


class PhraseQueries:
    """Makes the queries for the phrases of one query, in one state of the index.

    `edges_open`: whether a phrase may begin or end with half of a term.
    """

    def __init__(
        self,
        searcher: tantivy.Searcher,
        queries: Sequence[SpokenQuery],
        places: PlaceQueries,
        *,
        edges_open: bool,
    ) -> None:
        self._searcher = searcher
        self._queries = queries
        self._places = places
        self._edges_open = edges_open

    def saying(self, forms: Sequence[Phrase]) -> Query:
        """A query for the words side by side in one field, however the names in them are written.

        `FastAPI` stands in the index as two parts, and `fastapi` as one; so that each finds the
        other, the phrase is tried in every way that the index knows. `forms` are those in each
        language; what is the same in all is looked for once.
        """
        places = dict.fromkeys(
            place
            for phrase, query in zip(forms, self._queries, strict=True)
            for place in self._places_of(phrase, query.mark)
        )
        clauses = self._places.found(place for place in places if place.field != BODY)
        for place in places:
            if place.field == BODY and (ways := self._places.found(_ways_to_read(place))):
                both = Query.disjunction_max_query([query for _, query in ways])
                clauses.append((Occur.Should, both))
        return Query.boolean_query(clauses)

    def surely_saying(self, phrase: Phrase, mark: str) -> Query:
        """A query for records to leave out, as their content surely says the phrase.

        Titles and paths do not count: a folder's name would exclude everything in it. Not found are
        records where only the text can tell: those that also say the first or last word of a phrase
        within a name, and those for a phrase with `__slots__` in it. Records that show the word as
        a switch, as the query does, are not found either.
        """
        clauses = []
        if len(phrase) == 1 and phrase[0].whole:
            clauses += [
                self._places.said(mark, whole_mark(phrase[0].whole)),
                self._places.said(mark, name_mark(phrase[0].stem)),
            ]
        writings = [dict.fromkeys([word.parts, *_in_one_piece(word)]) for word in phrase]
        says_signs = any(word.has_signs for word in phrase)
        for parts in () if says_signs else islice(product(*writings), MAX_VARIANTS):
            terms = tuple(mark + term for word in parts for term in word)
            place = Place(BODY, terms, self._patterns(terms, phrase, mark))
            if self._places.may_hold(place):
                clauses.append(self._alone(place, mark))
        said = Query.boolean_query([(Occur.Should, clause) for clause in clauses])
        if not phrase[0].is_switch:
            return said
        shown = self._places.term(SIGNED, phrase[0].switch)
        return Query.boolean_query([(Occur.Must, said), (Occur.MustNot, shown)])

    def _places_of(self, phrase: Phrase, mark: str) -> Iterator[Place]:
        """Each field where the phrase is looked for, with the terms for it there."""
        variants = [] if needs_signs(phrase) else self._variants(phrase, mark)
        yield from (
            Place(field, variant, self._patterns(variant, phrase, mark))
            for field in (BODY, TITLE)
            for variant in variants
        )
        if len(phrase) == 1 and phrase[0].whole:
            yield from (Place(field, (phrase[0].whole,)) for field in (SYMBOLS, QUOTABLE))

    def _alone(self, place: Place, mark: str) -> Query:
        """A query for the terms side by side, surely not beginning or ending within a name."""
        terms = [term.removeprefix(mark) for term in place.terms]
        within = [self._places.said(mark, WITHIN_NAME + term) for term in {terms[0], terms[-1]}]
        if len(terms) == 1:
            within = [
                Query.boolean_query(
                    [
                        (Occur.Must, within[0]),
                        (Occur.MustNot, self._places.said(mark, ALSO_ALONE + terms[0])),
                    ]
                )
            ]
        return Query.boolean_query(
            [
                (Occur.Must, self._places.side_by_side(place)),
                *((Occur.MustNot, query) for query in within),
            ]
        )

    def _variants(self, phrase: Phrase, mark: str) -> list[tuple[str, ...]]:
        """The sequences of terms that the phrase may stand for."""
        variants: dict[tuple[str, ...], None] = {}
        writings = [self._writings(word, mark) for word in phrase]
        for parts in islice(product(*writings), MAX_VARIANTS):
            variants.setdefault(tuple(mark + part for word in parts for part in word))
        return list(variants)

    def _writings(self, word: Word, mark: str) -> list[tuple[str, ...]]:
        """The sequences of parts that the word may stand for, the one given first."""
        writings = dict.fromkeys([word.parts])
        if word.whole:
            writings.setdefault((word.stem,))
            known = self._searcher.terms_with_prefix(SPLITS, mark + word.whole + SPLIT_MARK)
            for split, _ in sorted(known, key=lambda pair: -pair[1])[:MAX_SPLITS]:
                writings.setdefault(tuple(split.split(SPLIT_MARK)[1:]))
        return list(writings)

    def _patterns(self, terms: tuple[str, ...], phrase: Phrase, mark: str) -> tuple[str, ...]:
        return patterns_of(terms, phrase, mark) if self._edges_open else ()


def _ways_to_read(place: Place) -> list[Place]:
    """The places of terms in the content: as it is written, for several also as it is seen."""
    return [place, place._replace(field=SHOWN)] if len(place.terms) > 1 else [place]


def _in_one_piece(word: Word) -> list[tuple[str, ...]]:
    return [(word.stem,)] if word.stem else []
