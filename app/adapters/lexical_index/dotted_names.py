"""Looks for the names within a dotted one, where nothing says that in full."""

from collections.abc import Sequence

import tantivy
from tantivy import Occur, Query

from app.adapters.lexical_index.fields import QUOTABLE
from app.adapters.lexical_index.scope_clauses import scope_clauses
from app.adapters.text_analysis.terms import Member, Word
from app.protocols import SearchScope


class DottedNames:
    """What one query's dotted names are to one scope of one state of the index."""

    def __init__(
        self, schema: tantivy.Schema, searcher: tantivy.Searcher, scope: SearchScope
    ) -> None:
        self._schema = schema
        self._searcher = searcher
        self._scope = scope
        self._said_in_full: dict[str, bool] = {}

    def members(self, word: Word) -> Sequence[Member]:
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
        within = scope_clauses(self._schema, self._scope)
        if not within:
            return within is not None
        said = Query.term_query(self._schema, QUOTABLE, whole, "basic")
        both = Query.boolean_query([(Occur.Must, said), *within])
        return bool(self._searcher.search(both, 1, count=False).hits)
