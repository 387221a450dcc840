"""How SQL keeps a vector, and whether what it keeps is one: disks and foreign tools do harm."""

import numpy as np
import numpy.typing as npt

from app.protocols import Vector, Vectors

VECTOR_TYPE = np.dtype("<f4")
"""Little-endian float32."""

UNIT_TOLERANCE = 1e-4
"""By how much the square of a length may differ from 1. Models normalise in float32, which leaves
1e-6; below 0.9999 no vector could be told to be the same as itself, see indexing/comparison.py."""


def are_unit(vectors: Vectors) -> npt.NDArray[np.bool_]:
    """Which rows of shape (n, dimension) are of unit length; what is no number never is."""
    with np.errstate(all="ignore"):
        unit: npt.NDArray[np.bool_] = np.abs(np.vecdot(vectors, vectors) - 1.0) <= UNIT_TOLERANCE
    return unit


def vector_fault(stored: bytes, dimension: int) -> str | None:
    """Why these bytes are no vector of the model, in words; None: they are one."""
    size = dimension * VECTOR_TYPE.itemsize
    if len(stored) != size:
        return f"it has {len(stored)} bytes instead of {size}"
    vector = np.frombuffer(stored, VECTOR_TYPE)
    if not np.isfinite(vector).all():
        return "it holds values that are no numbers"
    return None if are_unit(vector[np.newaxis])[0] else "it is not of unit length"


def sound_vector(stored: bytes | None, dimension: int) -> Vector | None:
    """The vector, shape (dimension,); None when nothing is stored, or something that is none."""
    if stored is None or vector_fault(stored, dimension) is not None:
        return None
    return np.frombuffer(stored, VECTOR_TYPE).astype(np.float32)
