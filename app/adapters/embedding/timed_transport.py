"""Carries requests each of which ends in time as a whole, however slowly its answer drips."""

import ssl
import threading
import time
from collections.abc import Iterable

import httpcore
import httpx

from app.adapters.deadline_stream import DeadlineStream

MOST_CONNECTIONS, MOST_IDLE_CONNECTIONS, IDLE_SECONDS = 100, 20, 5.0
"""Those of httpx."""


class TimedTransport(httpx.HTTPTransport):
    """As httpx's own; but its time-out for a read is the time for all of a request and its answer.

    That bounds each read alone: who sends a byte now and then is never late. An answer is read by
    the thread that asked.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(verify=tls, trust_env=False)
        self._request = _Request()
        self._pool = httpcore.ConnectionPool(  # httpx has no word for its backend
            ssl_context=tls,
            network_backend=_TimedBackend(self._request),
            max_connections=MOST_CONNECTIONS,
            max_keepalive_connections=MOST_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, and answer with what comes back, as it comes."""
        self._request.end = time.monotonic() + request.extensions["timeout"]["read"]
        return super().handle_request(request)


class _Request(threading.local):
    """The request of this thread."""

    end = float("inf")

    def remaining_seconds(self) -> float:
        """Seconds left, always above 0; raises httpcore.ReadTimeout when none are."""
        remaining = self.end - time.monotonic()
        if remaining <= 0:
            raise httpcore.ReadTimeout("timed out")
        return remaining


class _TimedBackend(httpcore.SyncBackend):
    """Opens connections that know whose request they carry."""

    def __init__(self, request: _Request) -> None:
        self._request = request

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002, the request decides
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        remaining = self._request.remaining_seconds()
        stream = super().connect_tcp(host, port, remaining, local_address, socket_options)
        return DeadlineStream(stream, self._request.remaining_seconds)
