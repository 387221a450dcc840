"""Bounds for processes that open files which may be damaged: such files make them grow, or lie."""

import resource
from pathlib import Path

SPARSE_FACTOR = 64
SPARSE_FLOOR_BYTES = 1 << 30
"""A file over 1 GiB of which less than one part in 64 is on the disk was not written by a sound
process: a kill once left a link_lists.bin of 2.8 TB."""


def lower_limit(limit: int, value: int) -> None:
    """Bound a resource (RLIMIT_…) of this process, unless it is bounded more tightly already."""
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def implausible_size(path: Path) -> str | None:
    """Why no sound process has left a file of this size behind, or None."""
    status = path.lstat()
    on_disk = status.st_blocks * 512
    if status.st_size > max(SPARSE_FLOOR_BYTES, SPARSE_FACTOR * on_disk):
        return f"{path.name} claims {status.st_size} bytes but holds {on_disk}"
    return None
