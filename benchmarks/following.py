"""A large folder that is followed: what an unchanged pass costs, and how soon a change is found.

    python -m benchmarks.following [--files 10000]

Processor time is that of the server, from the kernel, with the idle server's taken off.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.server import Client, Server, serving

PORT = 8771
FILES_PER_FOLDER = 50
INTERVAL_SECONDS = 10
WATCHED_SECONDS = 60.0
CHANGES = 10
GIVE_UP_SECONDS = 30.0
KNOWLEDGE = "/api/v1/knowledge"


def write_tree(root: Path, files: int) -> list[Path]:
    """So many Markdown files of one line, in folders of FILES_PER_FOLDER."""
    paths = []
    for number in range(files):
        path = root / f"folder-{number // FILES_PER_FOLDER:04}" / f"note-{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nBerth {number} is kept for ship {number * 7}.\n")
        paths.append(path)
    return paths


def processor_seconds(server: Server) -> float:
    """User and system time of the serving process."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def passes_and_seconds(server: Server, client: Client, item: int) -> tuple[int, float]:
    """How often the item was looked at in WATCHED_SECONDS, and the processor time of all that."""
    seen = {client.call("GET", f"{KNOWLEDGE}/{item}")["last_fetched_at"]}
    ends, before = time.monotonic() + WATCHED_SECONDS, processor_seconds(server)
    while time.monotonic() < ends:
        time.sleep(0.5)
        seen.add(client.call("GET", f"{KNOWLEDGE}/{item}")["last_fetched_at"])
    return len(seen) - 1, processor_seconds(server) - before


def seconds_until_found(client: Client, path: Path, word: str) -> float:
    """Write a new word into a file; how long until a search by words finds it."""
    path.write_text(f"# Note\n\nThe word is {word}.\n")
    started = time.monotonic()
    body = {"query": word, "mode": "lexical", "n_results": CHANGES}
    while not any(
        word in result["content"]
        for result in client.call("POST", "/api/v1/rag/search", body)["results"]
    ):
        if time.monotonic() - started > GIVE_UP_SECONDS:
            raise RuntimeError(f"{word} was not found.")
        time.sleep(0.02)
    return time.monotonic() - started


@contextmanager
def indexed_tree(files: int) -> Iterator[tuple[Server, int, list[Path]]]:
    """A server that has indexed a tree; with the item's id and the files."""
    with tempfile.TemporaryDirectory(prefix="groundwork-following-") as folder:
        root = Path(folder) / "tree"
        paths = write_tree(root, files)
        with serving(Path(folder) / "data", root, PORT) as server:
            client = server.client()
            body = {"title": "tree", "uri": str(root), "document_type": "folder"}
            item = client.call("POST", KNOWLEDGE, {**body, "refresh_interval": 0})["id"]
            client.call("POST", f"/api/v1/rag/index/{item}")
            yield server, item, paths


def measure(files: int) -> dict[str, Any]:
    """Index, let it be looked at on schedule, and change files."""
    with indexed_tree(files) as (server, item, paths):
        client = server.client()
        time.sleep(5.0)  # what was stored is written to the indexes
        _, idle_seconds = passes_and_seconds(server, client, item)
        client.call("PATCH", f"{KNOWLEDGE}/{item}", {"refresh_interval": INTERVAL_SECONDS})
        passes, all_seconds = passes_and_seconds(server, client, item)
        client.call("PATCH", f"{KNOWLEDGE}/{item}", {"refresh_interval": 86_400})
        found = []
        for number in range(CHANGES):
            seconds = seconds_until_found(client, paths[number * 37], f"zanzibar{number}")
            found.append(round(seconds, 2))
            time.sleep(1.0)
        return {
            "files": files,
            "passes": passes,
            "idle_cpu_seconds": round(idle_seconds, 2),
            "cpu_seconds_per_pass": round((all_seconds - idle_seconds) / passes, 3),
            "seconds_until_found": sorted(found),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    print(json.dumps(measure(parser.parse_args().files), indent=2))


if __name__ == "__main__":
    main()
