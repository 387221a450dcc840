"""What every vector index refuses: vectors of another length, and values that are no numbers."""

from collections.abc import Sequence

import numpy as np

from app.adapters.vector_index.vector_rows import VectorRows
from app.errors import VectorIndexError
from app.protocols import Vector, VectorRecord

NOT_FINITE = "A vector holds values that are no finite numbers."


def checked_vector(vector: Vector, dimension: int) -> Vector:
    """The vector as float32 of shape (dimension,); VectorIndexError when it cannot be that."""
    if vector.shape != (dimension,):
        raise VectorIndexError(_does_not_fit(vector.shape, dimension))
    if not np.isfinite(vector).all():
        raise VectorIndexError(NOT_FINITE)
    return np.asarray(vector, dtype=np.float32)


def checked_records(records: Sequence[VectorRecord], dimension: int) -> list[VectorRecord]:
    """The records with every vector checked; of records with equal ids only the last is kept."""
    for record in records:
        checked_vector(record.vector, dimension)
    return list({record.chunk_id: record for record in records}.values())


def check_rows(rows: VectorRows, dimension: int) -> None:
    """Raise VectorIndexError for rows of another length, or with values that are no numbers."""
    if rows.vectors.shape != (len(rows.chunk_ids), dimension):
        raise VectorIndexError(_does_not_fit(rows.vectors.shape[1:], dimension))
    if not np.isfinite(rows.vectors).all():
        raise VectorIndexError(NOT_FINITE)


def _does_not_fit(shape: tuple[int, ...], dimension: int) -> str:
    return (
        f"A vector of shape {shape} does not fit an index of {dimension} dimensions. "
        "The index was made with another embedding model: rebuild it."
    )
