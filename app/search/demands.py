"""What a candidate must be to become a result: held by SQL, allowed, in the right words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.search.queries import rows_by_chunk, texts_of
from app.search.scope import ResolvedFilter
from app.search.words_by_collection import WordsByCollection


@dataclass(frozen=True)
class Demands:
    """The filter and the words of one search."""

    allowed: ResolvedFilter
    words: WordsByCollection
    by_words: frozenset[str] = frozenset()
    """Chunks that the lexical index found, which mostly proves that they hold the phrases."""
    chunk_types: tuple[str, ...] = ()
    """The types of chunks that may be results; empty: all."""

    def suits(self, row: Any) -> bool:
        """Whether a row is of a wanted type, not blank, says all phrases and nothing excluded."""
        if row.content.isspace():  # a stretch of blanks as long as a chunk
            return False
        if self.chunk_types and row.chunk_type not in self.chunk_types:
            return False
        words = self.words.of(row.collection)
        if words.leave_out(row.content, row.key):
            return False
        if not self.words.require_words:
            return True
        if row.id in self.by_words and not words.must_read_phrases:
            return True
        return not words.lack_phrases(*texts_of(row))

    def suiting(self, connection: Connection, chunk_ids: Sequence[str]) -> list[str]:
        """Those of the chunks that can become results, in order. For a few hundred at most."""
        rows = rows_by_chunk(connection, chunk_ids, self.allowed)
        return [key for key in chunk_ids if key in rows and self.suits(rows[key])]
