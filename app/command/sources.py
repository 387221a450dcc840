"""Turns what a person names on the command line into a knowledge item, and indexes it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from app.adapters.loading.path_guard import path_as_written
from app.command.backend import Backend
from app.knowledge.schemas import Item, ItemCreate, ItemUpdate
from app.protocols import ProgressListener
from app.rag.schemas import IndexingResult

WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
OTHER_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
MARKDOWN_SUFFIXES = (".md", ".markdown")
MOST_SEARCH_CHARACTERS = 500
"""Longest text that the list of items can be searched for."""


@dataclass(frozen=True)
class Wishes:
    """What a person says about a source; None means: as it was, or else the default."""

    title: str | None = None
    category: str | None = None
    tags: Sequence[str] | None = None
    licence: str | None = None
    document_type: str | None = None

    def given(self) -> dict[str, object]:
        """The fields that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Indexed:
    """How indexing a source ended."""

    item: Item
    """As it stood before it was indexed."""
    result: IndexingResult
    kept: bool
    """False: the item was made for this source, nothing could be read, and it was deleted."""


def absolute_uri(source: str) -> str:
    """The source as every later call finds it again: an absolute path, or a web address.

    Raises SourceRefusedError for a `file://` address of another machine.
    """
    if WEB_ADDRESS.match(source) or OTHER_SCHEME.match(source):
        return source
    return str(Path(path_as_written(source)).expanduser().resolve())


def guess_document_type(uri: str) -> str:
    """`folder`, `website` or `markdown`, from the address and what lies there."""
    if WEB_ADDRESS.match(uri):
        is_markdown = urlsplit(uri).path.lower().endswith(MARKDOWN_SUFFIXES)
        return "markdown" if is_markdown else "website"
    return "folder" if Path(uri).is_dir() else "markdown"


def default_title(uri: str, document_type: str) -> str:
    """A folder's name, a file's name without its suffix, a page's address without the scheme."""
    if WEB_ADDRESS.match(uri):
        return WEB_ADDRESS.sub("", uri).rstrip("/")[:500] or uri
    path = Path(uri)
    return (path.name if document_type == "folder" else path.stem)[:500] or uri


def index_source(
    backend: Backend, source: str, wishes: Wishes, *, force: bool, progress: ProgressListener
) -> Indexed:
    """Index a source under the item that it already has, or under a new one.

    A new item of which nothing could be read is deleted again: a mistyped path leaves no trace.
    Raises AppError.
    """
    uri = absolute_uri(source)
    item = _item_of(backend, uri)
    is_new = item is None
    if item is None:
        item = backend.create(_new_item(uri, wishes))
    elif wishes.given():
        item = backend.update(item.id, ItemUpdate.model_validate(wishes.given()))
    result = backend.index(item.id, force=force, progress=progress)
    nothing_read = is_new and not result.success and not backend.item(item.id).chunk_count
    if nothing_read:
        backend.remove(item.id)
    return Indexed(item, result, kept=not nothing_read)


def _new_item(uri: str, wishes: Wishes) -> ItemCreate:
    document_type = wishes.document_type or guess_document_type(uri)
    fields = {
        "uri": uri,
        "document_type": document_type,
        "title": default_title(uri, document_type),
    }
    return ItemCreate.model_validate(fields | wishes.given())


def _item_of(backend: Backend, uri: str) -> Item | None:
    """The oldest item with this very address."""
    cursor: str | None = None
    while True:
        page = backend.page(None, None, uri[-MOST_SEARCH_CHARACTERS:], cursor)
        for item in page.items:
            if item.uri == uri:
                return item
        if page.next_cursor is None:
            return None
        cursor = page.next_cursor
