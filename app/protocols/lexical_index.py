"""What finds chunks by their words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from app.protocols.scope import EVERYWHERE, SearchScope


@dataclass(frozen=True)
class LexicalRecord:
    """A chunk as a lexical index holds it."""

    chunk_id: str
    item_id: int
    document_number: int
    content: str
    titles: tuple[str, ...] = ()
    """The document's title, and its item's where that is the document's as well."""
    heading_path: tuple[str, ...] = ()
    path: str = ""
    """The document's key: a relative path or an address."""
    language: str | None = None
    """The language by which its words are stemmed, as Snowball names it; None: the index's own."""


class LexicalHit(NamedTuple):
    """A chunk that a lexical index found."""

    chunk_id: str
    score: float
    """BM25 over the fields, more for words in the order in which they were typed. Above 0;
    comparable only within one answer."""


class QueryWorth(NamedTuple):
    """What the words of a query can be worth to a text."""

    ceiling: float
    """The BM25 score of a text that says all of them as densely as BM25 rewards.

    Words in the order in which they were typed may lift a score above it. 0 when the query has no
    word that is searched for.
    """
    guessed: float
    """The share of the ceiling, 0 to 1, of words that no record holds, in whose place others are
    looked for: what is found by these may have nothing to do with the query."""


class LexicalIndex(Protocol):
    """Full-text search by words. A cache of SQL: losing it loses nothing.

    Safe for one writer and many readers at once. Failures raise LexicalIndexError.
    """

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        """Add or replace records by chunk id; searches that begin afterwards see them."""
        ...

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; unknown ids are no error. May become visible and durable later."""
        ...

    def search(self, query: str, limit: int, scope: SearchScope = EVERYWHERE) -> list[LexicalHit]:
        """The records that match best within the scope, best first; of equals the lower id first.

        The query is plain text and not a query language, with two exceptions:

        - Words in double quotes must stand side by side in a record's content, title or headings.
        - A record whose content says a word after `-` is left out, but not one that has the word
          only within a name (`Java` in `JavaScript`), or shows it with its `-`, as a switch. Where
          names are spelt in several ways, some records that say an excluded phrase or name may be
          left in: the caller has to check the text itself.

        Words are compared by their stems in the language of each record. What lies at a path that
        the query names, such as `docs/keys.md`, counts for more than what says all words of that
        path; what says plain words side by side, as the query does, for more than what says them
        apart; and what stands under a heading that is the query for more than what mentions it. In
        place of a plain word that no record holds, known words that are spelt almost alike may be
        looked for.
        """
        ...

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; unknown ids are left out."""
        ...

    def documents_of_tests(self) -> frozenset[int]:
        """The numbers of the documents that are tests of code, as their paths tell.

        Some may be of documents that have just been removed.
        """
        ...

    def in_other_language(self, expected: Mapping[str, str | None]) -> set[str]:
        """Which of these records it holds in another language than the one given for each."""
        ...

    def worth(self, query: str) -> QueryWorth:
        """What the words of the query can be worth."""
        ...

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        ...

    def count(self) -> int:
        """How many records there are."""
        ...

    def close(self) -> None:
        """Flush, and release the files."""
        ...


class LexicalSource(Protocol):
    """Streams what the lexical index should hold, straight from SQL."""

    def __call__(self) -> Iterator[Sequence[LexicalRecord]]:
        """Yield all records, in batches."""
        ...
