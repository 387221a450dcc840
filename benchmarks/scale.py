"""Search at scale over HTTP: latency, throughput, filters, recall, deletes and memory.

    python -m benchmarks DATA --only scale [--passages 100000 200000] [--vectors FOLDER]

DATA holds scale_passages and the question sets. The passages are written into SQL in bulk, as
5,000 items at 100,000 passages; the service then builds its indexes from there. Vectors come from
FOLDER (`*.npy` in the order of the passages) or are embedded first, at the speed of the model.
"""

import gzip
import hashlib
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import insert

from app.adapters.embedding.local import LocalEmbedder
from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.query import parse_query
from app.assembly.generation_parts import splitter_of_settings
from app.clock import now
from app.database import Database
from app.generations.queries import add_generation, make_current
from app.indexing.documents import document_number
from app.indexing.generation import splitting_rules
from app.models import (
    ChunkRow,
    CollectionRow,
    DocumentRow,
    EmbeddingRow,
    GenerationDocumentRow,
    ItemRow,
    TagRow,
)
from app.settings import Settings
from benchmarks.latency import spread, under_load
from benchmarks.server import Client, serving

PORT = 8766
PASSAGES_PER_ITEM = 20
ITEMS_AT_ONCE = 250
CLIENTS = 8
SEARCHES = 500
FILTERED_SEARCHES = 200
SECONDS_OF_LOAD = 15.0
SHARES = {"half": 2, "tenth": 10, "hundredth": 100, "thousandth": 1000}
"""Tags, and of how many items each one carries it."""
RESULTS = 10
ANALYSER = Analyser()

Vectors = npt.NDArray[np.float32]


def passages(data: Path, count: int) -> list[str]:
    """The texts of the first passages."""
    with gzip.open(data / "scale_passages" / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in islice(file, count)]


