"""What a vector is, for everything that makes, keeps or compares them."""

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""A unit-length float32 vector of shape (dimension,)."""

Vectors = npt.NDArray[np.float32]
"""Unit-length float32 vectors of shape (n, dimension)."""
