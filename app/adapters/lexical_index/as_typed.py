"""What of a query stands in a record as it was typed: the words that are side by side in both.

Words that are looked for one by one say nothing of their order. Whoever types an error message, a
heading or a version means just these words in a row. Neighbours as evidence: Metzler and Croft, "A
Markov Random Field Model for Term Dependencies", 2005 (sequential dependence). What they count for
here is measured in docs/adr/0025.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from app.adapters.lexical_index.languages import SpokenQuery
from app.adapters.lexical_index.terms import Member, Word

READ_AGAIN = 64
"""So many of the best by single words are looked at, and what scores like the last of them: what
says the query says its words."""
MAX_RUNS = 16
"""Of more runs the rarest are looked for: each costs a look at all records that have its words."""
AS_TYPED_WEIGHT = 2.0
"""How many times its BM25 a record gains that says all of the query in a row."""
AS_TYPED_POWER = 4
"""So that the whole counts, and a run or two of many next to nothing."""

Run = tuple[str, ...]
"""Terms that stand side by side in the query: two parts of a name, or the end of a word and the
beginning of the next with the stop words between."""


def typed_runs(
    queries: Sequence[SpokenQuery], members: Callable[[Word], Sequence[Member]]
) -> list[tuple[Run, ...]]:
    """The runs of a query, each in the languages of the records, the default one first.

    They are those of its plain text: what is in quotes has to stand as it is anyway. `members`
    tells the names within a dotted one that nothing in the scope says in full: only these are in a
    row.
    """
    # Every language takes a text apart alike: what is one run in one is one run in each.
    spoken = zip(*(_runs_of_query(query, members) for query in queries), strict=False)
    return list(dict.fromkeys(tuple(dict.fromkeys(forms)) for forms in spoken))


def raised(bm25: float, share: float) -> float:
    """The score of a record that says this share of the runs: three times its BM25 for all of them.

    A factor: what says a name comes before what says its parts, and stays as far behind what
    defines it.
    """
    return float(bm25 * (1 + AS_TYPED_WEIGHT * share**AS_TYPED_POWER))


def _runs_of_query(query: SpokenQuery, members: Callable[[Word], Sequence[Member]]) -> list[Run]:
    mark, parsed = query.mark, query.parsed
    runs: list[Run] = []
    for word in parsed.words:
        within = [word.parts[first:end] for _, first, end in members(word)]
        for row in within or [word.version or word.parts]:
            runs += pairwise(mark + part for part in row)
    for first, *between, last in parsed.neighbours:
        if first.has_signs or last.has_signs:
            continue  # in a row with `slots` is not with `__slots__`, and only that is wanted
        parts = [first.parts[-1], *(part for word in between for part in word.parts), last.parts[0]]
        runs.append(tuple(mark + part for part in parts))
    return runs
