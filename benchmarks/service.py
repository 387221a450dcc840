"""The whole service on real documentation trees: throughput, latency, start, memory, answers."""

import sqlite3
import statistics
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.adapters.embedding.local import LocalEmbedder
from app.indexing.documents import sha256_hex
from app.indexing.embedded_text import embedded_text
from benchmarks.latency import spread
from benchmarks.questions import QUESTIONS, Question
from benchmarks.server import Client, Server, serving

PORT = 8765
IDLE_SEARCHES = 400
SHARE_ROUNDS = 3
"""How often the pipeline and the model alone take turns."""

EMBEDDED_AT_ONCE = 192
"""As many chunks as the pipeline embeds together."""

PAUSE_SECONDS = 0.05
"""Between two calls of a client that watches the service while it is busy."""


def unpack(data: Path, target: Path) -> dict[str, Path]:
    """The two trees, unpacked."""
    trees = {}
    for name in ("docs_fastapi", "docs_peps"):
        with tarfile.open(data / f"{name}.tar.gz") as archive:
            archive.extractall(target, filter="data")
        trees[name] = target / name
    return trees


class Watch(threading.Thread):
    """Calls one address again and again while something else goes on."""

    def __init__(self, client: Client, paths: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self.milliseconds: list[float] = []
        self._fault: Exception | None = None
        self._client = client
        self._paths = paths
        self._done = threading.Event()

    def run(self) -> None:
        """Call until told to stop, or until a call fails."""
        while not self._done.is_set():
            path = self._paths[len(self.milliseconds) % len(self._paths)]
            try:
                self.milliseconds.append(self._client.timed_ms("GET", path))
            except (RuntimeError, OSError) as error:
                self._fault = error
                return
            time.sleep(PAUSE_SECONDS)

    def finish(self) -> dict[str, float]:
        """Stop and sum up; raises what a call failed with."""
        self._done.set()
        self.join()
        if self._fault is not None:
            raise self._fault
        return spread(self.milliseconds)


def search_paths() -> list[str]:
    """Addresses of searches, each question often and always in other words: none is cached."""
    return [
        f"/api/v1/rag/search?q={quote(f'{question.text} {number}')}"
        for number in range(1000)
        for question in QUESTIONS
    ]


def add_folder(client: Client, tree: Path) -> int:
    """Create an item of a tree; its id."""
    body = {"title": tree.name, "uri": str(tree), "document_type": "folder"}
    return int(client.call("POST", "/api/v1/knowledge", body)["id"])


def index_alone(server: Server, item: int) -> dict[str, Any]:
    """Index an item while nobody else asks for anything."""
    result = server.client().call("POST", f"/api/v1/rag/index/{item}")
    seconds = result["duration_ms"] / 1000
    return {
        "documents": result["documents"],
        "chunks": result["chunks_indexed"],
        "embedded": result["chunks_embedded"],
        "seconds": round(seconds, 1),
        "chunks_per_second": round(result["chunks_embedded"] / seconds, 1),
        "skipped": result["skipped"],
    }


def index_watched(server: Server, item: int) -> dict[str, Any]:
    """Index an item while one client searches and another asks for the health."""
    searches = Watch(server.client(), search_paths())
    health = Watch(server.client(), ["/health/live"])
    searches.start()
    health.start()
    report = index_alone(server, item)
    return {
        **report,
        "search_meanwhile": searches.finish(),
        "health_meanwhile": health.finish(),
    }


def measure_share(folder: Path, tree: Path, models: Path) -> dict[str, Any]:
    """What the pipeline keeps of the model's throughput, in turns: the machine's speed drifts.

    Each round indexes the tree into an empty data directory; what that took is set beside the mean
    of the model's throughput just before and just after, with the same texts.
    """
    pipeline: list[float] = []
    alone: list[float] = []
    for number in range(SHARE_ROUNDS + 1):
        data_dir = folder / f"share-{number}"
        with serving(data_dir, folder, PORT + 1, MODELS_DIR=str(models)) as server:
            item = add_folder(server.client(), tree)
            pipeline.append(index_alone(server, item)["chunks_per_second"])
            alone.append(embedding_alone(data_dir, models, item))
    around = [statistics.mean(pair) for pair in pairwise(alone)]
    shares = [round(both / model, 2) for both, model in zip(pipeline[1:], around, strict=True)]
    return {
        "pipeline_chunks_per_second": pipeline[1:],
        "embedding_alone_chunks_per_second": alone,
        "pipeline_shares_of_embedding": shares,
        "pipeline_share_of_embedding": statistics.median(shares),
    }


def embedding_alone(data_dir: Path, models: Path, item: int) -> float:
    """Chunks a second when what was embedded of an item only goes through the model again."""
    texts = embedded_texts(data_dir, item)
    embedder = LocalEmbedder.open("all-MiniLM-L6-v2", models)
    embedder.embed_documents(texts[:64])
    started = time.perf_counter()
    for start in range(0, len(texts), EMBEDDED_AT_ONCE):
        embedder.embed_documents(texts[start : start + EMBEDDED_AT_ONCE])
    seconds = time.perf_counter() - started
    embedder.close()
    return round(len(texts) / seconds, 1)


def embedded_texts(data_dir: Path, item: int) -> list[str]:
    """What the pipeline gave to the model: the chunks, each with its line of context."""
    with closing(sqlite3.connect(data_dir / "groundwork.db")) as database:
        rows = database.execute(
            "SELECT text_hash, context, content FROM chunks WHERE item_id = ?", (item,)
        )
        texts = {text_hash: embedded_text(*parts) for text_hash, *parts in rows}
    if any(sha256_hex(text) != text_hash for text_hash, text in texts.items()):
        sys.exit("The texts in the database are not those that were embedded.")
    return list(texts.values())


def answer_check(client: Client, question: Question) -> dict[str, Any]:
    """Where the page that answers stands among the first five, and a chunk with the words."""
    hits = [
        (rank, hit, question.words in hit["content"])
        for rank, hit in enumerate(client.search(question.text)["results"], start=1)
        if hit["document_uri"].endswith(question.pages)
    ]
    return {
        "question": question.text,
        "page_rank": next((rank for rank, _, _ in hits), None),
        "rank": next((rank for rank, _, has_words in hits if has_words), None),
        "lines_right": bool(hits) and all(_has_right_lines(hit) for _, hit, _ in hits),
        "citations": [hit["citation"] for _, hit, _ in hits],
    }


def _has_right_lines(hit: dict[str, Any]) -> bool:
    text = Path(hit["document_uri"]).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)[hit["start_line"] - 1 : hit["end_line"]]
    return hit["content"].strip() in "".join(lines)


