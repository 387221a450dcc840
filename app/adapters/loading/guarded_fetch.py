"""Fetches web pages: the one way out of the service, with every address and size checked."""

import hashlib
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import httpcore
import httpx

from app.adapters.loading.guarded_network import (
    Deadline,
    GuardedBackend,
    GuardedTransport,
    HostList,
    Resolver,
    resolve_with_system,
)
from app.adapters.loading.page_answers import (
    NoPageError,
    charset_of,
    compression_of,
    content_type_header,
    decompressed,
    status_error,
)
from app.adapters.loading.page_refresh import refresh_target
from app.errors import (
    SourceRefusedError,
    SourceUnavailableError,
    SourceUnreadableError,
)
from app.trusted_authorities import tls_context

MAX_REDIRECTS = 5
MAX_PORT = 65535
USER = re.compile("//[^/?#]*@")
MOST_OF_TARGET = 200
"""Characters that are shown of where a page leads to."""
REQUEST_HEADERS = {
    "User-Agent": "Groundwork/0.1 (+self-hosted knowledge service)",
    "Accept": "text/markdown, text/html, application/xhtml+xml, text/plain;q=0.9, text/*;q=0.8",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}
TEXT_TYPES = {"application/xhtml+xml", "application/markdown", "application/x-markdown"}


@dataclass(frozen=True)
class FetchedPage:
    """A page as the server answered it."""

    url: str
    """The address after all redirects."""
    status: int
    content_type: str
    """Lower case, without parameters; empty when the server named none."""
    charset: str | None
    """As the Content-Type header declares it."""
    body: bytes
    """Decompressed."""
    etag: str | None = None
    last_modified: str | None = None
    refresh: str | None = None
    """What came as a Refresh header, which leads browsers to another page."""


@dataclass(frozen=True)
class Validators:
    """What a server gave with a page, to be asked with whether that has changed."""

    address_digest: str
    """Of the address that gave them, after all redirects: they say nothing of another one."""
    etag: str | None = None
    last_modified: str | None = None

    def headers(self, address: httpx.URL) -> dict[str, str]:
        """The conditional headers of a request to this address."""
        if address_digest(str(address)) != self.address_digest:
            return {}
        given = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in given.items() if value}


def address_digest(url: str) -> str:
    """16 hex digits that stand for an address, however long that is."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


class Visit(Protocol):
    """Asked before each request of a fetch whether it may be made; raises SourceError if not."""

    def __call__(self, address: httpx.URL, deadline: Deadline) -> None:
        """Return if the address may be visited, before the deadline."""
        ...


def _anywhere(address: httpx.URL, deadline: Deadline) -> None:
    """No rules but the guard's own."""


