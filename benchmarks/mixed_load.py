"""Sixteen clients search, write, index and delete at once: no failure, no growth, no stall.

    python -m benchmarks.mixed_load                         # ten minutes, as it is meant
    python -m benchmarks.mixed_load --seconds 120           # a quick look
    python -m benchmarks.mixed_load --tree ~/docs           # on your own documents

It starts a server of its own on a temporary data directory, with documents that it makes up unless
`--tree` names some, and prints JSON. Half of the clients search; a quarter creates, reads, changes
and deletes items; a quarter writes a file, has it indexed again and again, takes it out and deletes
it, and looks each time whether a search shows just the version that it should. A process of its own
asks for `/health/live` all the while. Ends with 1 unless all of this holds:

- no answer is a 5xx, and none is another than expected;
- what was answered to be indexed is found, whole and in that version; what was deleted is not;
- memory is flat: the last tenth of the time takes at most 1.1 times what the third took;
- `/health/live` answers within 50 ms at p99 (meaningless while others use the machine);
- the server stops in order, and `groundwork verify` finds nothing.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.latency import spread
from benchmarks.server import Client, Server, serving

SEARCHERS, EDITORS, INDEXERS = 8, 4, 4
FILES = 300
PARTS = 8
MOST_P99_MS = 50.0
MOST_GROWTH = 1.1
PERIODS = 10
SHOWN_FAILURES = 20
HEALTH_PAUSE_SECONDS = 0.02
MEMORY_PAUSE_SECONDS = 0.5
SEED = 4

WORDS = (
    *("anchor", "basin", "cable", "delta", "ember", "fjord", "gravel", "harbor", "island", "jetty"),
    *("kelp", "lagoon", "marsh", "nautical", "ocean", "pebble", "quay", "reef", "sand", "tide"),
)
MODES = ("hybrid", "dense", "lexical")
CATEGORIES = ("Ports", "Ports/North", "Ships", None)


@dataclass
class Findings:
    """What all clients have seen. Safe from many threads."""

    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, status: int, milliseconds: float) -> None:
        """One answer came."""
        with self.lock:
            self.statuses[status] += 1
            self.milliseconds[what].append(milliseconds)

    def fail(self, message: str) -> None:
        """Something is as it must not be."""
        with self.lock:
            self.failures.append(message)


class Visitor:
    """One client: asks, notes how that went, and finds fault."""

    def __init__(self, number: int, port: int, sources: Path, findings: Findings) -> None:
        self.random = random.Random(SEED * 1000 + number)  # noqa: S311, no secret
        self.sources = sources
        self.number = number
        self._findings = findings
        self._http = httpx.Client(
            base_url=f"http://127.0.0.1:{port}/api/v1", timeout=300, trust_env=False
        )

    def ask(self, method: str, path: str, body: object = None, expected: int = 200) -> Any:
        """The JSON of the answer."""
        started = time.perf_counter()
        answer = self._http.request(method, path, json=body)
        took = (time.perf_counter() - started) * 1000
        place = path.partition("?")[0].rstrip("0123456789").rstrip("/")
        self._findings.note(f"{method} {place}", answer.status_code, took)
        if answer.status_code != expected:
            self._findings.fail(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
            return {}
        return answer.json() if answer.content else {}

    def expect(self, holds: bool, message: str) -> None:
        """Note a failure unless it holds."""
        if not holds:
            self._findings.fail(message)

    def words(self, count: int) -> str:
        """Some words."""
        return " ".join(self.random.choices(WORDS, k=count))

    def create(self, uri: Path, document_type: str) -> int:
        """A new item; 0 when that failed, which is noted."""
        item = {
            "title": self.words(3),
            "uri": str(uri),
            "document_type": document_type,
            "category": self.random.choice(CATEGORIES),
            "tags": [self.random.choice(WORDS)],
        }
        return int(self.ask("POST", "/knowledge", item, 201).get("id", 0))


def search(visitor: Visitor) -> None:
    """Ask one question in one of many ways."""
    body: dict[str, object] = {
        "query": visitor.words(visitor.random.randint(1, 6)),
        "mode": visitor.random.choice(MODES),
        "n_results": visitor.random.choice((5, 10, 50)),
    }
    if visitor.random.random() < 0.3:
        body["category"] = "Ports"
    found = visitor.ask("POST", "/rag/search", body).get("results", [])
    chunk_ids = [result["chunk_id"] for result in found]
    visitor.expect(len(set(chunk_ids)) == len(chunk_ids), f"a chunk is found twice: {body}")


def edit(visitor: Visitor) -> None:
    """Create, read, list, change and delete an item that nobody indexes."""
    item = visitor.create(visitor.sources / "base", "folder")
    title = visitor.words(4)
    visitor.ask("PATCH", f"/knowledge/{item}", {"title": title, "tags": ["changed"]})
    shown = visitor.ask("GET", f"/knowledge/{item}")
    visitor.expect(shown.get("title") == title, f"item {item} is not as it was changed: {shown}")
    visitor.ask("GET", "/knowledge?limit=20&sort=-id")
    visitor.ask("GET", "/rag/stats")
    visitor.ask("DELETE", f"/knowledge/{item}", expected=204)
    visitor.ask("GET", f"/knowledge/{item}", expected=404)


def index(visitor: Visitor) -> None:
    """Have a file indexed in three versions, take it out, and delete it."""
    path = visitor.sources / f"client-{visitor.number}.md"
    item = 0
    for version in range(3):
        _write(visitor, path, version)
        item = item or visitor.create(path, "markdown")
        result = visitor.ask("POST", f"/rag/index/{item}")
        visitor.expect(bool(result.get("success")), f"item {item} was not indexed: {result}")
        _expect_version(visitor, item, version, result.get("chunks_indexed", 0))
    if visitor.random.random() < 0.5:
        visitor.ask("DELETE", f"/rag/index/{item}")
        _expect_version(visitor, item, None, 0)
        visitor.ask("POST", f"/rag/index/{item}?wait=false", expected=202)
    visitor.ask("DELETE", f"/knowledge/{item}", expected=204)
    _expect_version(visitor, item, None, 0)


def _write(visitor: Visitor, path: Path, version: int) -> None:
    parts = (
        f"## Part {part}\n\nversion{version} of the {visitor.words(120)}." for part in range(PARTS)
    )
    path.write_text("# A file\n\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


def _expect_version(visitor: Visitor, item: int, version: int | None, chunks: int) -> None:
    """All chunks of this version and no other are found."""
    body = {"query": "version harbor", "knowledge_ids": [item], "n_results": 100, "mode": "dense"}
    found = visitor.ask("POST", "/rag/search", body).get("results", [])
    seen = {word.split()[0] for result in found for word in result["content"].split("version")[1:]}
    wanted = set() if version is None else {str(version)}
    visitor.expect(
        seen == wanted and len(found) == chunks,
        f"item {item} shows {len(found)} chunks of {seen}, not {chunks} of {wanted}",
    )


# What is watched meanwhile ----------------------------------------------------------------------


def watch_health(port: int, stop: Connection) -> None:
    """Ask for the health until told to stop, then send the latencies: in a process of its own."""
    client, milliseconds = Client(port), []
    while not stop.poll(HEALTH_PAUSE_SECONDS):
        milliseconds.append(client.timed_ms("GET", "/health/live"))
    stop.send(milliseconds)


def resident_mb(pid: int) -> dict[str, float]:
    """Memory of the server, and of the processes that it has started."""
    process = psutil.Process(pid)
    together = 0
    for child in process.children(recursive=True):
        try:
            together += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return {"server": process.memory_info().rss / 2**20, "children": together / 2**20}


def by_period(samples: Sequence[float]) -> list[float]:
    """The mean of each tenth of the time."""
    edges = [round(len(samples) * period / PERIODS) for period in range(PERIODS + 1)]
    parts = [samples[start:end] for start, end in itertools.pairwise(edges)]
    return [round(sum(part) / max(1, len(part)), 1) for part in parts]


# The whole --------------------------------------------------------------------------------------


def make_sources(folder: Path) -> None:
    """Documents to be searched."""
    chance = random.Random(SEED)  # noqa: S311, no secret
    (folder / "base").mkdir(parents=True)
    for number in range(FILES):
        paragraphs = (" ".join(chance.choices(WORDS, k=100)) + "." for _ in range(4))
        text = f"# Document {number}\n\n" + "\n\n".join(paragraphs) + "\n"
        (folder / "base" / f"{number:04}.md").write_text(text, encoding="utf-8")


def run(server: Server, sources: Path, tree: Path, seconds: float) -> dict[str, Any]:
    """Load the server for so long; what was found."""
    findings = Findings()
    first = Visitor(0, server.port, sources, Findings())
    indexed = first.ask("POST", f"/rag/index/{first.create(tree, 'folder')}")
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    watcher = multiprocessing.get_context("spawn").Process(
        target=watch_health, args=(server.port, theirs)
    )
    watcher.start()
    theirs.close()  # so that a watcher that has died is the end of what comes from it
    ends = time.monotonic() + seconds
    steps = [search] * SEARCHERS + [edit] * EDITORS + [index] * INDEXERS

    def keep_on(step: Callable[[Visitor], None], number: int) -> None:
        visitor = Visitor(number, server.port, sources, findings)
        while time.monotonic() < ends:
            try:
                step(visitor)
            except (httpx.TransportError, KeyError, TypeError, ValueError) as error:
                findings.fail(f"no answer, or one of another form: {error!r}")

    threads = [
        threading.Thread(target=keep_on, args=(step, number))
        for number, step in enumerate(steps, start=1)
    ]
    for thread in threads:
        thread.start()
    memory = []
    while time.monotonic() < ends:
        memory.append(resident_mb(server.process.pid))
        time.sleep(MEMORY_PAUSE_SECONDS)
    for thread in threads:
        thread.join()
    try:
        ours.send("stop")
        health = spread(ours.recv())
    except (EOFError, OSError):
        sys.exit("/health/live did not answer: see above what it was.")
    watcher.join()
    return report(findings, indexed, health, memory)


def report(
    findings: Findings,
    indexed: dict[str, Any],
    health: dict[str, float],
    memory: Sequence[dict[str, float]],
) -> dict[str, Any]:
    """The figures, and whether they are as they must be."""
    total = by_period([sum(sample.values()) for sample in memory])
    server_errors = sum(count for status, count in findings.statuses.items() if status >= 500)
    growth = round(total[-1] / total[2], 3)
    return {
        "clients": {"search": SEARCHERS, "items": EDITORS, "index": INDEXERS},
        "chunks_at_the_start": indexed.get("chunks_indexed"),
        "requests": {name: spread(values) for name, values in findings.milliseconds.items()},
        "statuses": dict(sorted(findings.statuses.items())),
        "failures": len(findings.failures),
        "first_failures": findings.failures[:SHOWN_FAILURES],
        "health_live": health,
        "memory_mb_by_tenth": {
            "total": total,
            **{name: by_period([sample[name] for sample in memory]) for name in memory[0]},
        },
        "memory_growth": growth,
        "holds": {
            "no server error": server_errors == 0,
            "every answer as expected": not findings.failures,
            "memory is flat": growth <= MOST_GROWTH,
            "health within 50 ms at p99": health["p99_ms"] <= MOST_P99_MS,
        },
    }


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def verified(data_dir: Path) -> bool:
    """Whether `groundwork verify` finds nothing."""
    command = [str(Path(sys.executable).with_name("groundwork")), "verify", "--json"]
    environment = {**os.environ, "DATA_DIR": str(data_dir)}
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def main() -> None:
    """Run it, print what was found, and end with 1 if that is not good."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="how long (default: 600)")
    parser.add_argument("--tree", type=Path, help="documents to search, instead of made-up ones")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundwork-load-") as folder:
        sources, data_dir = Path(folder, "sources"), Path(folder, "data")
        make_sources(sources)
        tree = (options.tree or sources / "base").absolute()
        settings = {"DISABLE_AUTO_INDEXING": "true", "SOURCE_ROOTS": f"{sources},{tree}"}
        with serving(data_dir, sources, free_port(), **settings) as server:
            found = run(server, sources, tree, options.seconds)
        found["holds"]["stopped in order"] = server.process.returncode == 0
        found["holds"]["verified"] = verified(data_dir)
    print(json.dumps({"seconds": options.seconds, **found}, indent=2))
    sys.exit(not all(found["holds"].values()))


if __name__ == "__main__":
    main()