def measure_changes(client: Client, item: int, tree: Path) -> dict[str, Any]:
    """Index an unchanged tree, one changed file, one deleted file."""
    path = f"/api/v1/rag/index/{item}"
    unchanged = [client.call("POST", path) for _ in range(5)]
    page = next(iter(sorted(tree.rglob("pep-0008.rst"))))
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("79 characters", "79 glyphs", 1), encoding="utf-8")
    changed = client.call("POST", path)
    page.unlink()
    client.call("POST", path)
    history = client.call("GET", f"/api/v1/knowledge/{item}/history")["items"]
    still_there = any(
        hit["document_uri"] == str(page)
        for hit in client.search("maximum line length", 100)["results"]
    )
    page.write_text(text, encoding="utf-8")
    client.call("POST", path)
    return {
        "unchanged_seconds": [round(r["duration_ms"] / 1000, 3) for r in unchanged],
        "unchanged_embedded": sum(r["chunks_embedded"] for r in unchanged),
        "one_file_changed": {
            "embedded": changed["chunks_embedded"],
            "added": changed["chunks_added"],
            "removed": changed["chunks_removed"],
        },
        "one_file_deleted": {
            "removed": _chunks_that_went_with(history, str(page.relative_to(tree))),
            "still_found": still_there,
        },
    }


def _chunks_that_went_with(history: Sequence[dict[str, Any]], document: str) -> int:
    # The watch of the folder may come before the call that indexes: only the history has both.
    return sum(run["chunks_removed"] for run in history if document in run["removed"])


def measure(data: Path) -> dict[str, Any]:
    """All figures."""
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="groundwork-bench-") as folder:
        trees = unpack(data, Path(folder) / "trees")
        data_dir = Path(folder) / "data"
        with serving(data_dir, Path(folder), PORT) as server:
            report["first_start_seconds"] = round(server.seconds_to_ready, 1)
            client = server.client()
            items = {name: add_folder(client, tree) for name, tree in trees.items()}
            report["docs_fastapi"] = index_alone(server, items["docs_fastapi"])
            report["docs_peps"] = index_watched(server, items["docs_peps"])
            client = server.client()  # the old connection was idle too long to be kept
            report["answers"] = [answer_check(client, question) for question in QUESTIONS]
            paths = search_paths()
            idle = [client.timed_ms("GET", paths[n % len(paths)]) for n in range(IDLE_SEARCHES)]
            report["search_idle"] = spread(idle)
            report["changes"] = measure_changes(client, items["docs_peps"], trees["docs_peps"])
            report["peak_rss_mb"] = round(server.peak_rss_mb())
            report["peak_rss_mb_chroma"] = round(server.peak_rss_mb_of_children())
        starts = []
        for _ in range(3):
            with serving(data_dir, Path(folder), PORT) as server:
                starts.append(round(server.seconds_to_ready, 2))
                server.client().search("warm")
                report["peak_rss_mb_restarted"] = round(server.peak_rss_mb())
        report["second_start_seconds"] = starts
        report |= measure_share(Path(folder), trees["docs_fastapi"], data_dir / "models")
    return report
