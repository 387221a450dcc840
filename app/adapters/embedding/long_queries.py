"""What a query longer than the model's window is embedded as."""

import numpy as np

from app.protocols import Vector, Vectors


def mean_direction(vectors: Vectors) -> Vector:
    """The unit vector in the direction of the mean of unit vectors, shape (dimension,).

    A query's windows stand in for the query this way, so that nothing of it is cut off unseen.
    """
    total: Vector = vectors.sum(axis=0, dtype=np.float32)
    length = float(np.linalg.norm(total))
    # Windows that cancel each other out have no direction: the first one stands for all.
    direction: Vector = total / np.float32(length) if length > 0 else vectors[0]
    return direction
