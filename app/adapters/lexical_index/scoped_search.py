"""Searches tantivy within a scope, in whichever way is quicker for the size of the scope."""

import math
from collections.abc import Sequence, Set

import tantivy

from app.adapters.lexical_index.compiling import QueryCompiler
from app.adapters.lexical_index.fields import DOCUMENT, ITEM
from app.protocols import SearchScope

WIDE_SCOPE = 100
"""For a scope of at least this many items or documents, the best of all records are tried first."""
SPARE_SHARE = 1.5
"""Factor by which more are asked for than would do if hits within the scope were spread evenly."""

SPARE_HITS = 64
"""Hits asked for beyond those wanted, so that all that tie with the last of these are seen."""
FURTHER = 4
"""Factor by which more are asked for if more than that tie."""
MOST_ASKED = 4096
"""The most to ask for: if thousands tie, their order in the index decides which are found."""

ScoredAddress = tuple[float, tantivy.DocAddress]
"""The score of a record, and where it lies."""


def best_and_ties(
    searcher: tantivy.Searcher, compiler: QueryCompiler, limit: int
) -> Sequence[ScoredAddress]:
    """Scores and addresses of the `limit` best records in the compiler's scope, and of all that tie
    with the last.

    Tantivy's order of equal scores changes whenever it merges segments.
    """
    asked = limit + SPARE_HITS
    found = best_addresses(searcher, compiler, asked)
    while len(found) == asked < MOST_ASKED and found[-1][0] == found[limit - 1][0]:
        asked *= FURTHER
        found = best_addresses(searcher, compiler, asked)
    if len(found) <= limit:
        return found
    cut = found[limit - 1][0]
    return [hit for hit in found if hit[0] >= cut]


def best_addresses(
    searcher: tantivy.Searcher, compiler: QueryCompiler, limit: int
) -> Sequence[ScoredAddress]:
    """Scores and addresses of what matches best within the compiler's scope, best first.

    The best 256 of 100,000 records within half of 5,000 items take 12 ms, within a quarter 10. So
    with such a wide scope, the best of all records are tried first, to see whether enough of them
    lie within: that takes 4.4 and 5.3 ms. For a tenth it would take as long as searching within.
    """
    asked = _asked_of_all(compiler.scope, limit)
    if asked is not None:
        everything = compiler.compile_unfiltered()
        if everything is None:
            return []
        found = searcher.search(everything, asked, count=False).hits
        within = _within(searcher, found, compiler.scope)
        if len(within) >= limit or len(found) < asked:
            return within[:limit]
    compiled = compiler.compile()
    return [] if compiled is None else searcher.search(compiled, limit, count=False).hits


def _asked_of_all(scope: SearchScope, limit: int) -> int | None:
    """How many of the best of all records to try first; None: searching within is quicker."""
    numbers = max(len(named or ()) for named in (scope.item_ids, scope.document_numbers))
    if numbers < WIDE_SCOPE or limit * SPARE_SHARE > scope.share * MOST_ASKED:
        return None
    return math.ceil(limit * SPARE_SHARE / scope.share)


def _within(
    searcher: tantivy.Searcher,
    found: Sequence[ScoredAddress],
    scope: SearchScope,
) -> Sequence[ScoredAddress]:
    """The found records that the scope allows."""
    for field, numbers in ((ITEM, scope.item_ids), (DOCUMENT, scope.document_numbers)):
        if numbers is not None:
            allowed = numbers if isinstance(numbers, Set) else frozenset(numbers)
            held = searcher.fast_field_values(field, [address for _, address in found])
            found = [hit for hit, number in zip(found, held, strict=True) if number in allowed]
    return found
