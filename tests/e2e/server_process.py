"""The real server as a process: started, asked, stopped and killed by its own process id."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import httpx

WAIT_SECONDS = 180
"""Longest that anything may take on a busy machine; nothing waits for it to pass."""

MOST_FILE_BYTES = 4 * 1024**3
"""A damaged index must not fill the disk of whoever runs the tests."""

COMMAND = Path(sys.executable).with_name("groundwork")

LIMITED = """
import ctypes, os, resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
if sys.platform == "linux" and os.geteuid() == 0:
    for capability in (1, 2):  # DAC_OVERRIDE, DAC_READ_SEARCH: permissions hold for root, too
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a command that can write no larger file, and may do no more than its files' owner."""

RECORD_CONNECTIONS = """
import atexit, sys

def record(event, arguments):
    if event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        print("NETWORK", event, arguments[1:], file=sys.stderr, flush=True)
        raise PermissionError(event)
    if event in ("socket.getaddrinfo", "socket.gethostbyname") and arguments[0] != "127.0.0.1":
        print("NETWORK", event, arguments, file=sys.stderr, flush=True)
        raise PermissionError(event)

def report_heavy():
    heavy = {"torch", "transformers", "sentence_transformers"} & set(sys.modules)
    print("HEAVY", sorted(heavy), file=sys.stderr, flush=True)

sys.addaudithook(record)
atexit.register(report_heavy)
print("WATCHED", file=sys.stderr, flush=True)
"""
"""A `sitecustomize` that forbids and reports every outgoing connection of a process.

At its end it tells which of the heavy libraries were imported.
"""


def wait_until(condition: Callable[[], Any], what: str, seconds: float = WAIT_SECONDS) -> Any:
    """Ask again and again until the condition gives something true, and return that."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)
    return found


def clean_environment(**settings: object) -> dict[str, str]:
    """The environment of a process: nothing of the developer's but where programs are found."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return inherited | {name: str(value) for name, value in settings.items()}


def run_command(
    environment: Mapping[str, str], *arguments: str, file_bytes: int = MOST_FILE_BYTES
) -> "subprocess.CompletedProcess[str]":
    """Run `groundwork …` to its end."""
    return subprocess.run(
        limited(*arguments, file_bytes=file_bytes),
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def limited(*arguments: str, file_bytes: int = MOST_FILE_BYTES) -> list[str]:
    """`groundwork …` as a command that can write no larger file."""
    return [sys.executable, "-c", LIMITED, str(file_bytes), str(COMMAND), *arguments]


class ServerProcess:
    """`groundwork serve` on a free port of 127.0.0.1, and an HTTP client of it."""

    def __init__(self, data_dir: Path, source_root: Path, **settings: object) -> None:
        self.data_dir = data_dir
        self.environment = clean_environment(
            DATA_DIR=data_dir,
            SOURCE_ROOTS=source_root,
            HOST="127.0.0.1",
            PORT=0,
            DISABLE_AUTO_INDEXING=True,  # unless a test is about following sources
        ) | {name: str(value) for name, value in settings.items()}
        self.log_path = data_dir.with_name(data_dir.name + ".log")
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self._client: httpx.Client | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def http(self) -> httpx.Client:
        assert self._client is not None
        return self._client

    @property
    def url(self) -> str:
        return str(self.http.base_url).rstrip("/")

    @property
    def log(self) -> str:
        """What this run of the server has written."""
        return self.log_path.read_bytes()[self._log_start :].decode(errors="replace")

    @property
    def exit_code(self) -> int | None:
        """How it has ended, by whomever; None while it runs."""
        return None if self._process is None else self._process.poll()

    def start(self) -> Self:
        """Start it and wait until it answers."""
        self.launch()
        address = wait_until(self._address, "the server says where it listens")
        self._client = httpx.Client(base_url=address, timeout=WAIT_SECONDS, trust_env=False)
        return self

    def launch(self) -> None:
        """Start it, and wait for nothing."""
        self._log_start = self.log_path.stat().st_size if self.log_path.exists() else 0
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                limited("serve"),
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def _address(self) -> str | None:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the server ended with {self._process.returncode}:\n{self.log}")
        found = re.search(r"listens on (http://\S+?:\d+)", self.log)
        return found[1] if found else None

    def limit_files(self, most_bytes: int) -> None:
        """From now on no file of the server may grow over this: its disk is full."""
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (most_bytes, -1))

    def terminate(self) -> None:
        """Ask it to stop, and return at once."""
        os.kill(self.pid, signal.SIGTERM)

    def wait(self, seconds: float = WAIT_SECONDS) -> int:
        """Wait for its end; returns the exit code."""
        assert self._process is not None
        code = self._process.wait(seconds)
        if self._client is not None:
            self._client.close()
        return code

    def stop(self) -> int:
        """Stop it in order; returns the exit code."""
        self.terminate()
        return self.wait()

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self.wait()

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self._process is None or self._process.poll() is not None:
            return
        self.terminate()
        try:
            self.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()

    # What tests do with it -----------------------------------------------------------------

    def create(self, uri: object, document_type: str = "markdown", **fields: object) -> int:
        """Create a knowledge item; returns its id."""
        item = {"title": "A title", "uri": str(uri), "document_type": document_type} | fields
        response = self.http.post("/api/v1/knowledge", json=item)
        assert response.status_code == 201, response.text
        return int(response.json()["id"])

    def index(self, knowledge_id: int) -> dict[str, Any]:
        """Index an item and wait for the result."""
        response = self.http.post(f"/api/v1/rag/index/{knowledge_id}")
        assert response.status_code == 200, response.text
        return dict(response.json())

    def item(self, knowledge_id: int) -> dict[str, Any]:
        """Read an item."""
        response = self.http.get(f"/api/v1/knowledge/{knowledge_id}")
        assert response.status_code == 200, response.text
        return dict(response.json())

    def search(self, query: str, **wanted: object) -> list[dict[str, Any]]:
        """Search over POST; returns the results."""
        response = self.http.post("/api/v1/rag/search", json={"query": query} | wanted)
        assert response.status_code == 200, response.text
        return list(response.json()["results"])

    def stats(self) -> dict[str, Any]:
        """What is stored and searchable."""
        return dict(self.http.get("/api/v1/rag/stats").json())
