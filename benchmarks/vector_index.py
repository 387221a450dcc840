"""Measures the vector indexes: search latency, recall, and how long a write stops other threads.

Run as `python benchmarks/vector_index.py [--vectors N] [--json]`; 20,000 vectors take a minute.
"""

import argparse
import json
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from app.adapters.vector_index.chroma_process import ChromaProcessIndex
from app.adapters.vector_index.exact import ExactVectorIndex
from app.protocols import EVERYWHERE, SearchScope, VectorRecord, Vectors

DIMENSION = 384
CHUNKS_PER_ITEM = 50


@dataclass(frozen=True)
class Measurement:
    """Times in milliseconds, except `upsert_per_second`; gaps are waits of another thread."""

    index: str
    vectors: int
    upsert_per_second: float
    gap_p50: float
    gap_p99: float
    gap_max: float
    search_p50: float
    search_p95: float
    search_128_p50: float
    scoped_p50: float | None
    recall_at_10: float


class Ticker:
    """A thread that wants to run every millisecond, and notes how late it was."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._gaps: list[float] = []
        self._thread = threading.Thread(target=self._tick)

    def _tick(self) -> None:
        last = time.perf_counter()
        while not self._stop.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            self._gaps.append(1000 * (now - last) - 1)
            last = now

    def __enter__(self) -> "Ticker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def percentile(self, percent: float) -> float:
        """The lateness in milliseconds that `percent` of the ticks stayed below."""
        return round(float(np.percentile(self._gaps, percent)), 2)


def clustered_vectors(count: int, queries: int) -> tuple[Vectors, Vectors]:
    """Unit vectors in nested clusters of low inner dimension, as embeddings of documents are."""
    random = np.random.default_rng(0)
    clusters = max(20, count // 100)
    topics = random.normal(size=(40, DIMENSION))
    centres = topics[random.integers(40, size=clusters)]
    centres = centres + 0.8 * random.normal(size=centres.shape)
    directions = random.normal(size=(40, DIMENSION)) / np.sqrt(40)

    def draw(number: int) -> Vectors:
        drawn = centres[random.integers(clusters, size=number)]
        drawn = drawn + 0.9 * (random.normal(size=(number, 40)) @ directions)
        drawn = drawn + 0.35 * random.normal(size=drawn.shape)
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        return np.asarray(drawn, dtype=np.float32)

    return draw(count), draw(queries)


def records_of(vectors: Vectors) -> list[VectorRecord]:
    """Records with the metadata that chunks have."""
    return [
        VectorRecord(
            f"{number:032x}",
            number // CHUNKS_PER_ITEM,
            number // CHUNKS_PER_ITEM,
            vector,
            {
                "title": "Getting started",
                "uri": "/documents/guide/start.md",
                "document_type": "folder",
                "category": "Engineering/Guides",
                "tags": ["guide", "start"],
                "chunk_index": number % CHUNKS_PER_ITEM,
                "start_index": 800 * (number % CHUNKS_PER_ITEM),
                "indexed_at": "2026-11-20T10:00:00+00:00",
                "fetched_at": "2026-11-20T10:00:00+00:00",
            },
        )
        for number, vector in enumerate(vectors)
    ]


Index = ExactVectorIndex | ChromaProcessIndex


def milliseconds(
    index: Index, queries: Vectors, limit: int, scope: SearchScope = EVERYWHERE
) -> list[float]:
    """How long each search took; only the exact index knows scopes."""
    times = []
    for query in queries:
        start = time.perf_counter()
        if isinstance(index, ExactVectorIndex):
            index.search(query, limit, scope)
        else:
            index.search(query, limit)
        times.append(1000 * (time.perf_counter() - start))
    return times


def measure(
    name: str, index: Index, vectors: Vectors, queries: Vectors, oracle: ExactVectorIndex
) -> Measurement:
    """Fill the index, then search it."""
    records = records_of(vectors)
    with Ticker() as ticker:
        start = time.perf_counter()
        for first in range(0, len(records), 256):
            index.upsert(records[first : first + 256])
        seconds = time.perf_counter() - start
    times = milliseconds(index, queries, 10)
    found = 0
    for query in queries:
        best = {hit.chunk_id for hit in oracle.search(query, 10)}
        found += len(best & {hit.chunk_id for hit in index.search(query, 10)})
    return Measurement(
        index=name,
        vectors=len(records),
        upsert_per_second=round(len(records) / seconds),
        gap_p50=ticker.percentile(50),
        gap_p99=ticker.percentile(99),
        gap_max=ticker.percentile(100),
        search_p50=round(float(np.percentile(times, 50)), 2),
        search_p95=round(float(np.percentile(times, 95)), 2),
        search_128_p50=round(float(np.median(milliseconds(index, queries, 128))), 2),
        scoped_p50=_scoped_p50(index, queries),
        recall_at_10=round(found / (10 * len(queries)), 4),
    )


def _scoped_p50(index: Index, queries: Vectors) -> float | None:
    """Of searches in three items; the index on disk is never asked such a thing."""
    if not isinstance(index, ExactVectorIndex):
        return None
    scope = SearchScope(item_ids=(1, 2, 3))
    return round(float(np.median(milliseconds(index, queries, 10, scope))), 2)


def main() -> None:
    """Measure both indexes, and opening the one on disk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    vectors, queries = clustered_vectors(arguments.vectors, arguments.queries)
    exact = ExactVectorIndex(DIMENSION)
    measured = [measure("exact", exact, vectors, queries, exact)]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        chroma = ChromaProcessIndex.start(directory, "benchmark", DIMENSION, anew=True)
        measured.append(measure("chroma", chroma, vectors, queries, exact))
        chroma.close()
        start = time.perf_counter()
        ChromaProcessIndex.start(directory, "benchmark", DIMENSION).close()
        open_seconds = round(time.perf_counter() - start, 2)
    result = {
        "measurements": [asdict(measurement) for measurement in measured],
        "open_seconds": open_seconds,
    }
    if arguments.json:
        print(json.dumps(result))
        return
    for measurement in measured:
        print(*(f"{key}={value}" for key, value in asdict(measurement).items()))
    print(f"chroma: opened and closed in {open_seconds} s")


if __name__ == "__main__":
    main()
