"""Finds where a page sends its readers at once, as pages that have moved do without a redirect."""

import re
from urllib.parse import urldefrag, urljoin

from app.adapters.loading.encoding import decode
from app.adapters.loading.html_tidy import tidy
from app.adapters.loading.web_page import (
    HTML_TYPES,
    XHTML,
    begins_like_html,
    declared_charset,
)
from app.errors import SourceUnreadableError

MOST_SECONDS = 5
"""Who is sent on later is given something to read before."""

BEGINNING_BYTES = 64 * 1024
"""Where a refresh is looked for; heads that are longer hold scripts and styles."""

NAMED = re.compile(rb"""http-equiv\s{0,9}=\s{0,9}["']?\s{0,9}refresh""", re.IGNORECASE)
REFRESH = re.compile(
    r"\s*(?=[0-9.])(?P<seconds>[0-9]{0,9})[0-9.]*"
    r"(?:\s*[;,\s]\s*(?:url\s*=)?(?P<target>.*))?",
    re.IGNORECASE | re.DOTALL,
)
"""The content of such an element or header, by the HTML standard (4.2.5.3)."""


def refresh_target(
    address: str, header: str | None, content_type: str, body: bytes, charset: str | None
) -> str | None:
    """The other address that a page leads to within MOST_SECONDS, or None.

    `header` is what came as Refresh: where that asks for anything, its HTML is not asked.

    Raises SourceUnreadableError where that is no address.
    """
    if header and REFRESH.fullmatch(header):
        return _elsewhere(address, "", _target(header))
    beginning = body[:BEGINNING_BYTES]
    is_html = content_type in HTML_TYPES or (not content_type and begins_like_html(beginning))
    if not is_html or not NAMED.search(beginning):
        return None
    text, _ = decode(beginning, charset or declared_charset(beginning))
    page = tidy(text, is_xml=content_type == XHTML)
    return _elsewhere(address, page.base, _target(page.refresh or ""))


def _elsewhere(address: str, base: str, written: str) -> str | None:
    """What is written there as an address; None where that is the page's own."""
    if not written:
        return None
    try:
        target = urljoin(urljoin(address, base), written)
        return None if urldefrag(target).url == urldefrag(address).url else target
    except ValueError as error:
        raise SourceUnreadableError(f"{address} leads to no address, {written!r}.") from error


def _target(content: str) -> str:
    """The address in the content of a refresh; empty where there is none, or for later."""
    found = REFRESH.fullmatch(content)
    if found is None or int(found["seconds"] or 0) > MOST_SECONDS:
        return ""
    target = (found["target"] or "").strip()
    quote = target[:1]
    return target[1:].partition(quote)[0].strip() if quote in {"'", '"'} else target
