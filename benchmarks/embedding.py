"""Measures the local embedder against SentenceTransformer.encode, in turns, on the same real texts.

`python benchmarks/embedding.py FOLDER [--chunks 256] [--rounds 3] [--models-dir DIR] [--json]`.
Rounds alternate which side goes first, so that whatever else the machine does meets both.
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.model_files import find_model
from app.protocols import TokenMeter, Vectors

MODEL = "all-MiniLM-L6-v2"
PIECE_CHARACTERS = 1000
SUFFIXES = (".rst", ".md", ".txt")
QUERIES = (
    "How do I read a file?",
    "type hints for asynchronous generators",
    "what is the walrus operator for",
    "GIL",
)


@dataclass(frozen=True)
class Latency:
    """Milliseconds of one query."""

    p50_ms: float
    p95_ms: float


@dataclass(frozen=True)
class Report:
    """What was measured; throughputs are chunks a second, one for each round."""

    chunks: int
    mean_tokens: float
    precision: str
    open_seconds: float
    reference: list[float]
    local: list[float]
    ratios: list[float]
    median_ratio: float
    mean_cosine: float
    min_cosine: float
    query_idle: Latency
    query_under_load: Latency


def read_chunks(folder: Path, meter: TokenMeter, count: int) -> list[str]:
    """Pieces of about 1,000 characters that fit the model's window, spread over the files."""
    pieces = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES:
            text = path.read_text("utf-8", "replace")
            starts = range(0, len(text) - PIECE_CHARACTERS, PIECE_CHARACTERS)
            pieces += [text[start : start + PIECE_CHARACTERS] for start in starts]
    step = max(len(pieces) // (4 * count), 1)  # more than half of them do not fit the window
    fitting = (piece for piece in pieces[::step] if 200 < meter.count(piece) <= meter.max_tokens)
    return [piece for piece, _ in zip(fitting, range(count), strict=False)]


def timed(embed: Callable[[list[str]], Vectors], texts: list[str]) -> tuple[float, Vectors]:
    """Chunks a second, and the vectors."""
    start = time.perf_counter()
    vectors = embed(texts)
    return len(texts) / (time.perf_counter() - start), vectors


def query_latency(embedder: LocalEmbedder, count: int, pause_seconds: float) -> Latency:
    """Time single queries, one after the other."""
    times = []
    for number in range(count):
        start = time.perf_counter()
        embedder.embed_query(QUERIES[number % len(QUERIES)])
        times.append((time.perf_counter() - start) * 1000)
        time.sleep(pause_seconds)
    return Latency(float(np.percentile(times, 50)), float(np.percentile(times, 95)))


def query_latency_under_load(embedder: LocalEmbedder, texts: list[str]) -> Latency:
    """Time single queries while documents are embedded without a break."""
    stop = threading.Event()

    def load() -> None:
        while not stop.is_set():
            embedder.embed_documents(texts)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        time.sleep(0.5)
        return query_latency(embedder, 200, 0.01)
    finally:
        stop.set()
        thread.join()


def measure(folder: Path, models_dir: Path, count: int, rounds: int) -> Report:
    """Run everything."""
    LocalEmbedder.open(MODEL, models_dir).close()  # converts, if this directory is new
    start = time.perf_counter()
    embedder = LocalEmbedder.open(MODEL, models_dir)
    open_seconds = time.perf_counter() - start
    reference = SentenceTransformer(str(find_model(MODEL).folder), device="cpu")
    texts = read_chunks(folder, embedder.token_meter, count)
    if not texts:
        raise SystemExit(f"{folder} holds no {', '.join(SUFFIXES)} files with enough text")
    sides: dict[str, Callable[[list[str]], Vectors]] = {
        "reference": lambda batch: np.asarray(reference.encode(batch, normalize_embeddings=True)),
        "local": embedder.embed_documents,
    }
    for embed in sides.values():
        embed(texts[:32])
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    vectors: dict[str, Vectors] = {}
    for number in range(rounds):
        for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
            speed, vectors[name] = timed(sides[name], texts)
            speeds[name].append(speed)
    ratios = [
        ours / theirs for ours, theirs in zip(speeds["local"], speeds["reference"], strict=True)
    ]
    cosines = (vectors["local"] * vectors["reference"]).sum(axis=1)
    report = Report(
        chunks=len(texts),
        mean_tokens=statistics.mean(embedder.token_meter.count(text) + 2 for text in texts),
        precision=f"{embedder.precision}, {embedder.matrices} matrices",
        open_seconds=open_seconds,
        reference=speeds["reference"],
        local=speeds["local"],
        ratios=ratios,
        median_ratio=statistics.median(ratios),
        mean_cosine=float(cosines.mean()),
        min_cosine=float(cosines.min()),
        query_idle=query_latency(embedder, 200, 0.0),
        query_under_load=query_latency_under_load(embedder, texts),
    )
    embedder.close()
    return report


def print_report(report: Report) -> None:
    """For people."""
    print(f"{report.chunks} chunks of {report.mean_tokens:.0f} tokens, {report.precision}")
    print("round  encode/s  local/s  ratio")
    rows = zip(report.reference, report.local, report.ratios, strict=True)
    for number, (theirs, ours, ratio) in enumerate(rows, start=1):
        print(f"{number:5}  {theirs:8.1f}  {ours:7.1f}  {ratio:5.2f}")
    print(f"median ratio {report.median_ratio:.2f}")
    print(f"cosine: mean {report.mean_cosine:.5f}, lowest {report.min_cosine:.5f}")
    print(f"opening a converted model: {report.open_seconds:.2f} s")
    for name, latency in (("idle", report.query_idle), ("under load", report.query_under_load)):
        print(f"query, {name}: p50 {latency.p50_ms:.1f} ms, p95 {latency.p95_ms:.1f} ms")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a folder of text files, read recursively")
    parser.add_argument("--chunks", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models-dir", type=Path, help="keeps the converted model between runs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        models_dir = options.models_dir or Path(temporary)
        report = measure(options.folder, models_dir, options.chunks, options.rounds)
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        print_report(report)


if __name__ == "__main__":
    main()
