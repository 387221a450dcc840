"""Keeps the C library from holding on to free memory, and Python from pausing to look for some."""

import ctypes
import gc

from app.frozen_objects import keep_for_good

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Parameters of glibc's mallopt(3)."""

LARGE_BYTES = 512 * 1024
"""Blocks from this size on go back to the system when freed."""

SPARE_BYTES = 4 * 1024 * 1024
"""What is free at the end of a heap goes back from this size on. While that was LARGE_BYTES, it
depended on how the heap lay whether searches among 100,000 vectors took and gave back the same
pages, which the system has to clear: in one of three runs, 65 a search instead of 6 to 9."""

ARENAS = 2
"""Heaps that threads share; glibc's own choice is eight a core, each with its own slack."""

COLLECTION_THRESHOLDS = (700, 20, 100)
"""Of gc.set_threshold(): objects made beyond those freed, then collections of the generation below.
Little is left for them to find: what is not cyclic is freed at once, without them.

The first is Python's own. It counts what was made *less what was freed*: where a cache lets go of
as much as it takes in, a high one is not reached for minutes, and then all that was taken in is
looked at in one pause. With 20,000, that was 0.06 to 0.15 s, in the midst of a search or a delete;
with these, 8 ms at most but for full ones (30 ms), at 0.1 ms a search (100,000 passages).

The third is ten times Python's own. Some garbage dies old: with 1,500, a service that indexed the
same 25 documents 400 times grew by 33 MB without an end in sight, with 50 by 13 MB in all."""


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
        mallopt(M_TRIM_THRESHOLD, SPARE_BYTES)


def put_off_collections() -> None:
    """Look for no cyclic garbage until `spare_collections`; to be called before modules are loaded.

    Loading them makes 280,000 objects, among which it would be looked 400 times, for 0.2 s of 1.0.
    """
    gc.disable()


def spare_collections() -> None:
    """Look for cyclic garbage, but not among the modules; to be called once all are loaded.

    What is made afterwards may become garbage: who drops much of it calls `collect_dropped`. A full
    one holds up every thread, and came twice in five seconds of mixed load (`make load`) with
    Python's own thresholds. Modules, of all it looks at, are never garbage.
    """
    gc.collect()
    keep_for_good()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    gc.enable()
