"""Holds a tantivy query to the records of a scope."""

from collections.abc import Collection

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.fields import DOCUMENT, ITEM
from app.protocols import SearchScope


def scope_clauses(schema: tantivy.Schema, scope: SearchScope) -> list[tuple[Occur, Query]] | None:
    """What holds a record to a scope, and adds nothing to its score; None: it holds none."""
    clauses = []
    for field, numbers in ((ITEM, scope.item_ids), (DOCUMENT, scope.document_numbers)):
        if numbers is not None:
            storable = storable_numbers(numbers)
            if not storable:
                return None
            allowed = Query.term_set_query(schema, field, storable)
            clauses.append((Occur.Must, Query.const_score_query(allowed, 0.0)))
    return clauses


def storable_numbers(numbers: Collection[int]) -> list[int]:
    """The distinct numbers that a 64-bit column can hold; no record has any other."""
    return sorted({int(number) for number in numbers if -(2**63) <= number < 2**63})
