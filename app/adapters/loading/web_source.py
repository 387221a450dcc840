"""A web page as a source: HTML becomes Markdown, Markdown and plain text stay what they are."""

import dataclasses
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from app.adapters.loading.encoding import clean, decode
from app.adapters.loading.guarded_fetch import FetchedPage, GuardedFetcher, check_address
from app.adapters.loading.text_document import (
    MARKDOWN_SUFFIXES,
    NO_CONTENT,
    content_hash,
    document_from_bytes,
)
from app.adapters.loading.web_page import declared_charset, read_page
from app.errors import SourceUnreadableError
from app.protocols import LoadedDocument, SourceEntry, SourceListing

HTML_TYPES = {"text/html", "application/xhtml+xml"}
HTML_STARTS = (b"<!doctype html", b"<html")


class WebSource:
    """One page; its only entry has the address as its key, and no stamp: it is always read."""

    def __init__(self, fetcher: GuardedFetcher, address: str) -> None:
        check_address(address)
        self._fetcher = fetcher
        self._address = address

    def scan(self) -> SourceListing:
        """List the page, without fetching it."""
        return SourceListing((SourceEntry(key=self._address, uri=self._address),))

    def read(self, entry: SourceEntry) -> LoadedDocument:
        """Fetch the page and read it; raises SourceError."""
        page = self._fetcher.fetch(entry.uri)
        try:
            document = _html(page, entry) if _is_html(page) else _text(page, entry)
            told = document.modified_at or _last_modified(page)
            return dataclasses.replace(document, modified_at=told)
        except SourceUnreadableError as error:
            if error.detail == NO_CONTENT:
                raise
            raise SourceUnreadableError(f"{entry.uri}: {error.detail}") from error


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
    return not page.content_type and page.body[:512].lstrip().lower().startswith(HTML_STARTS)


def _html(page: FetchedPage, entry: SourceEntry) -> LoadedDocument:
    text, _ = decode(page.body, page.charset or declared_charset(page.body))
    read = read_page(text, page.url)
    if not read.markdown:
        raise SourceUnreadableError(NO_CONTENT)
    return LoadedDocument(
        content=read.markdown,
        document_id=entry.key,
        content_hash=content_hash(read.markdown),
        source_uri=read.canonical or page.url,
        title=read.title,
        language=read.language,
    )


def _text(page: FetchedPage, entry: SourceEntry) -> LoadedDocument:
    name = PurePosixPath(clean(unquote(urlsplit(page.url).path))).name or urlsplit(page.url).netloc
    if "markdown" in page.content_type and PurePosixPath(name).suffix not in MARKDOWN_SUFFIXES:
        name += ".md"
    return document_from_bytes(
        page.body,
        name=name,
        document_id=entry.key,
        source_uri=page.url,
        declared=page.charset,
    )
