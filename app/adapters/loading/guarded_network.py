"""Opens sockets for the fetcher: only to addresses that may be reached, only until a deadline."""

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import httpcore
import httpx

from app.adapters.deadline_stream import DeadlineStream
from app.adapters.loading.public_address import is_public
from app.adapters.web_hosts import normal_host
from app.errors import SourceRefusedError, SourceUnavailableError

Resolver = Callable[[str, int], Sequence[str]]
"""Gives the numeric addresses of a host, best first; raises OSError when there are none."""

WEB_PORTS = (80, 443)


def resolve_with_system(host: str, port: int) -> Sequence[str]:
    """Ask the operating system for the addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Deadline:
    """The point in time by which all of a fetch must be done."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining_seconds(self) -> float:
        """Seconds left, always above 0; raises SourceUnavailableError when none are."""
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            raise self.error()
        return remaining

    def error(self) -> SourceUnavailableError:
        """What to raise when time is up."""
        return SourceUnavailableError(
            f"The page did not arrive within {self._seconds:g} seconds (FETCH_TIMEOUT_SECONDS)."
        )


class HostList:
    """Hosts as a setting lists them: `host` or `host:port` entries.

    IPv6 addresses stand in brackets when a port follows: `[fd00::1]:8080`, else with or without. An
    entry without a port means every port of that host.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._entries = {_split_entry(entry) for entry in entries}

    def __contains__(self, host_and_port: tuple[str, int]) -> bool:
        host, port = host_and_port
        name = normal_host(host)
        return (name, None) in self._entries or (name, port) in self._entries


def _split_entry(entry: str) -> tuple[str, int | None]:
    host, colon, port = entry.strip().rpartition(":")
    if colon and port.isascii() and port.isdigit() and (":" not in host or host.endswith("]")):
        return normal_host(host), int(port)
    return normal_host(entry.strip()), None


class GuardedBackend(httpcore.NetworkBackend):
    """Resolves a host once, refuses it if any of its addresses may not be reached, and connects.

    The connection goes to an address that was checked, never to the name, so a name that
    changes its address in between (DNS rebinding) gains nothing.
    """

    def __init__(self, allowed: HostList, resolver: Resolver, deadline: Deadline) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._deadline = deadline
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002  the deadline decides
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to a checked address; raises SourceRefusedError, SourceUnavailableError."""
        addresses = self._resolve(host, port)
        self._check(host, port, addresses)
        failure: Exception | None = None
        for position, address in enumerate(addresses):
            # An address that swallows packets must leave time for the ones after it.
            share = self._deadline.remaining_seconds() / (len(addresses) - position)
            try:
                stream = self._backend.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            return DeadlineStream(stream, self._deadline.remaining_seconds)
        raise SourceUnavailableError(f"{host} does not answer: {failure}")

    def _resolve(self, host: str, port: int) -> Sequence[str]:
        answers: queue.SimpleQueue[Sequence[str] | OSError | UnicodeError] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._resolver(host, port))
            except (OSError, UnicodeError) as error:
                answers.put(error)

        # The system's resolver cannot be interrupted; a thread of its own can be left behind.
        threading.Thread(target=ask, name="resolve", daemon=True).start()
        try:
            answer = answers.get(timeout=self._deadline.remaining_seconds())
        except queue.Empty:
            raise self._deadline.error() from None
        if isinstance(answer, OSError | UnicodeError) or not answer:
            raise SourceUnavailableError(f"The name {host} cannot be resolved: {answer}")
        return answer

    def _check(self, host: str, port: int, addresses: Sequence[str]) -> None:
        if (host, port) in self._allowed:
            return
        written = f"[{host}]" if ":" in host else host
        setting = f"add {written}:{port} to FETCH_ALLOW_HOSTS to allow it."
        if port not in WEB_PORTS:
            raise SourceRefusedError(f"Port {port} of {host} may not be fetched; {setting}")
        if not all(is_public(address) for address in addresses):
            raise SourceRefusedError(
                f"{host} is not on the public internet and may not be fetched; {setting}"
            )


class GuardedTransport(httpx.BaseTransport):
    """Carries one request over httpcore: httpx itself has no option for a network backend."""

    def __init__(self, backend: GuardedBackend, tls: ssl.SSLContext) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls, network_backend=backend, max_connections=1
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, and answer with what comes back, as it comes."""
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        answer = self._pool.handle_request(
            httpcore.Request(request.method, url, headers=request.headers.raw)
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        """End the connection."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    """The bytes of a response as they arrive."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()
