"""Makes the queries for terms at their places in an index, and says how much each counts."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.blending import Blending
from app.adapters.lexical_index.fields import SAID, SIGNED, FieldWeights
from app.adapters.lexical_index.term_counts import TermCounts


class Place(NamedTuple):
    """A field, and the terms to be found in it side by side."""

    field: str
    terms: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    """Expressions for the terms, if the first or last may be half of another; else none."""


class PlaceQueries:
    """Makes the queries for places in one state of the index (a searcher)."""

    def __init__(
        self,
        schema: tantivy.Schema,
        counts: TermCounts,
        weights: FieldWeights,
        blending: Blending,
    ) -> None:
        self._schema = schema
        self._count = counts
        self._weights = weights
        self._blending = blending

    def found(self, places: Iterable[Place]) -> list[tuple[Occur, Query]]:
        """What looks for any of these terms, each sequence side by side in its field."""
        return [
            (Occur.Should, self._weighted(self.side_by_side(place), place.field, place.terms))
            for place in places
            if self.may_hold(place)
        ]

    def may_hold(self, place: Place) -> bool:
        """Whether a record may have the terms there; an expression takes long to be looked for."""
        if not place.patterns:
            return self._blending.may_hold(place.field, place.terms)
        return all(
            self._count(place.field, term)
            for term, pattern in zip(place.terms, place.patterns, strict=True)
            if pattern == re.escape(term)
        )

    def side_by_side(self, place: Place) -> Query:
        """A query for the terms of the place side by side, scored by their BM25."""
        if place.patterns:
            return Query.regex_phrase_query(self._schema, place.field, list(place.patterns))
        if len(place.terms) == 1:
            return self.term(place.field, place.terms[0])
        return Query.phrase_query(self._schema, place.field, list(place.terms))

    def term(self, field: str, term: str) -> Query:
        """A query for one term, scored by its BM25."""
        return Query.term_query(self._schema, field, term, "freq")

    def said(self, mark: str, term: str) -> Query:
        """A query for the records that surely say it, in the language of the mark."""
        return Query.term_query(self._schema, SAID, mark + term, "basic")

    def weight(self, field: str) -> float:
        """How much a find in the field counts."""
        return float(getattr(self._weights, field))

    def _weighted(self, query: Query, field: str, terms: Sequence[str]) -> Query:
        if field == SIGNED:  # most texts have none, so that BM25 would take two for too many
            rarity = self._blending.rarity(field, terms[0])
            return Query.const_score_query(query, self.weight(field) * rarity)
        weight = self.weight(field) * self._blending.factor(field, terms)
        return query if weight == 1.0 else Query.boost_query(query, weight)
