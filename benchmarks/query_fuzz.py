"""Asks thousands of nasty questions over HTTP: whatever is asked, the service must not fail.

    python -m benchmarks.query_fuzz                               # a service of its own, fake model
    python -m benchmarks.query_fuzz --url http://127.0.0.1:8000   # one that runs

The same seed asks the same questions. Ends with 1 if any answer was a 5xx or none came.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from fastapi.testclient import TestClient

from app.container import Container
from app.main import create_app
from app.settings import Settings
from tests.fakes import FakeEmbedder

QUERIES = 20_000
SEED = 20_251
LONGEST_QUERY = 8_000
"""Characters that the API takes; some questions are a little longer."""
LONGEST_ADDRESS = 4_000
"""Characters of a question that is asked in the address: each may become twelve there."""
SHOWN_FAILURES = 10

MODES = ("hybrid", "dense", "lexical")

PLAIN = ["how", "to", "configure", "database", "e-mail", "getUserName", "C++", ".NET", "3.14", "v2"]
SIGNS = list(
    "\"'`-+*?~^!|&()[]{}<>:;,./\\=#@$%_ \t\n\r\0\x1b\x7f\u2028\ufeff\ufffe\u201c\u201d\u201e"
)
WORLD = [
    "\u202eright to left\u202c", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627",
    "\u6771\u4eac\u90fd\u306b\u4f4f\u3080", "\ud55c\uad6d\uc5b4",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\U0001f98a",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "a" + "\u0301" * 60,
    "\u0130\u0131\u00df\ufb03\u1e9e", "\u00ad", "\u200d\u200c", "\ud800", "\udfff\ud800",
    "\U0010ffff",
]  # fmt: skip
FRAGMENTS = [
    "'; DROP TABLE chunks; --", "' OR '1'='1", "1; SELECT pg_sleep(10)", "UNION SELECT NULL",
    "%s%n%d", "title:", "body:foo AND", "NOT", "a AND OR b", "field:[* TO *]", "{a TO z]", "foo~2",
    "foo^1e999", "+must -not", '"phrase"~3', '"open', "\u201ccurly\u201d", '-"excluded words"',
    "-x", "--flag", "- ", "/(a+)+$/", "(?=.*", "[[:alpha:]]", ".*", "\\u0000", "\\", "IN [a b]",
    "*:*", "<script>", "../../etc", "{{7*7}}", "${x}", "NaN", "null", "true", "1e309", "-0",
    "9" * 400, "_" * 70, "a" * 70, "aB" * 40, "x1" * 40, "a-b-" * 40, "a.b." * 40, "MATCH",
    "NEAR(a b)", "c++ c# .net", "1,000,000.00", "=" * 5,
    "pep \U00011f52 5", "adr-\U00010d40", '"uvicorn --reload"', "-w " * 30,
]  # fmt: skip
Client = httpx.Client | TestClient

GLUE = ["", " ", " ", " ", "\n", "-", '"', " -", ".", "_"]


def nasty_query(chance: random.Random) -> str:
    """A question that nobody would ask kindly."""
    kind = chance.random()
    if kind < 0.05:
        return "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randrange(1, 60)))
    if kind < 0.08:
        piece = chance.choice([*SIGNS, *WORLD, *FRAGMENTS, "a ", '"a" ', "-a "])
        return (piece * LONGEST_QUERY)[: LONGEST_QUERY + chance.choice([0, 0, 0, 1])]
    pieces = []
    for _ in range(400 if kind < 0.1 else chance.randrange(1, 12)):
        pieces.append(chance.choice(chance.choice([PLAIN, SIGNS, WORLD, FRAGMENTS])))
        pieces.append(chance.choice(GLUE))
    return "".join(pieces)[:LONGEST_QUERY]


def nasty_body(chance: random.Random) -> dict[str, Any]:
    """The question with a mode and now and then filters and options, not always allowed ones."""
    body: dict[str, Any] = {"query": nasty_query(chance), "mode": chance.choice(MODES)}
    if chance.random() < 0.5:
        return body
    text = nasty_query(chance)[: chance.choice([3, 30, 500])]
    date = chance.choice(
        ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2024-02-30", text]
    )
    options: dict[str, Any] = {
        "n_results": chance.choice([1, 5, 100, 0, 1.5, 10**30]),
        "fusion": chance.choice(["coverage", "convex", "rrf", text]),
        "dense_depth": chance.choice([1, 1000, -1]),
        "lexical_depth": chance.choice([1, 1000, 1001]),
        "category": text,
        "tags": chance.choice([text, [text], [text] * 50]),
        "tags_match": chance.choice(["any", "all"]),
        "knowledge_ids": chance.choice([[], [1], [2**62], [2**64], list(range(1, 2000))]),
        "collection": text,
        "chunk_types": chance.choice([["text"], ["code", "table"], [text], ["list"] * 21]),
        "profile": chance.choice(["default", "code", "varied", text]),
        "ranking": nasty_ranking(chance, text),
        "document_types": chance.choice([["markdown"], ["folder"], [text]]),
        "paths": chance.choice([[text], ["**/*"], ["*" + "?*" * 200], ["[" * 500, "**/" * 166]]),
        "languages": [text],
        "licence_policy": chance.choice(["permissive", "any"]),
        "indexed_after": date,
        "indexed_before": date,
        "min_score": chance.choice([0, 0.3, 1, 1e-320, float("nan"), float("inf"), -0.0]),
        "context_chunks": chance.choice([0, 5, 6]),
        "group_by": chance.choice(["document", None]),
        "highlight": chance.choice([True, False]),
        "explain": chance.choice([True, False]),
    }  # fmt: skip
    for name in chance.sample(sorted(options), chance.randrange(1, 4)):
        body[name] = options[name]
    return body


def nasty_ranking(chance: random.Random, text: str) -> dict[str, Any]:
    """Some fields of a ranking, mostly within their bounds."""
    numbers = [0, 0.3, 1, 10, 1, 0.5, 1e-320, 10.1, -0.0, float("nan"), 10**400, "1", True]
    options: dict[str, Any] = {
        "fused_weight": chance.choice(numbers),
        "cosine_weight": chance.choice(numbers),
        "recency_weight": chance.choice(numbers),
        "recency_half_life_days": chance.choice([0.01, 1, 36_500, 0, 1e308]),
        "importance_weight": chance.choice(numbers),
        "completeness_weight": chance.choice(numbers),
        "tag_boosts": chance.choice([{text: 2}, [text], {}, {"a": 0.1, "b": 10}, {"a": 11}]),
        "category_boosts": chance.choice([{text: 2}, [text], {"/": 2}, {"a" * 501: 2}]),
        "language_boosts": chance.choice([{text: 2}, ["en"], {"en": float("inf")}]),
        "diversity": chance.choice([0, 0.2, 1, 1.1]),
        "feedback_weight": chance.choice(numbers),
        "feedback_results": chance.choice([1, 20, 21, 1.0]),
        "expand": chance.choice([True, True, False, 1]),
        "least_share": chance.choice([0, 0.5, 1, 2]),
        text: 1,
    }
    return {name: options[name] for name in chance.sample(list(options), chance.randrange(1, 4))}


@dataclass
class Report:
    """What came back."""

    statuses: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest_ms: float = 0.0
    slowest: str = ""

    def note(self, what: str, status: str, milliseconds: float, *, failed: bool) -> None:
        """Count an answer."""
        self.statuses[status] += 1
        if failed:
            self.failures.append(f"{status}: {what[:2000]}")
        if milliseconds > self.slowest_ms:
            self.slowest_ms, self.slowest = milliseconds, what[:200]


def ask(client: Client, chance: random.Random) -> tuple[str, int]:
    """One question, by one of the ways to ask: what was sent, and the status of the answer."""
    body, way = nasty_body(chance), chance.random()
    if way < 0.2 and len(body["query"]) < LONGEST_ADDRESS:
        wanted = {"q": body["query"], "mode": body["mode"]}
        query = urlencode(wanted, errors="surrogatepass")
        return query, client.get(f"/api/v1/rag/search?{query}").status_code
    path = "search"
    if way < 0.3:
        kept = ("query", "profile", "ranking", "chunk_types")
        path, body = "context", {name: body[name] for name in kept if name in body}
    content = json.dumps(body)  # half characters as escapes, NaN as NaN
    headers = {"Content-Type": "application/json"}
    response = client.post(f"/api/v1/rag/{path}", content=content, headers=headers)
    return content, response.status_code


def fuzz(client: Client, queries: int, seed: int) -> Report:
    """Ask so many questions, one after the other."""
    chance, report = random.Random(seed), Report()  # noqa: S311, nothing secret
    for number in range(queries):
        started = time.perf_counter()
        try:
            what, status = ask(client, chance)
        except httpx.TransportError as error:
            report.note(f"question {number}", f"no answer ({error!r})", 0.0, failed=True)
            continue
        milliseconds = (time.perf_counter() - started) * 1000
        report.note(what, str(status), milliseconds, failed=status >= 500)
    return report


@contextmanager
def own_service() -> Iterator[TestClient]:
    """A service in a folder that goes away, on a model without weights, with our own documents."""
    documents = Path(__file__).resolve().parents[1] / "docs"
    with tempfile.TemporaryDirectory(prefix="groundwork-fuzz-") as folder:
        odd = Path(folder) / "odd.md"
        odd.write_text(" ".join(WORLD + FRAGMENTS), encoding="utf-8", errors="replace")
        settings = Settings(
            _env_file=None,
            data_dir=Path(folder) / "data",
            source_roots=[documents, Path(folder)],
            vector_index="exact",
            log_level="ERROR",
        )
        container = Container.open(settings, embedder=FakeEmbedder())
        app = create_app(container=container)
        with TestClient(app, raise_server_exceptions=False) as client:
            for uri, kind in ((documents, "folder"), (odd, "markdown")):
                item = {"title": "Docs", "uri": str(uri), "document_type": kind, "licence": "MIT"}
                item_id = client.post("/api/v1/knowledge", json=item).json()["id"]
                client.post(f"/api/v1/rag/index/{item_id}").raise_for_status()
            yield client
        container.close()


def main() -> int:
    """Ask, and print the counts as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", help="of a running service; left out: a service of its own")
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args()
    started = time.perf_counter()
    with httpx.Client(base_url=chosen.url, timeout=60) if chosen.url else own_service() as client:
        report = fuzz(client, chosen.queries, chosen.seed)
    answer = {
        "queries": chosen.queries,
        "seed": chosen.seed,
        "statuses": dict(sorted(report.statuses.items())),
        "seconds": round(time.perf_counter() - started, 1),
        "slowest_ms": round(report.slowest_ms, 1),
        "slowest": report.slowest,
        "failures": report.failures[:SHOWN_FAILURES],
    }
    print(json.dumps(answer, indent=2))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
