"""Turns a parsed query into a tantivy query, term by term; nothing is ever parsed by tantivy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.as_typed import MAX_RUNS, Run, typed_runs
from app.adapters.lexical_index.blending import Blending
from app.adapters.lexical_index.dotted_names import DottedNames
from app.adapters.lexical_index.fields import (
    BODY,
    HEADING,
    IDENTIFIERS,
    OPERATORS,
    PATH,
    SAID,
    SIGNED,
    SYMBOLS,
    TAILS,
    TITLE,
    FieldWeights,
    sign_mark,
)
from app.adapters.lexical_index.phrases import PhraseQueries
from app.adapters.lexical_index.places import Place, PlaceQueries
from app.adapters.lexical_index.scope_clauses import scope_clauses
from app.adapters.lexical_index.spelling import Spelling, may_be_mistyped
from app.adapters.lexical_index.term_counts import TermCounts
from app.adapters.text_analysis.languages import SpokenQuery
from app.adapters.text_analysis.mixed_case_names import name_mark
from app.adapters.text_analysis.query import MAX_EXCLUSIONS
from app.adapters.text_analysis.terms import Phrase, Word
from app.protocols import EVERYWHERE, QueryWorth, SearchScope

MAX_SEARCHED_WORDS = 48
"""How many plain words are searched; of more, the rarest. No question of the evaluation sets has as
many. A pasted text of 8,000 characters takes 12 ms at 100,000 records, and 18 ms with 512 words."""
BM25_FULL = 2.2
"""k1 + 1, the factor that BM25 approaches as a word is repeated; tantivy's k1 is 1.2."""
SUBSTITUTE_WEIGHT = 0.5
"""What known words count for together, in place of one that no record holds."""
MAX_RESPELT = 2
"""How many words of a query are replaced by others: a query with more unknown words is about
something else, or in another language."""


