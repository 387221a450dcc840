"""What finds chunks by their vectors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from app.protocols.scope import EVERYWHERE, SearchScope
from app.protocols.vectors import Vector

UNKNOWN_DOCUMENT = -1
"""Stands for the number of a document where there is none."""


@dataclass(frozen=True)
class VectorRecord:
    """A chunk as a vector index holds it."""

    chunk_id: str
    item_id: int
    document_number: int
    """Known before SQL has a row: derived from item and document key; 0 to 2**53 - 1."""
    vector: Vector
    metadata: Mapping[str, str | int | float | bool | list[str]] = field(default_factory=dict)


class VectorHit(NamedTuple):
    """A chunk that a vector index found."""

    chunk_id: str
    score: float
    """Cosine similarity, -1 to 1."""
    document_number: int = UNKNOWN_DOCUMENT
    """That of the record; a VectorPart need not tell."""


class Compared(NamedTuple):
    """What some chunks are to a query, in the order in which they were named."""

    cosines: npt.NDArray[np.float64]
    """Shape (n,), -1 to 1; 0 for a chunk without a record."""
    document_numbers: npt.NDArray[np.int64]
    """Shape (n,); UNKNOWN_DOCUMENT for a chunk without a record."""


class VectorIndex(Protocol):
    """Nearest neighbours by cosine. A cache of SQL: losing it loses nothing.

    Safe for one writer and many readers at once. Failures raise VectorIndexError.
    """

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add records, or replace those with the same chunk id."""
        ...

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; unknown ids are no error."""
        ...

    def search(
        self, vector: Vector, limit: int, scope: SearchScope = EVERYWHERE
    ) -> list[VectorHit]:
        """The nearest records within the scope, best first."""
        ...

    def compared(self, vector: Vector, chunk_ids: Sequence[str]) -> Compared:
        """The cosine of each of these records to the vector, and the number of its document."""
        ...

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; unknown ids are left out."""
        ...

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        ...

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        ...

    def count(self) -> int:
        """How many records there are."""
        ...

    def clear(self) -> None:
        """Remove everything, and start again with an empty index."""
        ...

    def close(self) -> None:
        """Flush, and release the files."""
        ...


class VectorPart(Protocol):
    """One of the copies of the vectors that a vector index may keep. Raises VectorIndexError."""

    def search(self, vector: Vector, limit: int) -> list[VectorHit]:
        """The nearest records, best first."""
        ...

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        ...

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        ...

    def count(self) -> int:
        """How many records there are."""
        ...


class VectorSource(Protocol):
    """Streams what the vector index should hold, straight from SQL."""

    def __call__(self) -> Iterator[Sequence[VectorRecord]]:
        """Yield all records, in batches."""
        ...
