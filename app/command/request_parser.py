"""Reads HTTP requests, also those of clients that would rather speak another protocol."""

from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

WISHES = frozenset({b"upgrade", b"http2-settings"})
"""Headers that ask for another protocol; a server may ignore them (RFC 9110, 7.8)."""


class RequestParser:
    """A parser of httptools that goes on behind a head which asks for another protocol.

    Java's HttpClient asks for HTTP/2 with the first request of a connection. The parser would take
    the body behind such a head for the other protocol's, and the request for one without a body.
    Whoever asks for a WebSocket is left to uvicorn.
    """

    def __init__(self, protocol: HttpToolsProtocol) -> None:
        self._protocol = protocol
        self._parser = _parser_for(protocol)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    @property
    def asks_for_another_protocol(self) -> bool:
        """Whether the head that was read last is to be read again, without that wish."""
        return (
            self._parser.should_upgrade()
            and self._parser.get_method() != b"CONNECT"
            and not self._protocol._should_upgrade()
        )

    def feed_data(self, data: bytes) -> None:
        """Read on; raises what httptools raises."""
        rest: bytes | None = data
        while rest is not None:
            rest = self._feed_up_to_wish(rest)

    def _feed_up_to_wish(self, data: bytes) -> bytes | None:
        """What is to be read next: the head without the wish, and all behind it."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if not self.asks_for_another_protocol:
                raise
            rest = self._head_without_wish() + data[upgrade.args[0] :]
            self._parser = _parser_for(self._protocol)
            return rest
        return None

    def _head_without_wish(self) -> bytes:
        protocol, parser = self._protocol, self._parser
        version = parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (parser.get_method(), protocol.url, version)]
        for name, value in protocol.headers:
            if name == b"connection":
                options = (option.strip() for option in value.split(b","))
                kept = [o for o in options if o.lower() not in WISHES]
                lines += [b"connection: " + b", ".join(kept)] if kept else []
            elif name not in WISHES:
                lines.append(name + b": " + value)
        return b"\r\n".join([*lines, b"", b""])


def _parser_for(protocol: HttpToolsProtocol) -> httptools.HttpRequestParser:
    """As uvicorn has it: what is sent behind `Connection: close` is no error."""
    parser = httptools.HttpRequestParser(protocol)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser
