"""The files of a Chroma index: which are ours to delete, and whether the index is complete."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from app.adapters.file_states import FileState, file_state
from app.errors import VectorIndexError

DATABASE_NAME = "chroma.sqlite3"
LOCK_NAME = "groundwork.lock"
COMPLETE_NAME = "groundwork-complete.json"
GRAPH_NAME = "data_level0.bin"
"""The vectors of an HNSW graph, in a segment's folder; removed ones stay in it, and in memory."""
SYNC_THRESHOLD = 400
"""Changes that wait in Chroma's log before it rewrites the HNSW files. Every rewrite takes about
0.1 s at 20,000 vectors, more than 0.5 s at 100,000, and is the moment at which a kill does damage;
every waiting change costs 0.3 ms or more at the next open, and slows each write: to fill in 25,000
records took 2.0 ms of CPU a record at 400, 2.5 ms at 1,000."""
_SEGMENT_FOLDER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEGMENT_SUFFIXES = {".bin", ".pickle"}
"""Of the files that Chroma keeps in such a folder; one with others, or with folders, is not its."""


@dataclass(frozen=True)
class IndexIdentity:
    """What the vectors of an index must agree in to be of use."""

    collection_name: str
    dimension: int
    model_fingerprint: str


def index_files(directory: Path) -> list[Path]:
    """The index's own files, but for what SQLite keeps beside its own only while it is open."""
    own: list[Path] = []
    for path in directory.iterdir():
        if _is_segment(path):
            own += path.iterdir()
        elif path.name == DATABASE_NAME:
            own.append(path)
    return sorted(own)


FileStates = Mapping[str, FileState]


def file_states(directory: Path) -> FileStates:
    """The states of the index's own files; empty when nothing is there."""
    files = index_files(directory) if directory.is_dir() else []
    return {str(path): file_state(path) for path in files}


def graph_bytes(directory: Path) -> int:
    """What all vectors take that were written since the index was made; raises OSError."""
    return sum(path.stat().st_size for path in index_files(directory) if path.name == GRAPH_NAME)


def write_ahead_log_bytes(directory: Path) -> int:
    """What SQLite has written beside its database; 0 when there is no log."""
    try:
        return (directory / f"{DATABASE_NAME}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def wipe(directory: Path) -> None:
    """Delete the index's own files and nothing else: the folder may hold a stranger's as well."""
    mark_incomplete(directory)
    try:
        for path in sorted(directory.iterdir()) if directory.exists() else []:
            if path.is_symlink():
                continue
            if _is_segment(path):
                shutil.rmtree(path)
            elif path.is_file() and path.name.startswith(DATABASE_NAME):
                path.unlink()
    except OSError as error:
        raise VectorIndexError(f"The vector index could not be deleted: {error}") from error


def _is_segment(path: Path) -> bool:
    if path.is_symlink() or not path.is_dir() or not _SEGMENT_FOLDER.fullmatch(path.name):
        return False
    return all(held.suffix in _SEGMENT_SUFFIXES and not held.is_dir() for held in path.iterdir())


def mark_complete(directory: Path, identity: IndexIdentity) -> None:
    """Note durably that the index holds everything that SQL holds for this model."""
    try:
        with (directory / COMPLETE_NAME).open("w", encoding="utf-8") as file:
            json.dump(asdict(identity), file)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise VectorIndexError(f"The vector index could not be finished: {error}") from error


def mark_incomplete(directory: Path) -> None:
    """Take the note back. Deleting it works on a full disk too, where writing would not."""
    try:
        (directory / COMPLETE_NAME).unlink(missing_ok=True)
    except OSError as error:
        raise VectorIndexError(f"The vector index cannot be changed: {error}") from error


def is_complete(directory: Path, identity: IndexIdentity) -> bool:
    """Whether the note stands, for the same collection, dimension and model."""
    try:
        noted = json.loads((directory / COMPLETE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(noted == asdict(identity))
