"""Another splitter on a real tree, and back: what is embedded, and whether searches notice.

    python -m benchmarks.generation_switch DATA [--tree docs_peps] [--copy-of FOLDER]

One client searches without pause from before the change until after it. `embedded` counts texts
that went through the model; a switch may embed only what was unknown, the way back nothing. FOLDER
is a data directory to start from (a copy of it) instead of indexing the tree first.
"""

import argparse
import json
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.latency import spread
from benchmarks.questions import QUESTIONS
from benchmarks.server import Client, Server, serving
from benchmarks.service import add_folder, unpack

PORT = 8767
SIZES = {"usual": {}, "half": {"CHUNK_SIZE": "500", "OVERLAP": "100"}}
POLL_SECONDS = 0.5
GENERATIONS = "/api/v1/rag/generations"


class Searches(threading.Thread):
    """Searches again and again, and notes what was not as it should be."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.milliseconds: list[float] = []
        self.faults: list[str] = []
        self._client = client
        self._done = threading.Event()

    def run(self) -> None:
        """Search until told to stop."""
        while not self._done.is_set():
            question = QUESTIONS[len(self.milliseconds) % len(QUESTIONS)].text
            started = time.perf_counter()
            try:
                answer = self._client.search(question)
            except (RuntimeError, OSError) as error:
                self.faults.append(str(error))
                return
            self.milliseconds.append((time.perf_counter() - started) * 1000)
            if answer["degraded"] or len(answer["results"]) != 5:
                self.faults.append(f"{question}: {answer['degraded']}, {len(answer['results'])}")

    def finish(self) -> dict[str, Any]:
        """Stop and sum up."""
        self._done.set()
        self.join()
        return {**spread(self.milliseconds), "faults": self.faults}


def embedded_so_far(client: Client) -> int:
    """Different texts whose vectors are kept: nothing is compacted meanwhile."""
    return int(client.call("GET", "/api/v1/rag/stats")["total_embeddings"])


def until_current(server: Server, splitter_size: str) -> dict[str, Any]:
    """Wait for the generation of this chunk size to answer; gives it."""
    client = server.client()
    while True:
        for each in client.call("GET", GENERATIONS)["generations"]:
            if each["state"] == "current" and f":{splitter_size}:" in each["splitter"]:
                found: dict[str, Any] = each
                return found
        time.sleep(POLL_SECONDS)


def change(data_dir: Path, root: Path, size: str) -> dict[str, Any]:
    """Start with another size, and search until it answers."""
    with serving(data_dir, root, PORT, **SIZES[size]) as server:
        before = embedded_so_far(server.client())
        searches = Searches(server.client())
        searches.start()
        started = time.perf_counter()
        generation = until_current(server, SIZES[size].get("CHUNK_SIZE", "1000"))
        seconds = time.perf_counter() - started
        time.sleep(1.0)
        return {
            "seconds": round(seconds, 1),
            "chunks": generation["chunks"],
            "embedded": embedded_so_far(server.client()) - before,
            "searches": searches.finish(),
            "peak_rss_mb": round(server.peak_rss_mb()),
        }


def index(data_dir: Path, root: Path) -> dict[str, Any]:
    """Index the tree."""
    with serving(data_dir, root, PORT) as server:
        client = server.client()
        result = client.call("POST", f"/api/v1/rag/index/{add_folder(client, root)}")
        return {key: result[key] for key in ("documents", "chunks_indexed", "duration_ms")}


def measure(data: Path, tree: str, copy_of: Path | None) -> dict[str, Any]:
    """Index, change, and go back."""
    with tempfile.TemporaryDirectory(prefix="groundwork-switch-") as folder:
        root = unpack(data, Path(folder))[tree]
        data_dir = Path(folder) / "data"
        if copy_of:
            shutil.copytree(copy_of, data_dir)
        first = {"copy_of": copy_of.name} if copy_of else index(data_dir, root)
        return {
            "tree": tree,
            "first": first,
            "half": change(data_dir, root, "half"),
            "back": change(data_dir, root, "usual"),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tree", default="docs_peps")
    parser.add_argument("--copy-of", type=Path)
    options = parser.parse_args()
    print(json.dumps(measure(options.data, options.tree, options.copy_of), indent=2))


if __name__ == "__main__":
    main()
