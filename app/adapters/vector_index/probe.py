"""Tries a Chroma index out in a child process, which may crash, hang or run away instead of us."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
from filelock import FileLock

from app.adapters.vector_index.chroma_client import open_client
from app.adapters.vector_index.chroma_files import DATABASE_NAME, LOCK_NAME

QUERIES = 20
PAGE_ROWS = 2000
SAME_DISTANCE = 1e-3
"""Cosine distance below which a hit is taken to be the query itself."""
MEMORY_SLACK_BYTES = 4 << 30
"""Address space beyond the index's own size: chromadb and its thread pools reserve about 1 GiB."""
FILE_SLACK_BYTES = 1 << 30
"""How far beyond the index's present size a file may grow while it is opened."""
SPARSE_FACTOR = 64
SPARSE_FLOOR_BYTES = 1 << 30
"""A file over 1 GiB of which less than one part in 64 is on the disk was not written by a sound
flush: a kill once left a link_lists.bin of 2.8 TB."""


def probe_chroma(directory: Path, collection_name: str, timeout_seconds: float) -> str | None:
    """None when the index can be opened, read and searched; else why not, in a few words.

    This process must not have the index open. The child takes its lock, works on the files
    themselves (no copy), and ends by itself soon after `timeout_seconds` even if nobody stops it.
    """
    reason = _implausible_file(directory)
    if reason is not None:
        return reason
    seconds = max(1, round(timeout_seconds) + 1)
    command = [sys.executable, "-m", "app.adapters.vector_index.probe"]
    try:
        child = subprocess.run(  # noqa: S603 - our own interpreter and module
            [*command, str(directory.absolute()), collection_name, str(seconds)],
            check=False,
            capture_output=True,
            timeout=timeout_seconds,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {timeout_seconds:g} seconds"
    if child.returncode == 0:
        return None
    if child.returncode < 0:
        return f"opening it crashes ({signal.Signals(-child.returncode).name})"
    lines = child.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1][:500] if lines else f"the probe ended with status {child.returncode}"


def _implausible_file(directory: Path) -> str | None:
    if not (directory / DATABASE_NAME).is_file():
        return "its database is missing"
    for path in directory.rglob("*"):
        status = path.lstat()
        on_disk = status.st_blocks * 512
        if status.st_size > max(SPARSE_FLOOR_BYTES, SPARSE_FACTOR * on_disk):
            return f"{path.name} claims {status.st_size} bytes but holds {on_disk}"
    return None


def _limit_this_process(directory: Path, seconds: int) -> None:
    """Bound the time, file sizes, memory and core dumps of this process."""
    size = sum(path.lstat().st_size for path in directory.rglob("*"))
    signal.alarm(seconds)
    _lower(resource.RLIMIT_FSIZE, size + FILE_SLACK_BYTES)
    _lower(resource.RLIMIT_AS, 3 * size + MEMORY_SLACK_BYTES)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def _examine(directory: Path, collection_name: str) -> str | None:
    """Read everything that the index says it holds, and search for a sample of it."""
    client = open_client(directory)
    collection = client.get_collection(collection_name, embedding_function=None)
    count = collection.count()
    page_queries = min(QUERIES, max(1, QUERIES * PAGE_ROWS // max(1, count)))
    seen = queries = found = 0
    for offset in range(0, count, PAGE_ROWS):
        page = collection.get(limit=PAGE_ROWS, offset=offset, include=["embeddings", "metadatas"])
        vectors = np.asarray(page["embeddings"], dtype=np.float32)
        if len(vectors) != len(page["ids"]) or not np.isfinite(vectors).all():
            return "some of its records have no vector"
        if any("knowledge_id" not in (metadata or {}) for metadata in page["metadatas"] or []):
            return "some of its records have no metadata"
        seen += len(vectors)
        for query in vectors[:: max(1, len(vectors) // page_queries)]:
            hits = collection.query(
                query_embeddings=query[np.newaxis], n_results=10, include=["distances"]
            )
            queries += 1
            found += min((hits["distances"] or [[]])[0], default=2.0) < SAME_DISTANCE
    if seen != count:
        return f"it counts {count} records but lists {seen}"
    if found < 0.8 * queries:
        return f"only {found} of {queries} searches for what it holds found it"
    client.close()
    return None


def _main() -> None:
    directory, collection_name, seconds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    _limit_this_process(directory, seconds)
    with FileLock(directory / LOCK_NAME, blocking=False, fallback_to_soft=False):
        sys.exit(_examine(directory, collection_name))


if __name__ == "__main__":
    _main()
