"""What of a query stands in a record as it was typed: the words that are side by side in both.

Words that are looked for one by one say nothing of their order. Whoever types an error message, a
heading or a version means just these words in a row. Neighbours as evidence: Metzler and Croft, "A
Markov Random Field Model for Term Dependencies", 2005 (sequential dependence). What they count for
here is measured in docs/adr/0025.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from app.adapters.lexical_index.languages import SpokenQuery
from app.adapters.lexical_index.terms import Word

READ_AGAIN = 64
"""So many of the best by single words are looked at: what says the query says its words."""
MAX_RUNS = 16
"""Of more runs the rarest are looked for: they say as well as all whether it is this text. Each has
to be looked for in all records that have its words."""
AS_TYPED_WEIGHT = 2.0
"""How many times its BM25 a record gains that says all of the query in a row."""
AS_TYPED_POWER = 4
"""So that the whole counts, and a run or two next to nothing: `boundary layer` is in half of the
texts that a question about it finds."""

Run = tuple[str, ...]
"""Terms that stand side by side in the query: two that tell something, and stop words between."""


def typed_runs(queries: Sequence[SpokenQuery]) -> list[tuple[Run, ...]]:
    """The runs of a query, each in the languages of the records, the default one first.

    They are those of its plain text: what is in quotes has to stand as it is anyway.
    """
    # Every language takes a text apart alike: what is one run in one is one run in each.
    spoken = zip(*map(_runs_of_query, queries), strict=False)
    return list(dict.fromkeys(tuple(dict.fromkeys(forms)) for forms in spoken))


def runs_in(words: Iterable[Word], mark: str) -> Iterator[Run]:
    """Those of words that stand side by side, none of them a stop word."""
    return pairwise(_terms(words, mark))


def raised(bm25: float, share: float) -> float:
    """The score of a record that says this share of the runs: three times its BM25 for all of them.

    A factor: what says a name comes before what says its parts, and stays as far behind what
    defines it.
    """
    return float(bm25 * (1 + AS_TYPED_WEIGHT * share**AS_TYPED_POWER))


def _runs_of_query(query: SpokenQuery) -> list[Run]:
    mark, parsed = query.mark, query.parsed
    runs = [run for word in parsed.words for run in runs_in([word], mark)]
    for first, *between, last in parsed.neighbours:
        *_, start = _terms([first], mark)
        end, *_ = _terms([last], mark)
        runs.append((start, *_terms(between, mark), end))
    return runs


def _terms(words: Iterable[Word], mark: str) -> list[str]:
    return [mark + part for word in words for part in word.version or word.parts]
