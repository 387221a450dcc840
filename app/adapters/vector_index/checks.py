"""What every vector index refuses: vectors of another length, and values that are no numbers."""

from collections.abc import Sequence

import numpy as np

from app.errors import VectorIndexError
from app.protocols import Vector, VectorRecord


def checked_vector(vector: Vector, dimension: int) -> Vector:
    """The vector as float32 of shape (dimension,); VectorIndexError when it cannot be that."""
    if vector.shape != (dimension,):
        message = (
            f"A vector of shape {vector.shape} does not fit an index of {dimension} dimensions. "
            "The index was made with another embedding model: rebuild it."
        )
        raise VectorIndexError(message)
    if not np.isfinite(vector).all():
        raise VectorIndexError("A vector holds values that are no finite numbers.")
    return np.asarray(vector, dtype=np.float32)


def checked_records(records: Sequence[VectorRecord], dimension: int) -> list[VectorRecord]:
    """The records with every vector checked; of records with equal ids only the last is kept."""
    for record in records:
        checked_vector(record.vector, dimension)
    return list({record.chunk_id: record for record in records}.values())


def storable_ids(item_ids: Sequence[int]) -> list[int]:
    """The distinct ids that a 64-bit column can hold; no record belongs to any other."""
    return sorted({int(item_id) for item_id in item_ids if -(2**63) <= item_id < 2**63})
