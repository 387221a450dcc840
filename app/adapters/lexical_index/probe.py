"""Tries a tantivy index out in a child process, which may crash, hang or run away instead of us."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import tantivy
from tantivy import Query

from app.adapters.child_limits import implausible_size, lower_limit
from app.adapters.child_modules import module_command, module_environment
from app.adapters.lexical_index.checksums import damaged_file
from app.adapters.lexical_index.fields import BODY, CHUNK_ID, TITLE, chunk_ids_at, make_schema

PROBE_MODULE = "app.adapters.lexical_index.probe"
QUERIES = 200
MEMORY_SLACK_BYTES = 4 << 30
"""Address space beyond the index's own size; it is reserved by thread pools, hardly any used."""
FILE_SLACK_BYTES = 1 << 20
"""The probe writes nothing but, at most, lock files and tantivy's list of files."""


def probe_tantivy(folder: Path, timeout_seconds: float) -> str | None:
    """None when the index can be opened, read and searched; else why not, in a few words.

    The child only reads, works on the files themselves (no copy), and ends by itself soon after
    `timeout_seconds` even if nobody stops it.
    """
    reason = _implausible_file(folder)
    if reason is not None:
        return reason
    seconds = max(1, round(timeout_seconds) + 1)
    try:
        child = subprocess.run(  # noqa: S603 - our own interpreter and module
            module_command(PROBE_MODULE, str(folder.absolute()), str(seconds)),
            env=module_environment(),
            check=False,
            capture_output=True,
            timeout=timeout_seconds,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {timeout_seconds:g} seconds"
    except OSError as error:
        return f"the probe could not be started: {error}"
    if child.returncode == 0:
        return None
    if child.returncode < 0:
        return f"opening it crashes ({signal.Signals(-child.returncode).name})"
    lines = child.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1][:500] if lines else f"the probe ended with status {child.returncode}"


def _implausible_file(folder: Path) -> str | None:
    if not (folder / "meta.json").is_file():
        return "its list of segments is missing"
    return next(filter(None, map(implausible_size, folder.iterdir())), None)


def _limit_this_process(folder: Path, seconds: int) -> None:
    """Bound the time, file sizes, memory and core dumps of this process."""
    size = sum(path.lstat().st_size for path in folder.iterdir())
    signal.alarm(seconds)
    lower_limit(resource.RLIMIT_FSIZE, FILE_SLACK_BYTES)
    lower_limit(resource.RLIMIT_AS, 3 * size + MEMORY_SLACK_BYTES)
    lower_limit(resource.RLIMIT_CORE, 0)


def _examine(folder: Path) -> str | None:
    """Check each file's checksum, read what the index says it holds, and search in it."""
    reason = damaged_file(folder)
    if reason is not None:
        return reason
    index = tantivy.Index(make_schema(), path=str(folder))
    searcher = index.searcher()
    everything = Query.all_query()
    ids = {chunk_id for chunk_id, _ in searcher.terms_with_prefix(CHUNK_ID, "", everything)}
    if len(ids) != searcher.num_docs:
        return f"it counts {searcher.num_docs} records but lists {len(ids)}"
    if ids:
        places = [place for _, place in searcher.search(everything, len(ids), count=False).hits]
        stored = {searcher.doc(place).get_first(CHUNK_ID) for place in places}
        if stored != ids or set(chunk_ids_at(searcher, places)) != ids:
            return "its records have other ids than those it lists"
    _search(index, searcher)
    return None


def _search(index: tantivy.Index, searcher: tantivy.Searcher) -> None:
    """Search for a sample of the terms, alone and as phrases; a crash or an error tells."""
    for field in (BODY, TITLE):
        terms = [term for term, _ in searcher.terms_with_prefix(field, "", limit=5000)]
        sample = terms[:: max(1, len(terms) // QUERIES)]
        for term, following in zip(sample, [*sample[1:], *sample[:1]], strict=True):
            searcher.search(Query.term_query(index.schema, field, term), 10)
            searcher.search(Query.phrase_query(index.schema, field, [term, following]), 10)


def _main() -> None:
    folder, seconds = Path(sys.argv[1]), int(sys.argv[2])
    _limit_this_process(folder, seconds)
    sys.exit(_examine(folder))


if __name__ == "__main__":
    _main()
