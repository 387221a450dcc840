"""Starts, calls, watches and stops a real server for measuring."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

START_TIMEOUT_SECONDS = 180.0


class Client:
    """One keep-alive connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1800)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The JSON answer; raises RuntimeError for an error."""
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"} if data else {}
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {text}")
        return json.loads(text) if text else None

    def timed_ms(self, method: str, path: str, body: object = None) -> float:
        """Milliseconds that a call takes."""
        started = time.perf_counter()
        self.call(method, path, body)
        return (time.perf_counter() - started) * 1000

    def search(self, question: str, n: int = 5) -> Any:
        """The answer to a question."""
        return self.call("GET", f"/api/v1/rag/search?q={quote(question)}&n={n}")


@dataclass
class Server:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    seconds_to_ready: float

    def client(self) -> Client:
        """A new connection."""
        return Client(self.port)

    def peak_rss_mb(self) -> float:
        """Peak resident memory of the serving process, from the kernel."""
        return _peak_rss_mb(self.process.pid)

    def peak_rss_mb_of_children(self) -> float:
        """The same of the processes that it started and that still run, summed: Chroma's."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        children = {
            int(pid)
            for task in tasks.iterdir()
            for pid in (task / "children").read_text(encoding="utf-8").split()
        }
        return sum(_peak_rss_mb(pid) for pid in children)


def _peak_rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


@contextmanager
def serving(data_dir: Path, roots: Path, port: int, **settings: str) -> Iterator[Server]:
    """Serve a data directory for the block."""
    environment = {
        **os.environ,
        "DATA_DIR": str(data_dir),
        "SOURCE_ROOTS": str(roots),
        "PORT": str(port),
        "LOG_LEVEL": "WARNING",
        **settings,
    }
    command = [str(Path(sys.executable).with_name("groundwork")), "serve"]
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_until_ready(process, port)
        yield Server(process, port, time.perf_counter() - started)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The server ended with {process.returncode}.")
        try:
            Client(port).call("GET", "/health/ready")
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError("The server did not become ready.")
