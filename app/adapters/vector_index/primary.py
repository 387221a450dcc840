"""What FailoverVectorIndex needs of an index on disk, and of the place that it comes from."""

from collections.abc import Sequence
from typing import Protocol

from app.errors import VectorIndexError
from app.protocols import Vector, VectorHit, VectorRecord


class NoVectorIndexError(VectorIndexError):
    """There is none yet: nothing that was there is damaged."""


class PrimaryIndex(Protocol):
    """A vector index that answers searches everywhere. Failures raise VectorIndexError."""

    @property
    def busy(self) -> bool:
        """Whether a search would have to wait for a write."""
        ...

    @property
    def failure(self) -> str | None:
        """Why the index will not answer any more, as far as is known without asking it."""
        ...

    def is_swollen(self, records: int) -> bool:
        """Whether its files are far too large for so many: they are full of what was removed."""
        ...

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add records, or replace those with the same chunk id."""
        ...

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; unknown ids are no error."""
        ...

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

    def clear(self) -> None:
        """Remove everything, and start again with an empty index."""
        ...

    def close(self) -> None:
        """Flush and release files; what runs then fails. Closing again does nothing."""
        ...


class PrimaryStore(Protocol):
    """Where the primary index comes from. Failures raise VectorIndexError."""

    @property
    def name(self) -> str:
        """What people know the primary by."""
        ...

    def is_complete(self) -> bool:
        """Whether the index on disk is noted to hold what it should, for the model in use."""
        ...

    def open(self) -> PrimaryIndex:
        """Open what is there, complete or not; raises when it is missing or damaged.

        NoVectorIndexError: nothing is there.
        """
        ...

    def recreate(self) -> PrimaryIndex:
        """Throw away what is there, unopened, and make an empty index, noted as incomplete."""
        ...

    def mark_complete(self) -> None:
        """Note durably that the index holds what it should."""
        ...

    def mark_incomplete(self) -> None:
        """Note durably that the index lacks something."""
        ...
