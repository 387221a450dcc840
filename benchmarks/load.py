"""Several clients that ask without a pause."""

import threading
import time
from collections.abc import Callable

from benchmarks.server import Client, Server
from benchmarks.service import spread


def under_load(
    server: Server, ask: Callable[[Client], float], clients: int, seconds: float
) -> dict[str, float]:
    """Requests a second, and the latencies that `ask` gives in milliseconds."""
    latencies: list[list[float]] = [[] for _ in range(clients)]
    ends = time.perf_counter() + seconds

    def keep_asking(own: list[float]) -> None:
        client = server.client()
        while time.perf_counter() < ends:
            own.append(ask(client))

    threads = [threading.Thread(target=keep_asking, args=(own,)) for own in latencies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = [value for own in latencies for value in own]
    return {"requests_per_second": round(len(together) / seconds, 1), **spread(together)}
