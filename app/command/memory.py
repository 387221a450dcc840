"""Keeps the C library from holding on to memory that the service has given back."""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Parameters of glibc's mallopt(3)."""

LARGE_BYTES = 512 * 1024
"""Blocks from this size on go back to the system when freed."""

ARENAS = 2
"""Heaps that threads share; glibc's own choice is eight a core, each with its own slack."""


def bound_memory() -> None:
    """Set up glibc's allocator; does nothing where the C library is another.

    Embedding batches of ever new shapes leaves gaps in the heap. Measured while embedding 700
    texts of all lengths: 344 MB peak RSS against 384, at the same CPU time. To be called before
    threads start.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_TRIM_THRESHOLD, LARGE_BYTES)
