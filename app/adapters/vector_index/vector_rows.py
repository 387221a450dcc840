"""Vectors in bulk as arrays, without metadata: what the exact index is loaded from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.protocols import VectorRecord, Vectors


@dataclass(frozen=True)
class VectorRows:
    """n records side by side."""

    chunk_ids: Sequence[str]
    item_ids: npt.NDArray[np.int64]
    """Shape (n,)."""
    document_numbers: npt.NDArray[np.int64]
    """Shape (n,)."""
    vectors: Vectors
    """Shape (n, dimension), finite, unit length."""


class VectorRowSource(Protocol):
    """Streams what the exact index should hold, straight from SQL and as fast as SQL can."""

    def __call__(self) -> Iterator[VectorRows]:
        """Yield all records, some thousand at a time, no chunk id twice."""
        ...


def rows_of_records(records: Sequence[VectorRecord], dimension: int) -> VectorRows:
    """The same records as arrays."""
    vectors = np.empty((len(records), dimension), np.float32)
    for row, record in enumerate(records):
        vectors[row] = record.vector
    return VectorRows(
        [record.chunk_id for record in records],
        np.array([record.item_id for record in records], np.int64),
        np.array([record.document_number for record in records], np.int64),
        vectors,
    )
