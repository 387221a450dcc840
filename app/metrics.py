"""The Prometheus metrics, on a registry of their own, so that two services never share counts."""

import functools
from collections import defaultdict

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

LATENCY_BUCKETS = (0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
"""Seconds; fine where a search stands (a few milliseconds), coarse where indexing does."""

KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})


class Metrics:
    """Everything that the service counts. Methods are safe from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = functools.partial(Counter, registry=self.registry)
        gauge = functools.partial(Gauge, registry=self.registry)
        seconds = functools.partial(Histogram, buckets=LATENCY_BUCKETS, registry=self.registry)

        self._requests = seconds(
            "groundwork_request_seconds",
            "HTTP requests by method, route and status.",
            ("method", "route", "status"),
        )
        self._searches = seconds(
            "groundwork_search_seconds",
            "Searches by stage: embed (the query), lexical (beside it or after dense), dense, "
            "fuse, join, total.",
            ("stage",),
        )
        self._search_stage = functools.cache(self._searches.labels)  # there are six
        self._embedding = seconds(
            "groundwork_embedding_seconds", "Time to embed one group of chunks."
        )
        self._embedded_chunks = counter(
            "groundwork_embedded_chunks", "Chunks that went through the model."
        )
        self._indexings = counter(
            "groundwork_indexings", "Items indexed, by outcome.", ("outcome",)
        )
        self.jobs_waiting = gauge("groundwork_jobs_waiting", "Jobs that are queued.")
        self.chunks = gauge("groundwork_chunks", "Chunks that SQL holds.")
        self.items = gauge("groundwork_items", "Items that have chunks.")
        self.index_drift = gauge(
            "groundwork_index_drift",
            "Chunks in SQL less records in the vector index; 0 when at rest.",
        )
        self.index_degraded = gauge(
            "groundwork_index_degraded", "1 while an index does not do its part."
        )
        self.generation_documents_missing = gauge(
            "groundwork_generation_documents_missing",
            "Documents that the generation which is being made lacks yet.",
        )
        self._drift_found = counter(
            "groundwork_index_drift_found",
            "Records in which an index differed from SQL, or that SQL lost, by index and kind.",
            ("index", "kind"),
        )
        self._drift_mended = counter(
            "groundwork_index_drift_mended",
            "Of these, the records that were made right.",
            ("index", "kind"),
        )
        self.healed: dict[str, int] = defaultdict(int)
        """No metric, but told by `verify`: how often each index was damaged, and serves again."""
        self.made: dict[str, int] = defaultdict(int)
        """The same of indexes that were made because they were not there."""
        self._healings = counter(
            "groundwork_index_healings",
            "Times that a damaged or differing index was mended or made anew.",
            ("index",),
        )
        self.model = Info("groundwork_model", "The embedding model.", registry=self.registry)
        self._count_from_0()

    def _count_from_0(self) -> None:
        """Show these before there is anything to count: else `increase` misses the first of it."""
        for outcome in ("success", "failure"):
            self._indexings.labels(outcome)
        for index in ("vector", "lexical"):
            self._healings.labels(index)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one HTTP request."""
        known = method if method in KNOWN_METHODS else "other"
        self._requests.labels(known, route, str(status)).observe(seconds)

    def observe_search(self, stage: str, seconds: float) -> None:
        """Note one stage of one search."""
        self._search_stage(stage).observe(seconds)

    def observe_embedding(self, chunks: int, seconds: float) -> None:
        """Note one group of chunks that went through the model."""
        self._embedding.observe(seconds)
        self._embedded_chunks.inc(chunks)

    def observe_indexing(self, outcome: str) -> None:
        """Note how indexing an item ended."""
        self._indexings.labels(outcome).inc()

    def observe_drift(self, index: str, kind: str, *, mended: bool) -> None:
        """Note a record in which an index differed from SQL."""
        self._drift_found.labels(index, kind).inc()
        if mended:
            self._drift_mended.labels(index, kind).inc()

    def observe_healing(self, index: str, *, was_absent: bool) -> None:
        """Note that an index was damaged, or not there, and serves again."""
        self._healings.labels(index).inc()
        (self.made if was_absent else self.healed)[index] += 1

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)
