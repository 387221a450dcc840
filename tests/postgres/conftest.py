"""What the tests of PostgreSQL share: a line to the server that can be cut."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.databases import Databases


class Line:
    """A port of ours that leads to the server, until it is cut: then the server is away."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._is_cut = False
        self._flows = threading.Event()
        self._flows.set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """End all connections, and every new one at once."""
        self._is_cut = True
        self.drop()

    def mend(self) -> None:
        """The server is there again."""
        self._is_cut = False

    def drop(self) -> None:
        """End all connections; new ones are welcome."""
        with self._lock:
            ends = list(self._ends)
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def freeze(self) -> None:
        """Carry nothing more; connections stay, and new ones come about."""
        self._flows.clear()

    def thaw(self) -> None:
        """Carry what has waited."""
        self._flows.set()

    def close(self) -> None:
        self.thaw()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                ours, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                ours.close()
                continue
            theirs = socket.create_connection(self._server)
            with self._lock:
                self._ends |= {ours, theirs}
            for source, target in ((ours, theirs), (theirs, ours)):
                thread = threading.Thread(target=self._pump, args=(source, target), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while some := source.recv(65536):
                self._flows.wait()
                target.sendall(some)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._ends.discard(source)
        source.close()


@pytest.fixture
def url(tmp_path: Path, databases: Databases) -> str:
    """A migrated database of the test's own."""
    return databases.new(tmp_path)


@pytest.fixture
def line(url: str) -> Iterator[Line]:
    """A line to the server of that database."""
    address = make_url(url)
    line = Line(address.host or "127.0.0.1", address.port or 5432)
    yield line
    line.close()


@pytest.fixture
def line_url(url: str, line: Line) -> str:
    """The database at the end of the line."""
    address = make_url(url).set(host="127.0.0.1", port=line.port)
    return address.render_as_string(hide_password=False)
