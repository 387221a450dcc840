"""A client's connection: how much of its requests is read, and how long they are waited for."""

import asyncio

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from app.command.request_parser import RequestParser

UNREADABLE = (
    "The address may be the reason: it is to be ASCII, of at most 65,535 bytes. Any other "
    "character is percent-encoded; curl does that with: -G --data-urlencode 'q=...'"
)
"""The likeliest reason for a request that is no HTTP; browsers and libraries encode unasked."""

REQUEST_PAUSE_SECONDS = 60.0
"""How long the rest of a request, or a first one, is waited for without a byte of it coming."""

MOST_HEAD_BYTES = 128 * 1024
"""What is read of a request's address and headers: the longest address, and as much again."""

TOO_LARGE_HEAD = (
    f"The address and the headers of a request may have {MOST_HEAD_BYTES:,} bytes together, and "
    "so may what stands between two parts of its body and behind it.\n"
).encode()

MOST_WAITING_REQUESTS = 100
"""What one connection may ask for while it waits for an answer; few clients ask for two things."""


class HttpConnection(HttpToolsProtocol):
    """Bounds what a client can make the server keep, and says why a request cannot be read.

    uvicorn by itself waits and reads on without a bound:

    - A client that vanishes without a word, as a machine that falls asleep does, would keep its
      connection open until no file is left to open. It has REQUEST_PAUSE_SECONDS.
    - Headers without end would fill memory. Long before that, the parser appends each part of a
      header to the parts it has: 100 MB of them kept everybody waiting for 13 s. Hence
      MOST_HEAD_BYTES.
    - A client that goes on asking without waiting for answers would fill memory, too. Hence
      MOST_WAITING_REQUESTS.
    """

    request_pause_seconds = REQUEST_PAUSE_SECONDS
    _head_bytes = 0
    """What has come since the parser last gave a whole head, some of a body, or its end."""
    _answering: RequestResponseCycle | None = None
    """What is being answered; `cycle` is what was asked for last."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        self.parser = RequestParser(self)  # type: ignore[assignment]  # has all that its own has
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone: nothing is written to it any more, also where it asked on before."""
        super().connection_lost(exc)
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Some of a request has come, perhaps all of it."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse_head()
        elif self.timeout_keep_alive_task is None and self._lacks_some_of_a_request():
            self._await_request()

    def on_headers_complete(self) -> None:
        """A head is whole; raises ValueError where too many requests are waiting."""
        self._head_bytes = 0
        if self._is_read_again:
            return  # it is read again, without that wish
        if len(self.pipeline) >= MOST_WAITING_REQUESTS:
            raise ValueError("too many requests are waiting on this connection")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of a body has come."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has come to its end."""
        self._head_bytes = 0
        if self._is_read_again:
            return
        super().on_message_complete()

    @property
    def _is_read_again(self) -> bool:
        return isinstance(self.parser, RequestParser) and self.parser.asks_for_another_protocol

    def _refuse_head(self) -> None:
        """Answer 431 in plain text, unless another answer of this connection is under way."""
        if self.cycle is None or self.cycle.response_complete:
            head = (
                *(STATUS_LINE[431], b"content-type: text/plain; charset=utf-8\r\n"),
                *(b"content-length: %d\r\n" % len(TOO_LARGE_HEAD), b"connection: close\r\n\r\n"),
            )
            self.transport.write(b"".join((*head, TOO_LARGE_HEAD)))
        self.transport.close()

    def _lacks_some_of_a_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _await_request(self) -> None:
        """End the connection unless something comes in time; uvicorn cancels that when it does."""
        self.timeout_keep_alive_task = self.loop.call_later(
            self.request_pause_seconds, self._give_up_request
        )

    def _give_up_request(self) -> None:
        if self.transport.is_closing():
            return
        if self.flow.read_paused or (self.cycle and self.cycle.waiting_for_100_continue):
            self._await_request()  # the application has not asked for the rest of the body yet
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer 400 in plain text; no application has seen the request.

        Where others are waiting, it would be taken for the answer to one of them.
        """
        if self.pipeline:
            self.transport.close()
            return
        super().send_400_response(f"{msg} {UNREADABLE}\n")