class GuardedFetcher:
    """Fetches http and https pages from the public internet, and from `allow_hosts`.

    `timeout_seconds` is for the whole fetch: names, connections, redirects and body.
    `max_bytes` counts the body after decompression. Proxies, cookies and netrc are not used.
    Safe to call from many threads.
    """

    def __init__(
        self,
        allow_hosts: Sequence[str] = (),
        timeout_seconds: float = 30.0,
        max_bytes: int = 10 * 1024 * 1024,
        resolver: Resolver = resolve_with_system,
    ) -> None:
        self._allowed = HostList(allow_hosts)
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._resolver = resolver

    def fetch(self, url: str, *, visit: Visit = _anywhere) -> FetchedPage:
        """Get a text page, following at most 5 redirects, each checked like the first address.

        A page that leads to another at once (<meta http-equiv="refresh">, or a Refresh header) is a
        redirect, too. `visit` is asked before each request.

        Raises SourceRefusedError (the guard), SourceGoneError (404, 410), SourceUnreadableError
        (other 4xx, not text, too large) and SourceUnavailableError (time-out, connection, TLS,
        429, 5xx).
        """
        page = self._fetch(url, None, visit, Deadline(self._timeout_seconds))
        assert page is not None  # noqa: S101, only an answer to validators is None
        return page

    def fetch_beginning(self, url: str, most_bytes: int, *, deadline: Deadline) -> FetchedPage:
        """As `fetch`, whatever type of content the server names, and no more than its beginning.

        Of a body that is longer, `most_bytes` and one more are given, so that this can be told.
        """
        page = self._fetch(url, None, _anywhere, deadline, beginning_bytes=most_bytes)
        assert page is not None  # noqa: S101, only an answer to validators is None
        return page

    def fetch_if_changed(
        self, url: str, validators: Validators, *, visit: Visit = _anywhere
    ) -> FetchedPage | None:
        """As `fetch`; None when the server says that the page is as it was (304)."""
        return self._fetch(url, validators, visit, Deadline(self._timeout_seconds))

    def _fetch(
        self,
        url: str,
        validators: Validators | None,
        visit: Visit,
        deadline: Deadline,
        beginning_bytes: int | None = None,
    ) -> FetchedPage | None:
        address = check_address(url)
        for redirects in range(MAX_REDIRECTS + 1):
            try:
                visit(address, deadline)
                conditions = validators.headers(address) if validators else {}
                answer = self._request(address, deadline, conditions, beginning_bytes)
                if isinstance(answer, FetchedPage) and beginning_bytes is None:
                    answer = _where_it_leads(answer) or answer
            except SourceRefusedError as error:
                if not redirects:
                    raise
                raise _refused_behind(url, str(address), error) from error
            if answer is None or isinstance(answer, FetchedPage):
                return answer
            address = answer
        raise NoPageError(
            f"{url} leads through more than {MAX_REDIRECTS} redirects, the last one to {address}."
        )

    def _request(
        self,
        address: httpx.URL,
        deadline: Deadline,
        conditions: dict[str, str],
        beginning_bytes: int | None,
    ) -> FetchedPage | httpx.URL | None:
        """One hop, over a connection of its own: the page, where it has moved to, or None.

        None: the conditions were sent, and the page has not changed.
        """
        backend = GuardedBackend(self._allowed, self._resolver, deadline)
        transport = GuardedTransport(backend, self._tls)
        try:
            with (
                httpx.Client(
                    transport=transport, trust_env=False, timeout=self._timeout_seconds
                ) as client,
                client.stream("GET", address, headers=REQUEST_HEADERS | conditions) as response,
            ):
                if response.status_code == 304 and conditions:
                    return None
                if response.is_redirect and response.status_code != 304:
                    return _redirect_target(address, response)
                return self._page(address, response, beginning_bytes)
        except httpcore.TimeoutException as error:
            deadline.remaining_seconds()
            raise SourceUnavailableError(f"{address.host} does not answer: {error}") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
            raise SourceUnavailableError(f"{address} cannot be fetched now: {error}") from error
        except (
            *(httpcore.UnsupportedProtocol, httpx.HTTPError, httpx.InvalidURL),
            UnicodeError,  # httpx decodes the host that a redirect names
        ) as error:
            raise SourceUnreadableError(f"{address} cannot be fetched: {error}") from error

    def _page(
        self, address: httpx.URL, response: httpx.Response, beginning_bytes: int | None
    ) -> FetchedPage:
        failure = status_error(address, response)
        if failure:
            raise failure
        header = content_type_header(response)
        named = "Content-Type" in header
        content_type = header.get_content_type() if named else ""
        is_text = content_type.startswith("text/") or content_type in TEXT_TYPES
        if named and not is_text and beginning_bytes is None:
            raise SourceUnreadableError(f"{address} is {content_type}, not a text page.")
        return FetchedPage(
            url=str(address),
            status=response.status_code,
            content_type=content_type,
            charset=charset_of(header),
            body=self._body(address, response, beginning_bytes),
            etag=response.headers.get("ETag"),
            last_modified=response.headers.get("Last-Modified"),
            refresh=response.headers.get("Refresh"),
        )

    def _body(
        self, address: httpx.URL, response: httpx.Response, beginning_bytes: int | None
    ) -> bytes:
        body = bytearray()
        most_bytes = self._max_bytes if beginning_bytes is None else beginning_bytes
        for part in decompressed(response.iter_raw(), compression_of(response), most_bytes):
            body += part
            if len(body) > most_bytes and beginning_bytes is not None:
                return bytes(body[: most_bytes + 1])
            if len(body) > most_bytes:
                raise SourceUnreadableError(
                    f"{address} is too large: over {self._max_bytes:,} bytes (FETCH_MAX_BYTES)."
                )
        return bytes(body)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls_context()


def check_address(url: str) -> httpx.URL:
    """Parse an http(s) address; raises SourceRefusedError for any other, and for passwords."""
    try:
        address = httpx.URL(url)
        host = address.host  # decoded only now, which `xn--a` does not let itself be
    except (httpx.InvalidURL, UnicodeError) as error:
        raise SourceRefusedError(f"This is not a web address: {error}") from error
    if address.scheme not in {"http", "https"} or not host:
        raise SourceRefusedError(
            f"Only http:// and https:// addresses are fetched, not {address.scheme or 'this'!r}."
        )
    if address.port is not None and not 0 < address.port <= MAX_PORT:
        raise SourceRefusedError(f"{address.port} is no port: those go from 1 to {MAX_PORT}.")
    if address.userinfo:
        raise SourceRefusedError("An address with a user name or password in it is not fetched.")
    return address.copy_with(fragment=None)


def _where_it_leads(page: FetchedPage) -> httpx.URL | None:
    """Where a page sends its readers at once; raises SourceError where that is not fetched."""
    target = refresh_target(page.url, page.refresh, page.content_type, page.body, page.charset)
    return None if target is None else _checked_target(page.url, target)


def _redirect_target(address: httpx.URL, response: httpx.Response) -> httpx.URL:
    location = response.headers.get("Location", "").strip()
    if not location:
        raise SourceUnreadableError(
            f"{address} redirects (HTTP {response.status_code}), but does not say where to."
        )
    try:
        return _checked_target(str(address), str(address.join(location)))
    except (httpx.InvalidURL, UnicodeError) as error:
        raise SourceUnreadableError(f"{address} redirects to no address: {error}") from error


def _checked_target(page: str, target: str) -> httpx.URL:
    try:
        return check_address(target)
    except SourceRefusedError as error:
        raise _refused_behind(page, target, error) from error


def _refused_behind(page: str, target: str, error: SourceRefusedError) -> SourceRefusedError:
    """The refusal of a target; it names the page that leads there, which is what was asked for."""
    shown = USER.sub("//", target)[:MOST_OF_TARGET]
    return SourceRefusedError(f"{page} leads to {shown}: {error.detail}")