def questions(data: Path) -> list[str]:
    """Real questions of three sets, no question twice."""
    texts: dict[str, None] = {}
    for name in ("code_search", "scifact", "cranfield"):
        lines = (data / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        texts.update(dict.fromkeys(json.loads(line)["text"] for line in lines))
    return list(texts)


def stored_vectors(folder: Path, count: int) -> Vectors:
    """Precomputed vectors of unit length; shape (count, dimension).

    Kept in 16 bits, some are too long or too short to pass for sound ones.
    """
    parts = [np.load(path) for path in sorted(folder.glob("*.npy"))]
    vectors = np.concatenate(parts).astype(np.float32)[:count]
    if len(vectors) < count:
        sys.exit(f"{folder} holds {len(vectors)} vectors, not {count}.")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def fill(
    database: Database, texts: Sequence[str], vectors: Vectors, embedder: LocalEmbedder
) -> None:
    """Write everything that indexing would have written."""
    with database.write() as session:
        session.add(
            CollectionRow(
                name="knowledge_base",
                embedding_model="all-MiniLM-L6-v2",
                embedding_fingerprint=embedder.fingerprint,
                dimension=vectors.shape[1],
            )
        )
        rules = splitting_rules(splitter_of_settings(Settings(), embedder))
        generation = add_generation(session, embedder, "local", rules).generation
        make_current(session, generation.id)
    seen: set[str] = set()
    items = range(1, -(-len(texts) // PASSAGES_PER_ITEM) + 1)
    for first in range(0, len(items), ITEMS_AT_ONCE):
        some = items[first : first + ITEMS_AT_ONCE]
        rows = [row for item in some for row in _chunk_rows(item, texts)]
        fresh = {row["text_hash"]: row.pop("place") for row in reversed(rows)}
        with database.write() as session:
            session.execute(insert(ItemRow), [_item_row(item) for item in some])
            session.execute(insert(TagRow), [row for item in some for row in _tag_rows(item)])
            session.execute(insert(DocumentRow), [_document_row(item, texts) for item in some])
            session.execute(
                insert(GenerationDocumentRow),
                [
                    {"generation_id": generation.id, "document_id": item, "splitter": rules}
                    for item in some
                ],
            )
            session.execute(insert(ChunkRow), rows)
            session.execute(
                insert(EmbeddingRow),
                [
                    {
                        "text_hash": key,
                        "fingerprint": embedder.fingerprint,
                        "vector": vectors[n].tobytes(),
                    }
                    for key, n in fresh.items()
                    if key not in seen
                ],
            )
        seen.update(fresh)


def _of_item(item: int, texts: Sequence[str]) -> range:
    start = (item - 1) * PASSAGES_PER_ITEM
    return range(start, min(start + PASSAGES_PER_ITEM, len(texts)))


def _item_row(item: int) -> dict[str, Any]:
    return {
        "id": item, "title": f"Page {item}", "uri": f"https://example.org/{item}",
        "document_type": "website", "collection": "knowledge_base", "status": "active",
        "indexed_at": now(),
    }  # fmt: skip


def _tag_rows(item: int) -> Iterator[dict[str, Any]]:
    yield {"item_id": item, "tag": "all", "position": 0}
    for position, (tag, share) in enumerate(SHARES.items(), start=1):
        if item % share == 0:
            yield {"item_id": item, "tag": tag, "position": position}


def _document_row(item: int, texts: Sequence[str]) -> dict[str, Any]:
    key = f"https://example.org/{item}"
    content = "\n".join(texts[place] for place in _of_item(item, texts))
    return {
        "id": item, "item_id": item, "key": key, "number": document_number(item, key),
        "document_id": key, "uri": key, "title": f"Page {item}", "tags": [],
        "content_hash": hashlib.sha256(content.encode()).hexdigest(),
        "first_line": 1, "fetched_at": now(), "indexed_at": now(), "content": content,
    }  # fmt: skip


def _chunk_rows(item: int, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    start, line = 0, 1
    for index, place in enumerate(_of_item(item, texts)):
        text = texts[place]
        yield {
            "id": hashlib.sha256(f"{item} {place}".encode()).hexdigest()[:32],
            "item_id": item, "document_id": item, "chunk_index": index,
            "start_index": start, "end_index": start + len(text),
            "start_line": line, "end_line": line + text.count("\n"), "heading_path": [],
            "text_hash": hashlib.sha256(text.encode()).hexdigest(), "content": text,
            "place": place,
        }  # fmt: skip
        start, line = start + len(text) + 1, line + text.count("\n") + 1


def wait_until_sound(client: Client) -> float:
    """Seconds until no index is degraded."""
    started = time.perf_counter()
    while client.call("GET", "/health/ready")["status"] != "ready":
        time.sleep(0.5)
    return round(time.perf_counter() - started, 1)


class Asker:
    """Asks questions that were not asked before, so that no vector of a query is cached."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._asked = 0
        self._lock = threading.Lock()

    def next(self) -> str:
        """A question; from the second round on with a number behind it."""
        with self._lock:
            turn, place = divmod(self._asked, len(self._texts))
            self._asked += 1
        return f"{self._texts[place]} {turn}" if turn else self._texts[place]


def search(client: Client, question: str, **wishes: object) -> tuple[float, Any]:
    """Milliseconds and the answer."""
    body = {"query": question, "n_results": RESULTS, **wishes}
    started = time.perf_counter()
    answer = client.call("POST", "/api/v1/rag/search", body)
    return (time.perf_counter() - started) * 1000, answer


def recall(
    client: Client, embedder: LocalEmbedder, asker: Asker, vectors: Vectors, tag: str
) -> dict[str, Any]:
    """Latency of hybrid searches under a filter, and recall of dense ones against a full scan."""
    hybrid = [search(client, asker.next(), tags=[tag])[0] for _ in range(FILTERED_SEARCHES)]
    share = SHARES.get(tag, 1)
    places = np.arange(len(vectors))
    allowed = np.flatnonzero((places // PASSAGES_PER_ITEM + 1) % share == 0)
    found = wanted = 0
    for _ in range(FILTERED_SEARCHES // 2):
        question = _without_exclusions(asker)
        scores = vectors[allowed] @ embedder.embed_query(question)
        least = np.sort(scores)[-min(RESULTS, len(scores))]
        _, answer = search(client, question, tags=[tag], mode="dense", highlight=False)
        # By score, not by id: the same passage may stand on several pages.
        found += sum(hit["score"] >= least - 1e-3 for hit in answer["results"])
        wanted += min(RESULTS, len(scores))
    return {**spread(hybrid), "recall": round(float(found / wanted), 4)}


def _without_exclusions(asker: Asker) -> str:
    """The next question that a scan of vectors understands as the service does."""
    while True:
        question = asker.next()
        if not parse_query(question, ANALYSER).excluded:
            return question


def deletes(client: Client, texts: Sequence[str]) -> dict[str, Any]:
    """Delete items of 20 passages; nothing of them may be found when the answer has come."""
    milliseconds, found = [], 0
    last = len(texts) // PASSAGES_PER_ITEM
    for item in range(last, last - 20, -1):
        milliseconds.append(client.timed_ms("DELETE", f"/api/v1/knowledge/{item}"))
        _, answer = search(client, texts[_of_item(item, texts)[0]], n_results=100)
        found += sum(hit["knowledge_id"] == item for hit in answer["results"])
    return {**spread(milliseconds), "still_found": found}


def measure(data: Path, count: int, vectors_folder: Path | None) -> dict[str, Any]:
    """All figures."""
    texts, asker = passages(data, count), Asker(questions(data))
    with tempfile.TemporaryDirectory(prefix="groundwork-scale-") as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir()
        embedder = LocalEmbedder.open("all-MiniLM-L6-v2", data_dir / "models")
        if vectors_folder:
            vectors = stored_vectors(vectors_folder, count)
        else:
            vectors = embedder.embed_documents(texts)
        place_of = {text: place for place, text in reversed(list(enumerate(texts)))}
        vectors = vectors[[place_of[text] for text in texts]]  # equal texts have one vector
        started = time.perf_counter()
        database = Database(f"sqlite:///{data_dir / 'groundwork.db'}")
        database.migrate()
        fill(database, texts, vectors, embedder)
        database.close()
        report: dict[str, Any] = {
            "passages": count,
            "bulk_load_seconds": round(time.perf_counter() - started, 1),
        }
        with serving(data_dir, Path(folder), PORT) as server:
            report["indexes_built_seconds"] = wait_until_sound(server.client())
        with serving(data_dir, Path(folder), PORT) as server:
            client = server.client()
            report["start_seconds"] = round(server.seconds_to_ready, 2)
            report["sound_seconds"] = wait_until_sound(client)
            for _ in range(20):
                search(client, asker.next())
            report["one_client"] = spread(
                [search(client, asker.next())[0] for _ in range(SEARCHES)]
            )
            report["stages_ms"] = stages(client, asker)
            report["clients"] = under_load(
                server,
                lambda client: search(client, asker.next())[0],
                CLIENTS,
                SECONDS_OF_LOAD,
            )
            client = server.client()
            carried = [tag for tag, share in SHARES.items() if share * PASSAGES_PER_ITEM <= count]
            report["filters"] = {
                tag: recall(client, embedder, asker, vectors, tag) for tag in ("all", *carried)
            }
            report["deletes"] = deletes(client, texts)
            report["peak_rss_mb"] = round(server.peak_rss_mb())
            report["peak_rss_mb_chroma"] = round(server.peak_rss_mb_of_children())
        embedder.close()
    return report


def stages(client: Client, asker: Asker) -> dict[str, float]:
    """The median of each stage of a search."""
    timings = [
        search(client, asker.next(), explain=True)[1]["timings_ms"] for _ in range(SEARCHES // 5)
    ]
    return {name: round(float(np.median([t[name] for t in timings])), 2) for name in timings[0]}
