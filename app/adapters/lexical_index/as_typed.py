"""Finds the words of a query that stand side by side in a record, too: as it was typed.

A search for single words ignores their order, but whoever types an error message, a heading or a
version means just these words in a row. Neighbours as evidence: Metzler and Croft, "A Markov Random
Field Model for Term Dependencies", 2005 (sequential dependence). What they count for here is
measured in docs/adr/0025.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from app.adapters.text_analysis.languages import SpokenQuery
from app.adapters.text_analysis.terms import Member, Word

READ_AGAIN = 64
"""How many of the best hits by single words are looked at, besides those that tie with the last of
them: a record that says the query also says its words."""
MAX_RUNS = 16
"""How many runs are looked for, the rarest: each costs a look at all records with its words."""
AS_TYPED_WEIGHT = 2.0
"""A record that says all of the query in a row gains this many times its BM25."""
AS_TYPED_POWER = 4
"""Applied to the share of runs, so that one or two of many count for next to nothing."""

Run = tuple[str, ...]
"""Terms that stand side by side in the query: two parts of a name, or the end of a word and the
beginning of the next with the stop words between."""


def typed_runs(
    queries: Sequence[SpokenQuery], members: Callable[[Word], Sequence[Member]]
) -> list[tuple[Run, ...]]:
    """The runs of a query, each in its forms in the languages of the records, the default first.

    They are taken from its plain text: what is in quotes must stand as it is anyway. `members`
    gives the names within a dotted name that no record in the scope says in full. Then only the
    words within each of these names form runs.
    """
    # Every language takes a text apart alike: runs at the same place belong together.
    spoken = zip(*(_runs_of_query(query, members) for query in queries), strict=False)
    return list(dict.fromkeys(tuple(dict.fromkeys(forms)) for forms in spoken))


def raised(bm25: float, share: float) -> float:
    """The score of a record that says this share of the runs: three times its BM25 for all of them.

    It is a factor, so that what says a name comes before what says its parts, and stays as far
    behind what defines it.
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
            continue  # `slots` in a row is not `__slots__` in a row, and only the latter is wanted
        parts = [first.parts[-1], *(part for word in between for part in word.parts), last.parts[0]]
        runs.append(tuple(mark + part for part in parts))
    return runs
