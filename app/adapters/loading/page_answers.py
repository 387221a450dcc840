"""What the answers of web servers say: whether there is a page, and how its bytes are meant."""

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import Message

import httpx

from app.adapters.retry_after import retry_after_seconds
from app.errors import (
    SourceError,
    SourceGoneError,
    SourceUnavailableError,
    SourceUnreadableError,
)

RETRY_LATER = {408, 425, 429}

COMPRESSIONS = {
    *("gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz"),
}
"""Codings of content that are registered for HTTP; servers name other things so as well, such as
`utf-8` or `none`, which say nothing of its bytes (WHATWG Fetch: handle content codings)."""

GZIP_ONLY = 16 + zlib.MAX_WBITS
GZIP_BEGINS = b"\x1f"
"""The first byte of each member (RFC 1952, 2.3.1)."""


class NoPageError(SourceUnreadableError):
    """The server lets nobody have a page there: 4xx, or redirects without an end."""


def status_error(address: httpx.URL, response: httpx.Response) -> SourceError | None:
    """Why there is no page to be had with this answer, or None."""
    status = response.status_code
    if status == 206:  # no part of the page was asked for: some caches mix these up
        return SourceUnavailableError(f"{address} answered with a part of the page (HTTP 206).")
    if 200 <= status < 300:
        return None
    if status in {404, 410}:
        return SourceGoneError(f"Page not found: {address} (HTTP {status})")
    if status in RETRY_LATER or status >= 500:
        pause = retry_after_seconds(response.headers.get("Retry-After"), datetime.now(UTC))
        when = f" in {pause:,.0f} seconds, as it asks" if pause else " later"
        return SourceUnavailableError(
            f"{address} answered HTTP {status}; try again{when}.",
            retry_after_seconds=pause,
            address=str(address),
        )
    if status in {401, 403}:
        return NoPageError(f"{address} is not open to everyone (HTTP {status}).")
    kind = NoPageError if 400 <= status < 500 else SourceUnreadableError
    return kind(f"{address} answered HTTP {status}, not with a page.")


def content_type_header(response: httpx.Response) -> Message:
    """The Content-Type: of several the last that is a type; none where none is (WHATWG Fetch)."""
    header = Message()
    named = response.headers.get_list("Content-Type", split_commas=True)
    types = [value for value in named if value.partition(";")[0].count("/") == 1]
    if types:
        header["Content-Type"] = types[-1]
    return header


def charset_of(header: Message) -> str | None:
    """The character set that a Content-Type header declares."""
    charset = header.get_param("charset")
    return charset.strip() if isinstance(charset, str) and charset.strip() else None


def compression_of(response: httpx.Response) -> str:
    """How the Content-Encoding says that the bytes are compressed; empty where they are not."""
    named = response.headers.get("Content-Encoding", "").lower().split(",")
    return ", ".join(coding for coding in map(str.strip, named) if coding in COMPRESSIONS)


def decompressed(parts: Iterator[bytes], encoding: str, max_bytes: int) -> Iterator[bytes]:
    """Undo gzip in steps of at most `max_bytes + 1` bytes, so that a bomb cannot fill memory.

    Whoever takes more than `max_bytes` of them has to stop there. All members are read; zeros
    between them, and what follows the last one, are left out.
    """
    if not encoding:
        yield from parts
        return
    if encoding not in {"gzip", "x-gzip"}:
        raise SourceUnreadableError(f"The page is compressed with {encoding}, which was not asked.")
    member = zlib.decompressobj(GZIP_ONLY)
    try:
        for part in parts:
            rest = part
            while rest:
                if member.eof:
                    rest = rest.lstrip(b"\0")
                    if not rest.startswith(GZIP_BEGINS):
                        break
                    member = zlib.decompressobj(GZIP_ONLY)
                yield member.decompress(rest, max_bytes + 1)
                rest = member.unused_data
            if rest:
                return
    except zlib.error as error:
        raise SourceUnreadableError(f"The page's gzip data is broken: {error}") from error
    if not member.eof:
        raise SourceUnavailableError("The page's gzip data ended too early.")
