"""Indexes what a person names on the command line: under the item that it has, or a new one."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.command.backend import Backend, Postponed, all_items
from app.command.sources import (
    absolute_uri,
    default_title,
    guess_document_type,
    without_links,
    without_place,
)
from app.knowledge.filters import MOST_FILTER_CHARACTERS
from app.knowledge.schemas import Item, ItemCreate, ItemUpdate
from app.protocols import ProgressListener
from app.rag.schemas import IndexingResult


@dataclass(frozen=True)
class Wishes:
    """What a person says about a source; None means: as it was, or else the default."""

    title: str | None = None
    category: str | None = None
    tags: Sequence[str] | None = None
    licence: str | None = None
    document_type: str | None = None
    collection: str | None = None

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


def index_source(
    backend: Backend, source: str, wishes: Wishes, *, force: bool, progress: ProgressListener
) -> Indexed:
    """Index a source under the item that it already has, perhaps by another path, or a new one.

    A new item of which nothing could be read is deleted again: a mistyped path leaves no trace. A
    known item that cannot be read as another type keeps its own. Raises AppError.
    """
    uri = absolute_uri(source)
    known = _item_of(backend, uri) or _item_of(backend, without_links(uri))
    item = known
    if item is None:
        item = backend.create(_new_item(uri, wishes))
    elif wishes.given():
        item = backend.update(item.id, ItemUpdate.model_validate(wishes.given()))
    result = backend.index(item.id, force=force, progress=progress)
    nothing_read = known is None and not result.success and not backend.item(item.id).chunk_count
    if nothing_read:
        backend.remove(item.id)
        if isinstance(result, Postponed):
            result = result.given_up()  # the item's job went with it
    elif known is not None and _failed_as_another_type(known, item, result):
        backend.update(item.id, ItemUpdate(document_type=known.document_type))
    return Indexed(item, result, kept=not nothing_read)


def _failed_as_another_type(known: Item, item: Item, result: IndexingResult) -> bool:
    failed = not result.success and not isinstance(result, Postponed)
    return failed and item.document_type != known.document_type


def _new_item(uri: str, wishes: Wishes) -> ItemCreate:
    document_type = wishes.document_type or guess_document_type(uri)
    fields = {
        "uri": uri,
        "document_type": document_type,
        "title": default_title(uri, document_type),
    }
    return ItemCreate.model_validate(fields | wishes.given())


def _item_of(backend: Backend, uri: str) -> Item | None:
    """The oldest item with this very address; else with that of a place in this page."""
    place = None
    for item in all_items(backend, text=uri[-MOST_FILTER_CHARACTERS:]):
        if item.uri == uri:
            return item
        if place is None and without_place(item.uri) == uri:
            place = item
    return place
