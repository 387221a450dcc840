"""Whether there is any file of an index."""

from collections.abc import Callable, Sequence
from pathlib import Path


def any_file(folder: Path, files: Callable[[Path], Sequence[Path]]) -> bool:
    """Whether the folder holds any file of an index; one that cannot be read is left to others."""
    try:
        return folder.is_dir() and bool(files(folder))
    except OSError:
        return True
