"""How long calls take: their median and tail, also of several clients that ask without a pause."""

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.server import Client, Server


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and tail of latencies, in milliseconds."""
    return {
        "count": len(values),
        "p50_ms": round(statistics.median(values), 2),
        "p95_ms": round(quantile(values, 0.95), 2),
        "p99_ms": round(quantile(values, 0.99), 2),
        "max_ms": round(max(values), 2),
    }


def under_load(
    server: Server, ask: Callable[[Client], float], clients: int, seconds: float
) -> dict[str, float]:
    """Requests a second, and the latencies that `ask` gives in milliseconds."""
    ends = time.perf_counter() + seconds

    def keep_asking() -> list[float]:
        client, own = server.client(), []
        while time.perf_counter() < ends:
            own.append(ask(client))
        return own

    with ThreadPoolExecutor(clients) as pool:
        asking = [pool.submit(keep_asking) for _ in range(clients)]
    together = [value for each in asking for value in each.result()]
    return {"requests_per_second": round(len(together) / seconds, 1), **spread(together)}
