"""A connection that keeps a deadline as a whole: httpx bounds each read alone."""

import ssl
from collections.abc import Callable

import httpcore


class DeadlineStream(httpcore.NetworkStream):
    """A connection whose every read and write ends at the deadline, however slowly it drips.

    `remaining_seconds` gives the seconds left, always above 0, and raises when none are.
    """

    def __init__(
        self, stream: httpcore.NetworkStream, remaining_seconds: Callable[[], float]
    ) -> None:
        self._stream = stream
        self._remaining_seconds = remaining_seconds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Some bytes, at most so many; none at the end."""
        return self._stream.read(max_bytes, self._remaining_seconds())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Write all of them."""
        self._stream.write(buffer, self._remaining_seconds())

    def close(self) -> None:
        """End the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Go on through TLS."""
        secured = self._stream.start_tls(ssl_context, server_hostname, self._remaining_seconds())
        return DeadlineStream(secured, self._remaining_seconds)

    def get_extra_info(self, info: str) -> object:
        """What the stream below says of itself."""
        return self._stream.get_extra_info(info)