class QueryCompiler:
    """Builds the tantivy query for one query, one scope and one state of the index (a searcher).

    `queries` are its forms in the languages of the records. No record holds terms of two languages.
    """

    def __init__(
        self,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        counts: TermCounts,
        weights: FieldWeights,
        queries: Sequence[SpokenQuery],
        spelling: Spelling,
        *,
        scope: SearchScope = EVERYWHERE,
        edges_open: bool = True,
    ) -> None:
        """`counts` are those of the searcher.

        `edges_open`: whether a phrase may begin or end with half of a term.
        """
        self.scope = scope
        self._schema = schema
        self._count = counts
        self._weights = weights
        self._queries = queries
        self._spelling = spelling
        self._blending = Blending(searcher.num_docs, counts, queries)
        self._places = PlaceQueries(schema, counts, weights, self._blending)
        self._phrases = PhraseQueries(searcher, queries, self._places, edges_open=edges_open)
        self._dotted = DottedNames(schema, searcher, scope)

    def compile(self) -> Query | None:
        """The query within the scope, or None when nothing can match it."""
        allowed = scope_clauses(self._schema, self.scope)
        return None if allowed is None else self._compiled(allowed)

    def compile_unfiltered(self) -> Query | None:
        """The query without its scope: it gives the same scores, and also finds records outside."""
        return self._compiled([])

    def ceiling(self) -> float:
        """The BM25 of a text that says all of the query again and again."""
        parsed = self._queries[0].parsed
        quoted = (word for phrase in parsed.searched_phrases for word in phrase)
        full = self._full([*self._searched(self._queries[0]), *quoted])
        return full + sum(map(self._worth, parsed.all_operators))

    def worth(self) -> QueryWorth:
        """The ceiling, and the share of it that is guessed."""
        ceiling, mark = self.ceiling(), self._queries[0].mark
        guessed = [
            forms.get(mark, next(iter(forms.values())))
            for forms in self._unknown()
            if any(self._spelling.substitutes(word, its) for its, word in forms.items())
        ]
        # Of very many words, those that are searched for may be others in each language.
        return QueryWorth(ceiling, min(self._full(guessed) / ceiling, 1.0) if guessed else 0.0)

    def as_typed(self) -> Query | None:
        """A query for records that say words of the query side by side, as the query does.

        It scores a record by the share of the query's runs that it says, each weighed by its
        rarity: 1 for the query as it was typed, less where the query names a document. None if it
        has no runs that count.
        """
        runs = typed_runs(self._queries, self._dotted.members)
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

    def _compiled(self, filters: Sequence[tuple[Occur, Query]]) -> Query | None:
        """The query, held to the filters, which add nothing to scores."""
        clauses = self._wanted()
        if not clauses:
            return None
        clauses += filters
        clauses += [
            (Occur.MustNot, self._phrases.surely_saying(phrase, query.mark))
            for query in self._queries
            for phrase in query.parsed.searched_exclusions
        ]
        clauses += [
            (Occur.MustNot, self._places.said("", sign_mark(operator)))
            for operator in self._queries[0].parsed.excluded_operators[:MAX_EXCLUSIONS]
        ]
        return clauses[0][1] if len(clauses) == 1 else Query.boolean_query(clauses)

    def _full(self, words: Iterable[Word]) -> float:
        """The most that BM25 gives for these words; the parts of names count as words."""
        mark = self._queries[0].mark
        parts = dict.fromkeys(mark + part for word in words for part in word.version or word.parts)
        return BM25_FULL * sum(self._blending.rarity(BODY, part) for part in parts)

    def _wanted(self) -> list[tuple[Occur, Query]]:
        """What a record must hold, and what it should."""
        words = self._plain()
        # Every language takes a text apart alike: phrases at the same place belong together.
        phrases = zip(*(query.parsed.searched_phrases for query in self._queries), strict=False)
        clauses = [(Occur.Must, self._phrases.saying(forms)) for forms in phrases]
        operators = self._queries[0].parsed.quoted_operators
        clauses += [(Occur.Must, self._operator(operator)) for operator in operators]
        if words is None:
            return clauses
        return [*clauses, (Occur.Should if clauses else Occur.Must, words)]

    # Plain words -------------------------------------------------------------------------------

    def _plain(self) -> Query | None:
        """Any of the words in any field: one flat union, which tantivy need not score in full.

        It does have to with a version, whose parts stand side by side: ADR 23 says what that costs.
        """
        places = dict.fromkeys(
            place
            for query in self._queries
            for word in self._searched(query)
            for place in self._places_of(word, query.mark)
        )
        clauses = self._places.found(places)
        clauses += self._within_longer_words()
        clauses += self._respelt()
        clauses += self._named()
        clauses += self._under_heading()
        clauses += self._places.found(self._switches())
        operators = self._queries[0].parsed.operators
        clauses += [(Occur.Should, self._operator(operator)) for operator in operators]
        return Query.boolean_query(clauses) if clauses else None

    def _within_longer_words(self) -> Iterator[tuple[Occur, Query]]:
        """Records that say a plain word only as a name within longer ones: `GitHub-hosted`.

        It counts as an identifier does, but is none: a definition is longer for each that it calls,
        and would come after what only mentions it.
        """
        weight = self._places.weight(IDENTIFIERS)
        plain = (
            (query.mark, word)
            for query in self._queries
            for word in self._searched(query)
            if word.whole and not word.is_compound
        )
        for mark, word in plain if weight > 0 else ():
            name = mark + name_mark(word.stem)
            if self._count(SAID, name):
                clauses = [
                    (Occur.Must, Query.term_query(self._schema, SAID, name, "basic")),
                    (Occur.MustNot, self._places.term(IDENTIFIERS, word.whole)),
                ]
                score = weight * self._blending.rarity(SAID, name)
                yield Occur.Should, Query.const_score_query(Query.boolean_query(clauses), score)

    def _named(self) -> Iterator[tuple[Occur, Query]]:
        """Records at the paths of the query; each further reading of a path scores half as much."""
        for path in self._queries[0].parsed.paths if self._weights.tails > 0 else ():
            score = self._weights.tails * self._full(path.words) ** 2 / self.ceiling()
            for term in path.ways:
                if self._count(TAILS, term):
                    named = Query.term_query(self._schema, TAILS, term, "basic")
                    yield Occur.Should, Query.const_score_query(named, score)
                    score /= 2

    def _under_heading(self) -> Iterator[tuple[Occur, Query]]:
        """Records under a heading that is the query."""
        for query in self._queries if self._weights.heading > 0 else ():
            term = query.mark + query.parsed.heading
            if query.parsed.heading and self._count(HEADING, term):
                found = Query.term_query(self._schema, HEADING, term, "basic")
                score = self._weights.heading * self.ceiling()
                yield Occur.Should, Query.const_score_query(found, score)

    def _switches(self) -> Iterator[Place]:
        """The places where a word after a minus is shown as a switch."""
        if self._places.weight(SIGNED) > 0:
            for switch in self._queries[0].parsed.excluding_switches:
                yield Place(SIGNED, (switch,))

    def _operator(self, operator: str) -> Query:
        says_it = Query.term_query(self._schema, OPERATORS, operator, "basic")
        return Query.const_score_query(says_it, self._worth(operator))

    def _worth(self, operator: str) -> float:
        """What a record scores for saying the operator."""
        return self._places.weight(OPERATORS) * self._blending.rarity(OPERATORS, operator)

    def _searched(self, query: SpokenQuery) -> Sequence[Word]:
        """The words that are looked for; of very many, the rarest.

        No words if all are stop words and a record holds an operator of the query.
        """
        mark, words = query.mark, query.parsed.words
        if query.parsed.says_only_stop_words and any(
            self._count(OPERATORS, operator) for operator in query.parsed.all_operators
        ):
            return ()
        if len(words) <= MAX_SEARCHED_WORDS:
            return words
        return sorted(words, key=lambda word: self._frequency(word, mark))[:MAX_SEARCHED_WORDS]

    def _places_of(self, word: Word, mark: str) -> Iterator[Place]:
        """Each field where a plain word is looked for, with its term or terms side by side."""
        parts: list[tuple[str, ...]] = [(mark + part,) for part in word.parts]
        names: list[tuple[str, ...]] = [(word.whole,)] if word.whole else []
        members = [(whole,) for whole, _, _ in self._dotted.members(word)]
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
            if self._places.weight(field) > 0:
                yield from (Place(field, terms) for terms in sequences)

    def _respelt(self) -> Iterator[tuple[Occur, Query]]:
        """Known words in place of those that no record holds, sharing SUBSTITUTE_WEIGHT."""
        for forms in self._unknown():
            instead = [
                (phrase, mark)
                for mark, word in forms.items()
                for phrase in self._spelling.substitutes(word, mark)
            ]
            places = dict.fromkeys(
                place for phrase, mark in instead for place in self._substitute_places(phrase, mark)
            )
            for occur, query in self._places.found(places):
                yield occur, Query.boost_query(query, SUBSTITUTE_WEIGHT / len(instead))

    def _substitute_places(self, phrase: Phrase, mark: str) -> Iterator[Place]:
        if len(phrase) == 1:
            yield from self._places_of(phrase[0], mark)
            return
        terms = tuple(mark + word.stem for word in phrase)
        yield from (
            Place(field, terms) for field in (BODY, TITLE, PATH) if self._places.weight(field) > 0
        )

    def _unknown(self) -> Sequence[dict[str, Word]]:
        """The words that no record of any language holds: perhaps mistyped; their forms by mark."""
        words: dict[str, dict[str, Word]] = {}
        for query in self._queries:
            for word in self._searched(query):
                if may_be_mistyped(word):
                    words.setdefault(word.whole, {})[query.mark] = word
        unknown = (forms for forms in words.values() if not self._is_known(forms))
        some = list(islice(unknown, MAX_RESPELT + 1))
        return some if len(some) <= MAX_RESPELT else []

    def _is_known(self, forms: Mapping[str, Word]) -> bool:
        count = self._count
        return any(
            count(SAID, mark + name_mark(word.stem))
            or any(count(place.field, place.terms[0]) for place in self._places_of(word, mark))
            for mark, word in forms.items()
        )

    def _frequency(self, word: Word, mark: str) -> tuple[bool, int]:
        """A sort key: the rarest words come first, and those that no content holds last."""
        frequencies = [self._count(BODY, mark + part) for part in word.parts]
        field = SIGNED if word.has_signs else IDENTIFIERS
        frequencies += [self._count(field, word.whole)] if word.whole else []
        found = [frequency for frequency in frequencies if frequency]
        return not found, min(found, default=0)

    # Words as they were typed ------------------------------------------------------------------

    def _run_weight(self, forms: Sequence[Run]) -> float:
        """How rare the two words of the run are; 0 if no record says one of them: then no record
        says the run.
        """
        ends = forms[0][0], forms[0][-1]
        count = self._blending.frequency
        if not all(count(BODY, term) or count(TITLE, term) for term in ends):
            return 0.0
        return sum(self._blending.rarity(BODY, term) for term in ends)

    def _in_a_row(self, forms: Sequence[Run]) -> Query:
        """A query for the terms side by side, in any of the languages."""
        places = [Place(field, run) for field in (BODY, TITLE) for run in forms]
        return Query.boolean_query(
            [(Occur.Should, self._places.side_by_side(each)) for each in places]
        )

    def _terms_naming_documents(self) -> Set[str]:
        """Terms that name a document which exists: what mentions PEP 8 is not PEP 8 itself."""
        query = self._queries[0]
        return {
            query.mark + part
            for path in query.parsed.paths
            if any(self._count(TAILS, way) for way in path.ways)
            for word in path.words
            for part in word.parts
        }
