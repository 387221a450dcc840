"""A web page as a source: HTML becomes Markdown, Markdown and plain text stay what they are."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from app.adapters.loading.encoding import clean, decode
from app.adapters.loading.guarded_fetch import (
    FetchedPage,
    GuardedFetcher,
    Validators,
    address_digest,
    check_address,
)
from app.adapters.loading.robots import RobotsRules
from app.adapters.loading.text_document import content_hash, document_from_bytes, losses
from app.adapters.loading.web_page import (
    HTML_TYPES,
    XHTML,
    begins_like_html,
    declared_charset,
    read_page,
)
from app.errors import SourceUnreadableError
from app.protocols import NO_CONTENT, LoadedDocument, SourceEntry, SourceListing
from app.text_suffixes import MARKDOWN_SUFFIXES

PAGE_READING_RULES = "33"
"""Raised whenever the same page would be turned into another text: then a 304 does not count."""

MOST_STAMP_CHARACTERS = 200

SCRIPTS_NOT_RUN = f"{NO_CONTENT}: the page has scripts, and these are not run"
_SCRIPT = re.compile(r"<script[\s/>]", re.IGNORECASE)


class WebSource:
    """One page; its only entry has the address as its key, without a fragment.

    A fragment names a place in the page, and a citation adds one of its own.
    Its stamp comes with the page and is what the server gave to ask for changes with.
    """

    def __init__(self, fetcher: GuardedFetcher, robots: RobotsRules, address: str) -> None:
        check_address(address)
        self._fetcher = fetcher
        self._robots = robots
        self._address = address.partition("#")[0]

    def scan(self) -> SourceListing:
        """List the page, without fetching it."""
        return SourceListing((SourceEntry(key=self._address, uri=self._address),))

    def read(self, entry: SourceEntry) -> LoadedDocument:
        """Fetch the page and read it; raises SourceError."""
        return _document(self._fetcher.fetch(entry.uri, visit=self._robots.require_allowed), entry)

    def read_if_changed(self, entry: SourceEntry, stamp: str) -> LoadedDocument | None:
        """As `read`; None when the server says that the page is as it was with this stamp."""
        validators = _validators(stamp)
        if validators is None:
            return self.read(entry)
        page = self._fetcher.fetch_if_changed(
            entry.uri, validators, visit=self._robots.require_allowed
        )
        return _document(page, entry) if page is not None else None


def _document(page: FetchedPage, entry: SourceEntry) -> LoadedDocument:
    try:
        loaded = _html(page, entry) if _is_html(page) else _text(page, entry)
    except SourceUnreadableError as error:
        if error.detail in (NO_CONTENT, SCRIPTS_NOT_RUN):
            raise
        raise SourceUnreadableError(f"{entry.uri}: {error.detail}") from error
    told = loaded.modified_at or _last_modified(page)
    return replace(loaded, stamp=_stamp(page), modified_at=told)


def _stamp(page: FetchedPage) -> str | None:
    """The page's address and validators as a stamp; None when there are none, or too long ones."""
    etag, last_modified = (
        value if value and value.isascii() and value.isprintable() else None
        for value in (page.etag, page.last_modified)
    )
    for tag in (etag, None):
        stamp = json.dumps([PAGE_READING_RULES, address_digest(page.url), tag, last_modified])
        if (tag or last_modified) and len(stamp) <= MOST_STAMP_CHARACTERS:
            return stamp
    return None


def _validators(stamp: str) -> Validators | None:
    """What `_stamp` made a stamp of; None when other rules made it."""
    try:
        rules, digest, etag, last_modified = json.loads(stamp)
    except (ValueError, TypeError):
        return None
    return Validators(digest, etag, last_modified) if rules == PAGE_READING_RULES else None


def _last_modified(page: FetchedPage) -> datetime | None:
    """The server's header; None without one, or where it is no date."""
    try:
        moment = parsedate_to_datetime(page.last_modified or "")
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _is_html(page: FetchedPage) -> bool:
    if page.content_type in HTML_TYPES:
        return True
    return not page.content_type and begins_like_html(page.body)


def _html(page: FetchedPage, entry: SourceEntry) -> LoadedDocument:
    text, encoding = decode(page.body, page.charset or declared_charset(page.body))
    read = read_page(text, page.url, is_xml=page.content_type == XHTML)
    if not read.markdown:
        raise SourceUnreadableError(SCRIPTS_NOT_RUN if _SCRIPT.search(text) else NO_CONTENT)
    return LoadedDocument(
        content=read.markdown,
        document_id=entry.key,
        content_hash=content_hash(read.markdown),
        source_uri=read.canonical or page.url,
        title=read.title,
        language=read.language,
        warnings=losses(page.body, text, encoding) if "\ufffd" in read.markdown else (),
    )


def _text(page: FetchedPage, entry: SourceEntry) -> LoadedDocument:
    name = PurePosixPath(clean(unquote(urlsplit(page.url).path))).name or urlsplit(page.url).netloc
    has_suffix = PurePosixPath(name).suffix.lower() in MARKDOWN_SUFFIXES
    if "markdown" in page.content_type and not has_suffix:
        name += ".md"
    return document_from_bytes(
        page.body,
        name=name,
        document_id=entry.key,
        source_uri=page.url,
        declared=page.charset,
    )
