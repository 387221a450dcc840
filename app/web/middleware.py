"""Middleware: measures requests, guards their origin, limits their size, unifies their paths."""

import ipaddress
import logging
import re
import time
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError, ForbiddenRequestError, RequestTooLargeError
from app.metrics import Metrics
from app.web.problems import ASKED_PATH, MEDIA_TYPE, problem_body, uri_path

access_log = logging.getLogger("groundwork.access")

HOST_PATTERN = re.compile(r"([a-z0-9._-]*|\[[0-9a-f:.]+(%[a-z0-9._~-]+)?\])(:\d+)?")
"""A name, an IPv4 address or an IPv6 address in brackets; perhaps with a port."""

READING_METHODS = frozenset({"GET", "HEAD"})
"""Methods that foreign pages may call, as browsers keep the answers from them. With OPTIONS a
browser asks whether a page may do more; if CORS does not answer, it may not, and is told why."""


class RequestMeasures:
    """Counts and times requests by route; logs them without their query, which may be private."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and measure it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "unmatched")
            self.metrics.observe_request(scope["method"], route, status, seconds)
            access_log.info(
                "%s %r %d %.1f ms", scope["method"], scope["path"], status, seconds * 1000
            )


class OriginGuard:
    """Refuses calls under a foreign host name (DNS rebinding) and from foreign pages (CSRF).

    A name with a dot must be listed; an IP address, `localhost` or a name without a dot cannot
    be made to point here by a stranger's DNS.
    """

    def __init__(
        self, app: ASGIApp, allowed_hosts: Sequence[str], allowed_origins: Sequence[str]
    ) -> None:
        self.app = app
        self.allowed_hosts = {host.lower() for host in allowed_hosts}
        self.allowed_origins = {origin.lower().rstrip("/") for origin in allowed_origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403."""
        if scope["type"] == "http":
            refusal = self._refusal(scope["method"], Headers(scope=scope))
            if refusal:
                await _answer(ForbiddenRequestError(refusal), scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        host = headers.get("host", "").lower()
        name = re.sub(r":\d+$", "", host).strip("[]").rstrip(".")
        if not HOST_PATTERN.fullmatch(host) or not self._may_be_called(name):
            return f"The service may not be called as {name!r}; add the name to ALLOWED_HOSTS."
        origin = headers.get("origin", "").lower()
        if method in READING_METHODS or not origin or "*" in self.allowed_origins:
            return None
        if origin in self.allowed_origins or (host and origin.partition("://")[2] == host):
            return None
        return f"Pages of {origin!r} may not call the service; add it to CORS_ALLOW_ORIGINS."

    def _may_be_called(self, name: str) -> bool:
        if "." not in name and ":" not in name:
            return True
        if "*" in self.allowed_hosts or name in self.allowed_hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


class BodyLimit:
    """Answers 413 to a body over the limit, by its declared length or as it streams in."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 413."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        error = RequestTooLargeError(
            f"The body is larger than the {self.max_bytes} bytes that MAX_REQUEST_BYTES allows."
        )
        if _exceeds(declared, self.max_bytes):
            await _answer(error, scope, receive, send)
            return
        received = 0
        answered = False

        async def receive_and_count() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return {"type": "http.disconnect"} if received > self.max_bytes else message

        async def send_unless_exceeded(message: Message) -> None:
            # Whatever the application makes of the cut body, the client is told about its size.
            nonlocal answered
            if answered or received <= self.max_bytes:
                answered = True
                await send(message)

        await self.app(scope, receive_and_count, send_unless_exceeded)
        if received > self.max_bytes and not answered:
            await _answer(error, scope, receive, send)


def _exceeds(declared_length: str, max_bytes: int) -> bool:
    if not (declared_length.isascii() and declared_length.isdigit()):
        return False
    digits = declared_length.lstrip("0") or "0"
    return len(digits) > len(str(max_bytes)) or int(digits) > max_bytes


class PathAliases:
    """Makes `/api/…` answer like `/api/v1/…`, a trailing slash like none, and HEAD like GET.

    An answer to HEAD lacks only the body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its canonical path and method."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if len(path) > 1 and path.endswith("/"):
            path = path[:-1]
        if path.startswith("/api/") and not f"{path}/".startswith("/api/v1/"):
            path = "/api/v1/" + path.removeprefix("/api/")
        inner = {**scope, "path": path, ASKED_PATH: scope["path"]}
        inner.pop("raw_path", None)
        if scope["method"] == "HEAD":
            inner["method"] = "GET"
            send = _without_body(send)
        try:
            await self.app(inner, receive, send)
        finally:
            if "route" in inner:
                scope["route"] = inner["route"]  # which the measures count by


def _without_body(send: Send) -> Send:
    has_ended = False

    async def send_head(message: Message) -> None:
        # It ends with the first part of the body: a stream that nobody reads is not to go on.
        nonlocal has_ended
        if has_ended:
            return
        if message["type"] == "http.response.body":
            has_ended = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await send(message)

    return send_head


async def _answer(error: AppError, scope: Scope, receive: Receive, send: Send) -> None:
    body = problem_body(
        slug=error.slug,
        title=error.title,
        status=error.status,
        detail=error.detail,
        instance=uri_path(scope["path"]),
    )
    response = JSONResponse(body, status_code=error.status, media_type=MEDIA_TYPE)
    await response(scope, receive, send)
