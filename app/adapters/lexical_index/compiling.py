"""Turns a parsed query into a tantivy query, term by term; nothing is ever parsed by tantivy."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice, product
from typing import NamedTuple

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.as_typed import MAX_RUNS, Run, typed_runs
from app.adapters.lexical_index.blending import Blending
from app.adapters.lexical_index.edges import patterns_of
from app.adapters.lexical_index.fields import (
    ALSO_ALONE,
    BODY,
    DOCUMENT,
    HEADING,
    IDENTIFIERS,
    ITEM,
    OPERATORS,
    PATH,
    QUOTABLE,
    SAID,
    SHOWN,
    SIGNED,
    SPLITS,
    SYMBOLS,
    TAILS,
    TITLE,
    WITHIN_NAME,
    FieldWeights,
    sign_mark,
)
from app.adapters.lexical_index.languages import SpokenQuery
from app.adapters.lexical_index.names import SPLIT_MARK, name_mark, whole_mark
from app.adapters.lexical_index.query import MAX_EXCLUSIONS
from app.adapters.lexical_index.spelling import Spelling, may_be_mistyped
from app.adapters.lexical_index.terms import Member, Phrase, Word, needs_signs
from app.protocols import EVERYWHERE, SearchScope

MAX_SEARCHED_WORDS = 48
"""Of more plain words, the rarest are searched. No question of the evaluation sets has as many; a
pasted text of 8,000 characters then takes 12 ms at 100,000 records, with 512 words 18 ms."""
MAX_SPLITS = 3
"""Ways of taking a name apart that a phrase tries, the most frequent first."""
MAX_VARIANTS = 24
"""Ways of writing a phrase that are tried."""
BM25_FULL = 2.2
"""k1 + 1, the factor that BM25 nears as a word is repeated; tantivy's k1 is 1.2."""
SUBSTITUTE_WEIGHT = 0.5
"""What known words count for, all together, in the place of one that no record holds."""
MAX_RESPELT = 2
"""Words of a query that others stand in for: one with more unknown words is about something else,
or in another language."""


class Place(NamedTuple):
    """A field, and terms that are to stand there side by side."""

    field: str
    terms: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    """Expressions for the terms, of which the first or the last may be half of another; or none."""


