"""Several clients that ask without a pause."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from benchmarks.server import Client, Server
from benchmarks.service import spread


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
