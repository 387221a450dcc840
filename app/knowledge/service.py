"""The rules of knowledge items: what changes when, and who is told."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from app.database import Database
from app.errors import ConflictError, InvalidRequestError, NotFoundError
from app.knowledge import queries
from app.knowledge.items import ItemDraft, ItemFilter, ItemPage, KnowledgeItem, type_complaint
from app.web.pagination import LARGEST_ID

SOURCE_FIELDS = frozenset({"uri", "document_type"})
"""Fields that say where an item's text comes from."""

INDEXED_FIELDS = frozenset({"title", "uri", "document_type", "category", "tags"})
"""Fields that the vector index keeps a copy of."""


class ItemListener(Protocol):
    """Told after a change is committed; whoever indexes listens."""

    def item_deleted(self, item_id: int) -> None:
        """The item and its chunks are gone from SQL."""
        ...

    def index_changes_noted(self) -> None:
        """There are new rows in the outbox."""
        ...


class KnowledgeService:
    """Creates, reads, changes and deletes items. Each call is one transaction."""

    def __init__(self, database: Database, listener: ItemListener, default_collection: str) -> None:
        self._database = database
        self._listener = listener
        self._default_collection = default_collection

    def create(self, draft: ItemDraft) -> KnowledgeItem:
        """Add an item; it is not indexed by that."""
        with self._database.write() as session:
            item_id = queries.add_item(session, draft, self._default_collection)
        return self.get(item_id)

    def get(self, item_id: int) -> KnowledgeItem:
        """One item; raises NotFoundError."""
        with self._database.read() as session:
            item = queries.get_item(session, item_id)
        if item is None:
            raise _no_such_item(item_id)
        return item

    def ids(self, wanted: ItemFilter) -> Sequence[int]:
        """The ids of the items that the filter means, oldest first."""
        with self._database.read() as session:
            return queries.list_item_ids(session, wanted)

    def save(self, item_id: int, draft: ItemDraft) -> KnowledgeItem:
        """Create the item under this very id, or replace it: for programs that number items.

        Raises InvalidRequestError for a number after which no item could be given another.
        """
        if not 0 < item_id <= LARGEST_ID:
            raise InvalidRequestError(
                f"An item's id is a number from 1 to {LARGEST_ID}.", pointer="#/knowledge_id"
            )
        with self._database.write() as session:
            if queries.get_item(session, item_id) is None:
                queries.add_item(session, draft, self._default_collection, item_id)
        return self.replace(item_id, draft)

    def list(self, wanted: ItemFilter, sort: str, limit: int, cursor: str | None) -> ItemPage:
        """One page of items; raises InvalidRequestError for a cursor that is not ours."""
        with self._database.read() as session:
            items, next_cursor = queries.list_items(session, wanted, sort, limit, cursor)
            return ItemPage(tuple(items), next_cursor, queries.count_items(session, wanted))

    def replace(self, item_id: int, draft: ItemDraft) -> KnowledgeItem:
        """Give every field that a client may set a new value; raises NotFoundError."""
        changes = asdict(draft)
        changes["collection"] = draft.collection or self._default_collection
        if draft.status is None:
            del changes["status"]
        return self.update(item_id, changes)

    def update(self, item_id: int, changes: dict[str, Any]) -> KnowledgeItem:
        """Change some fields; raises NotFoundError, and ConflictError when they do not agree.

        An item whose source changes becomes `pending`: what is searchable is still the text of
        the old source, until the item is indexed again.
        """
        with self._database.write() as session:
            before = queries.get_item(session, item_id)
            if before is None:
                raise _no_such_item(item_id)
            changes = {name: v for name, v in changes.items() if v != getattr(before, name)}
            _require_agreement(before, changes)
            if SOURCE_FIELDS & changes.keys() and before.status in ("active", "error"):
                changes.setdefault("status", "pending")
            if changes:
                queries.update_item(session, item_id, changes)
            if INDEXED_FIELDS & changes.keys():
                queries.note_index_changes(session, item_id)
        self._listener.index_changes_noted()
        return self.get(item_id)

    def delete(self, item_id: int) -> None:
        """Delete an item; when this returns, no search shows it. Raises NotFoundError."""
        with self._database.write() as session:
            if not queries.delete_item(session, item_id):
                raise _no_such_item(item_id)
        self._listener.item_deleted(item_id)


def _require_agreement(before: KnowledgeItem, changes: dict[str, Any]) -> None:
    """Refuse what only the item as it stands can tell to be wrong."""
    if changes.get("status") == "error":
        raise ConflictError("Only the service itself sets the status error.")
    if SOURCE_FIELDS & changes.keys():
        document_type = changes.get("document_type", before.document_type)
        complaint = type_complaint(document_type, changes.get("uri", before.uri))
        if complaint:
            raise ConflictError(f"{complaint}: change uri and document_type together.".capitalize())


def _no_such_item(item_id: int) -> NotFoundError:
    return NotFoundError(f"There is no knowledge item {item_id}.")