class QueryCompiler:
    """Builds what one query asks of one state of the index (a searcher's).

    `queries` are its forms in the languages of the records. No record holds terms of two.
    """

    def __init__(
        self,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        weights: FieldWeights,
        queries: Sequence[SpokenQuery],
        spelling: Spelling,
        *,
        scope: SearchScope = EVERYWHERE,
        edges_open: bool = True,
    ) -> None:
        """`scope`: of the search, which may be tried elsewhere first (see `compile`).

        `edges_open`: whether a phrase may begin or end with half of a term.
        """
        self._scope = scope
        self._said_in_full: dict[str, bool] = {}
        self._edges_open = edges_open
        self._schema = schema
        self._searcher = searcher
        self._weights = weights
        self._queries = queries
        self._spelling = spelling
        self._blending = Blending(searcher, queries)

    def compile(self, scope: SearchScope) -> Query | None:
        """The query, or None when nothing can match it. Filters add nothing to scores."""
        clauses = self._wanted()
        if not clauses:
            return None
        allowed = self._allowed(scope)
        if allowed is None:
            return None
        clauses += allowed
        clauses += [
            (Occur.MustNot, self._in_content(phrase, query.mark))
            for query in self._queries
            for phrase in query.parsed.searched_exclusions
        ]
        clauses += [
            (Occur.MustNot, self._said("", sign_mark(operator)))
            for operator in self._queries[0].parsed.excluded_operators[:MAX_EXCLUSIONS]
        ]
        return clauses[0][1] if len(clauses) == 1 else Query.boolean_query(clauses)

    def _allowed(self, scope: SearchScope) -> list[tuple[Occur, Query]] | None:
        """What holds a record to a scope, and adds nothing to its score; None: it holds none."""
        clauses = []
        for field, numbers in ((ITEM, scope.item_ids), (DOCUMENT, scope.document_numbers)):
            if numbers is not None:
                storable = storable_numbers(numbers)
                if not storable:
                    return None
                allowed = Query.term_set_query(self._schema, field, storable)
                clauses.append((Occur.Must, Query.const_score_query(allowed, 0.0)))
        return clauses

    def ceiling(self) -> float:
        """What BM25 gives to a text that says all of the query again and again."""
        parsed = self._queries[0].parsed
        quoted = (word for phrase in parsed.searched_phrases for word in phrase)
        full = self._full([*self._searched(self._queries[0]), *quoted])
        return full + sum(map(self._worth, parsed.all_operators))

    def as_typed(self) -> Query | None:
        """Finds records that say words of the query side by side, as it does.

        Their score is the share of its runs, each weighed by its rarity: 1 for the query as it was
        typed, less where it names a document. None where it has no runs that count.
        """
        runs = typed_runs(self._queries, self._members)
        weights = {forms: self._run_weight(forms) for forms in runs}
        rarest = sorted(weights, key=lambda forms: -weights[forms])[:MAX_RUNS]
        whole = sum(weights[forms] for forms in rarest)
        naming = self._terms_naming_documents()
        said = [
            (Occur.Should, Query.const_score_query(self._in_a_row(forms), weights[forms] / whole))
            for forms in rarest
            if weights[forms] and naming.isdisjoint((forms[0][0], forms[0][-1]))
        ]
        return Query.boolean_query(said) if said else None

    def _full(self, words: Iterable[Word]) -> float:
        """What BM25 gives to these words at most: the parts of names count as words."""
        mark = self._queries[0].mark
        parts = dict.fromkeys(mark + part for word in words for part in word.version or word.parts)
        return BM25_FULL * sum(self._blending.rarity(BODY, part) for part in parts)

    def _wanted(self) -> list[tuple[Occur, Query]]:
        """What a record must hold, and what it should."""
        words = self._plain(self._queries)
        # Every language takes a text apart alike: the first phrase of one is the first of each.
        phrases = zip(*(query.parsed.searched_phrases for query in self._queries), strict=False)
        clauses = [(Occur.Must, self._phrase(forms)) for forms in phrases]
        operators = self._queries[0].parsed.quoted_operators
        clauses += [(Occur.Must, self._operator(operator)) for operator in operators]
        if words is None:
            return clauses
        return [*clauses, (Occur.Should if clauses else Occur.Must, words)]

    # Plain words -------------------------------------------------------------------------------

    def _plain(self, queries: Sequence[SpokenQuery]) -> Query | None:
        """Any of the words in any field: one flat union, which tantivy need not score in full.

        But with a version, whose parts stand side by side, it does: ADR 23 says what that takes.
        """
        places = dict.fromkeys(
            place
            for query in queries
            for word in self._searched(query)
            for place in self._places(word, query.mark)
        )
        clauses = self._found(places)
        clauses += self._within_longer_words(queries)
        clauses += self._respelt()
        clauses += self._named()
        clauses += self._under_heading()
        clauses += self._found(self._switches())
        operators = self._queries[0].parsed.operators
        clauses += [(Occur.Should, self._operator(operator)) for operator in operators]
        return Query.boolean_query(clauses) if clauses else None

    def _within_longer_words(self, queries: Sequence[SpokenQuery]) -> Iterator[tuple[Occur, Query]]:
        """What says a plain word as a name in longer ones alone: `github` in `GitHub-hosted`.

        It counts as an identifier does, but is none: a definition is longer for each that it calls,
        and would come after what only mentions it.
        """
        weight = self._weight(IDENTIFIERS)
        plain = (
            (query.mark, word)
            for query in queries
            for word in self._searched(query)
            if word.whole and not word.is_compound
        )
        for mark, word in plain if weight > 0 else ():
            name = mark + name_mark(word.stem)
            if self._searcher.doc_freq(SAID, name):
                clauses = [
                    (Occur.Must, Query.term_query(self._schema, SAID, name, "basic")),
                    (Occur.MustNot, self._term(IDENTIFIERS, word.whole)),
                ]
                score = weight * self._blending.rarity(SAID, name)
                yield Occur.Should, Query.const_score_query(Query.boolean_query(clauses), score)

    def _named(self) -> Iterator[tuple[Occur, Query]]:
        """What lies at the paths of the query, and for half as much what may be meant as well."""
        for path in self._queries[0].parsed.paths if self._weights.tails > 0 else ():
            score = self._weights.tails * self._full(path.words) ** 2 / self.ceiling()
            for term in path.ways:
                if self._searcher.doc_freq(TAILS, term):
                    named = Query.term_query(self._schema, TAILS, term, "basic")
                    yield Occur.Should, Query.const_score_query(named, score)
                    score /= 2

    def _under_heading(self) -> Iterator[tuple[Occur, Query]]:
        """What stands under a heading that is the query."""
        for query in self._queries if self._weights.heading > 0 else ():
            term = query.mark + query.parsed.heading
            if query.parsed.heading and self._searcher.doc_freq(HEADING, term):
                found = Query.term_query(self._schema, HEADING, term, "basic")
                score = self._weights.heading * self.ceiling()
                yield Occur.Should, Query.const_score_query(found, score)

    def _switches(self) -> Iterator[Place]:
        """Where a word after a minus is shown as a switch."""
        if self._weight(SIGNED) > 0:
            for switch in self._queries[0].parsed.excluding_switches:
                yield Place(SIGNED, (switch,))

    def _operator(self, operator: str) -> Query:
        says_it = Query.term_query(self._schema, OPERATORS, operator, "basic")
        return Query.const_score_query(says_it, self._worth(operator))

    def _worth(self, operator: str) -> float:
        """What a record scores for saying it."""
        return self._weight(OPERATORS) * self._blending.rarity(OPERATORS, operator)

    def _searched(self, query: SpokenQuery) -> Sequence[Word]:
        """The words that are looked for, of very many the rarest.

        No stop words beside an operator that is there.
        """
        mark, words = query.mark, query.parsed.words
        if query.parsed.says_only_stop_words and any(
            self._searcher.doc_freq(OPERATORS, operator) for operator in query.parsed.all_operators
        ):
            return ()
        if len(words) <= MAX_SEARCHED_WORDS:
            return words
        return sorted(words, key=lambda word: self._frequency(word, mark))[:MAX_SEARCHED_WORDS]

    def _places(self, word: Word, mark: str) -> Iterator[Place]:
        """Each field and term where a plain word is looked for, or terms side by side."""
        parts: list[tuple[str, ...]] = [(mark + part,) for part in word.parts]
        names: list[tuple[str, ...]] = [(word.whole,)] if word.whole else []
        members = [(whole,) for whole, _, _ in self._members(word)]
        symbols = [*parts, *names]
        if word.version:
            parts = [tuple(mark + part for part in word.version)]
            symbols = names = [(whole,) for whole in word.version_wholes]
        stemmed = [*parts, (mark + word.stem,)] if word.is_compound else [*parts]
        stemmed += [(mark + name.stem,) for name in word.names_within]
        for field, sequences in (
            (BODY, stemmed),
            (TITLE, stemmed),
            (PATH, stemmed),
            (SYMBOLS, symbols),
            (SIGNED if word.has_signs else IDENTIFIERS, names),
            (IDENTIFIERS, members),
            (SIGNED, [(word.switch,)] if word.is_switch else []),
        ):
            if self._weight(field) > 0:
                yield from (Place(field, terms) for terms in sequences)

    def _respelt(self) -> Iterator[tuple[Occur, Query]]:
        """Known words in the place of those that no record holds; they share what these count."""
        for forms in self._unknown():
            instead = [
                (phrase, mark)
                for mark, word in forms.items()
                for phrase in self._spelling.substitutes(word, mark)
            ]
            places = dict.fromkeys(
                place for phrase, mark in instead for place in self._substitute_places(phrase, mark)
            )
            for occur, query in self._found(places):
                yield occur, Query.boost_query(query, SUBSTITUTE_WEIGHT / len(instead))

    def _substitute_places(self, phrase: Phrase, mark: str) -> Iterator[Place]:
        if len(phrase) == 1:
            yield from self._places(phrase[0], mark)
            return
        terms = tuple(mark + word.stem for word in phrase)
        yield from (Place(field, terms) for field in (BODY, TITLE, PATH) if self._weight(field) > 0)

    def _unknown(self) -> Sequence[dict[str, Word]]:
        """The words that may be mistyped, as no record of any language holds them: by marks."""
        words: dict[str, dict[str, Word]] = {}
        for query in self._queries:
            for word in self._searched(query):
                if may_be_mistyped(word):
                    words.setdefault(word.whole, {})[query.mark] = word
        unknown = (forms for forms in words.values() if not self._is_known(forms))
        some = list(islice(unknown, MAX_RESPELT + 1))
        return some if len(some) <= MAX_RESPELT else []

    def _is_known(self, forms: Mapping[str, Word]) -> bool:
        count = self._searcher.doc_freq
        return any(
            count(SAID, mark + name_mark(word.stem))
            or any(count(place.field, place.terms[0]) for place in self._places(word, mark))
            for mark, word in forms.items()
        )

    def _members(self, word: Word) -> Sequence[Member]:
        """The names within a dotted one that no record of the scope says in full."""
        if word.version or not word.members:
            return ()
        if word.whole not in self._said_in_full:
            self._said_in_full[word.whole] = self._is_said(word.whole)
        return () if self._said_in_full[word.whole] else word.members

    def _is_said(self, whole: str) -> bool:
        """Whether a record of the scope says this name in one piece."""
        if not self._searcher.doc_freq(QUOTABLE, whole):
            return False
        within = self._allowed(self._scope)
        if not within:
            return within is not None
        said = Query.term_query(self._schema, QUOTABLE, whole, "basic")
        both = Query.boolean_query([(Occur.Must, said), *within])
        return bool(self._searcher.search(both, 1, count=False).hits)

    def _frequency(self, word: Word, mark: str) -> tuple[bool, int]:
        """Sorts the rarest first, and what the content never holds last."""
        frequencies = [self._searcher.doc_freq(BODY, mark + part) for part in word.parts]
        field = SIGNED if word.has_signs else IDENTIFIERS
        frequencies += [self._searcher.doc_freq(field, word.whole)] if word.whole else []
        found = [frequency for frequency in frequencies if frequency]
        return not found, min(found, default=0)

    # Words as they were typed ------------------------------------------------------------------

    def _run_weight(self, forms: Sequence[Run]) -> float:
        """How rare its two words are; 0 where no record says one of them, so that none can be told
        from others by the run.
        """
        ends = forms[0][0], forms[0][-1]
        count = self._blending.frequency
        if not all(count(BODY, term) or count(TITLE, term) for term in ends):
            return 0.0
        return sum(self._blending.rarity(BODY, term) for term in ends)

    def _in_a_row(self, forms: Sequence[Run]) -> Query:
        """The terms side by side, in any of the languages."""
        places = [Place(field, run) for field in (BODY, TITLE) for run in forms]
        return Query.boolean_query([(Occur.Should, self._side_by_side(each)) for each in places])

    def _terms_naming_documents(self) -> Set[str]:
        """Those that name a document which is there: what mentions PEP 8 is not PEP 8."""
        query = self._queries[0]
        return {
            query.mark + part
            for path in query.parsed.paths
            if any(self._searcher.doc_freq(TAILS, way) for way in path.ways)
            for word in path.words
            for part in word.parts
        }

    # Phrases -----------------------------------------------------------------------------------

    def _phrase(self, forms: Sequence[Phrase]) -> Query:
        """The words side by side in one field, however the names among them are written.

        `FastAPI` stands in the index as two parts and `fastapi` as one; so that either is found
        by either, the phrase is tried in each way that the index knows. `forms` are those of each
        language; what is the same in all is looked for once.
        """
        places = dict.fromkeys(
            place
            for phrase, query in zip(forms, self._queries, strict=True)
            for place in self._phrase_places(phrase, query.mark)
        )
        clauses = self._found(place for place in places if place.field != BODY)
        for place in places:
            if place.field == BODY and (ways := self._found(_ways_to_read(place))):
                both = Query.disjunction_max_query([query for _, query in ways])
                clauses.append((Occur.Should, both))
        return Query.boolean_query(clauses)

    def _phrase_places(self, phrase: Phrase, mark: str) -> Iterator[Place]:
        """Each field where the phrase is looked for, with the terms that say it there."""
        variants = [] if needs_signs(phrase) else self._variants(phrase, mark)
        yield from (
            Place(field, variant, self._patterns(variant, phrase, mark))
            for field in (BODY, TITLE)
            for variant in variants
        )
        if len(phrase) == 1 and phrase[0].whole:
            yield from (Place(field, (phrase[0].whole,)) for field in (SYMBOLS, QUOTABLE))

    def _in_content(self, phrase: Phrase, mark: str) -> Query:
        """What leaves a record out: that its content surely says the phrase.

        Titles and paths do not: one folder's name would take away all that lies in it. A phrase of
        several words in a record that says its first or last within a name, too, is left in, and so
        is one with `__slots__` in it: which of the two it is, only the text tells. What shows the
        word as a switch, as the query does, is left in.
        """
        clauses = []
        if len(phrase) == 1 and phrase[0].whole:
            clauses += [
                self._said(mark, whole_mark(phrase[0].whole)),
                self._said(mark, name_mark(phrase[0].stem)),
            ]
        writings = [dict.fromkeys([word.parts, *_in_one_piece(word)]) for word in phrase]
        says_signs = any(word.has_signs for word in phrase)
        for parts in () if says_signs else islice(product(*writings), MAX_VARIANTS):
            terms = tuple(mark + term for word in parts for term in word)
            place = Place(BODY, terms, self._patterns(terms, phrase, mark))
            if self._may_hold(place):
                clauses.append(self._alone(place, mark))
        said = Query.boolean_query([(Occur.Should, clause) for clause in clauses])
        if not phrase[0].is_switch:
            return said
        shown = self._term(SIGNED, phrase[0].switch)
        return Query.boolean_query([(Occur.Must, said), (Occur.MustNot, shown)])

    def _alone(self, place: Place, mark: str) -> Query:
        """The terms side by side, surely no beginning or end of a name in the midst of it."""
        terms = [term.removeprefix(mark) for term in place.terms]
        within = [self._said(mark, WITHIN_NAME + term) for term in {terms[0], terms[-1]}]
        if len(terms) == 1:
            within = [
                Query.boolean_query(
                    [
                        (Occur.Must, within[0]),
                        (Occur.MustNot, self._said(mark, ALSO_ALONE + terms[0])),
                    ]
                )
            ]
        return Query.boolean_query(
            [
                (Occur.Must, self._side_by_side(place)),
                *((Occur.MustNot, query) for query in within),
            ]
        )

    def _said(self, mark: str, term: str) -> Query:
        return Query.term_query(self._schema, SAID, mark + term, "basic")

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

    def _side_by_side(self, place: Place) -> Query:
        if place.patterns:
            return Query.regex_phrase_query(self._schema, place.field, list(place.patterns))
        if len(place.terms) == 1:
            return self._term(place.field, place.terms[0])
        return Query.phrase_query(self._schema, place.field, list(place.terms))

    # Inside ------------------------------------------------------------------------------------

    def _found(self, places: Iterable[Place]) -> list[tuple[Occur, Query]]:
        """What looks for any of these terms, each sequence side by side in its field."""
        return [
            (Occur.Should, self._weighted(self._side_by_side(place), place.field, place.terms))
            for place in places
            if self._may_hold(place)
        ]

    def _may_hold(self, place: Place) -> bool:
        """Whether a record may have the terms there; an expression takes long to be looked for."""
        if not place.patterns:
            return self._blending.may_hold(place.field, place.terms)
        return all(
            self._searcher.doc_freq(place.field, term)
            for term, pattern in zip(place.terms, place.patterns, strict=True)
            if pattern == re.escape(term)
        )

    def _term(self, field: str, term: str) -> Query:
        return Query.term_query(self._schema, field, term, "freq")

    def _weight(self, field: str) -> float:
        return float(getattr(self._weights, field))

    def _weighted(self, query: Query, field: str, terms: Sequence[str]) -> Query:
        if field == SIGNED:  # most texts have none, so that BM25 would take two for too many
            rarity = self._blending.rarity(field, terms[0])
            return Query.const_score_query(query, self._weight(field) * rarity)
        weight = self._weight(field) * self._blending.factor(field, terms)
        return query if weight == 1.0 else Query.boost_query(query, weight)


def _ways_to_read(place: Place) -> list[Place]:
    """Where the content says the terms side by side: as it is written, or as it is seen."""
    return [place, place._replace(field=SHOWN)] if len(place.terms) > 1 else [place]


def _in_one_piece(word: Word) -> list[tuple[str, ...]]:
    return [(word.stem,)] if word.stem else []


def storable_numbers(numbers: Collection[int]) -> list[int]:
    """The distinct numbers that a 64-bit column can hold; no record has any other."""
    return sorted({int(number) for number in numbers if -(2**63) <= number < 2**63})
