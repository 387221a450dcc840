"""The rules of knowledge items: what changes when, and who is told."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from sqlalchemy.orm import Session

from app.clock import now
from app.database import Database
from app.errors import ConflictError
from app.fault_points import FaultPoint, reached
from app.knowledge import queries
from app.knowledge.existing_items import require_item_id, unknown_item
from app.knowledge.index_changes import note_index_changes
from app.knowledge.items import ItemDraft, ItemFilter, ItemPage, KnowledgeItem, type_complaint
from app.knowledge.refreshing import next_refresh
from app.knowledge.statuses import require_new_status, status_after, wish_of_replacement

SOURCE_FIELDS = frozenset({"uri", "document_type"})
"""Fields that say where an item's text comes from."""

INDEXED_FIELDS = frozenset({"title", "document_type", "category", "tags"})
"""Fields that an index keeps a copy of, or goes by."""


class ItemListener(Protocol):
    """Told of changes to items; the indexing side listens."""

    def deleting_item(self, session: Session, item_id: int) -> Callable[[], None]:
        """The item is about to be deleted; returns what to call once that is committed.

        By then another item may have its id, so the work that has to end is found now.
        """
        ...

    def index_changes_noted(self) -> None:
        """Called after new rows of the outbox have been committed."""
        ...


class KnowledgeService:
    """Creates, reads, changes and deletes items. Each call is one transaction."""

    def __init__(
        self,
        database: Database,
        listener: ItemListener,
        default_collection: str,
        default_language: str,
    ) -> None:
        """`default_language` is that of collections that have none of their own."""
        self._database = database
        self._listener = listener
        self._default_collection = default_collection
        self._default_language = default_language

    def create(self, draft: ItemDraft) -> KnowledgeItem:
        """Add an item without indexing it. Raises ConflictError for a status that indexing sets."""
        require_new_status(draft.status)
        with self._database.write() as session:
            item_id = queries.add_item(session, draft, self._default_collection)
        reached(FaultPoint.ITEM_CREATED)
        return self.get(item_id)

    def get(self, item_id: int) -> KnowledgeItem:
        """One item; raises NotFoundError."""
        with self._database.read() as session:
            return queries.existing_item(session, item_id)

    def ids(self, wanted: ItemFilter) -> Sequence[int]:
        """The ids of the items that the filter means, oldest first."""
        with self._database.read() as session:
            return queries.list_item_ids(session, wanted)

    def save(self, item_id: int, draft: ItemDraft) -> KnowledgeItem:
        """Create the item with this id, or update it: for programs that number items themselves.

        In an item that exists, what the draft leaves open (collection, licence, importance, status,
        interval) stays as it is. Raises InvalidRequestError for an id so high that no further item
        could get one.
        """
        require_item_id(item_id)
        with self._database.write() as session:
            before = queries.get_item(session, item_id)
            if before is None:
                require_new_status(draft.status)
                queries.add_item(session, draft, self._default_collection, item_id)
            else:
                changes = {
                    name: value
                    for name, value in asdict(draft).items()
                    if value is not None or name == "category"
                }
                self._change(session, before, changes, changes.pop("status", None))
        self._listener.index_changes_noted()
        return self.get(item_id)

    def list(self, wanted: ItemFilter, sort: str, limit: int, cursor: str | None) -> ItemPage:
        """One page of items; raises InvalidRequestError for a cursor that is not ours."""
        with self._database.read() as session:
            items, next_cursor = queries.list_items(session, wanted, sort, limit, cursor)
            return ItemPage(tuple(items), next_cursor, queries.count_items(session, wanted))

    def replace(self, item_id: int, draft: ItemDraft) -> KnowledgeItem:
        """Replace every field that a client may set; raises NotFoundError.

        Of the status, the client decides only whether the item is archived.
        """
        changes = asdict(draft)
        changes["collection"] = draft.collection or self._default_collection
        del changes["status"]
        with self._database.write() as session:
            before = queries.existing_item(session, item_id)
            self._change(session, before, changes, wish_of_replacement(before, draft.status))
        self._listener.index_changes_noted()
        return self.get(item_id)

    def update(self, item_id: int, changes: dict[str, Any]) -> KnowledgeItem:
        """Change some fields; raises NotFoundError, and ConflictError for fields that contradict.

        An item whose source changes becomes `pending`: what is searchable is still the text of
        the old source, until the item is indexed again.
        """
        changes = dict(changes)
        with self._database.write() as session:
            before = queries.existing_item(session, item_id)
            self._change(session, before, changes, changes.pop("status", None))
        reached(FaultPoint.ITEM_CHANGED)
        self._listener.index_changes_noted()
        return self.get(item_id)

    def delete(self, item_id: int) -> None:
        """Delete an item; when this returns, no search shows it. Raises NotFoundError."""
        with self._database.write() as session:
            if not queries.delete_item(session, item_id):
                raise unknown_item(item_id)
            when_deleted = self._listener.deleting_item(session, item_id)
        reached(FaultPoint.ITEM_DELETED)
        when_deleted()

    def _change(
        self,
        session: Session,
        before: KnowledgeItem,
        changes: dict[str, Any],
        wished_status: str | None,
    ) -> None:
        """Store the fields that differ, with the changes that follow from them."""
        changes = {name: value for name, value in changes.items() if value != getattr(before, name)}
        source_changes = bool(SOURCE_FIELDS & changes.keys())
        if source_changes:
            _require_agreement(before, changes)
            # They belong to the source that the item had; of the new one, nothing is known yet.
            changes |= dict.fromkeys(("error", "content_hash", "last_fetched_at", "mounts"))
            changes["refresh_failures"] = 0
        status = status_after(before, wished_status, source_changes=source_changes)
        if status != before.status:
            changes["status"] = status
            if status == "pending":
                changes["error"] = None
        if "refresh_interval" in changes:
            uri = changes.get("uri", before.uri)
            changes["next_refresh_at"] = next_refresh(now(), changes["refresh_interval"], uri)
        if changes:
            queries.update_item(session, before.id, changes)
        if INDEXED_FIELDS & changes.keys() or self._changes_language(session, before, changes):
            note_index_changes(session, before.id)

    def _changes_language(
        self, session: Session, before: KnowledgeItem, changes: dict[str, Any]
    ) -> bool:
        """Whether the item's words are to be stemmed by another language than before."""
        if "collection" not in changes:
            return False
        both = {before.collection, changes["collection"]}
        return not queries.have_one_language(session, both, self._default_language)


def _require_agreement(before: KnowledgeItem, changes: dict[str, Any]) -> None:
    """Refuse an address that does not suit the document type, whichever of them changes."""
    document_type = changes.get("document_type", before.document_type)
    complaint = type_complaint(document_type, changes.get("uri", before.uri))
    if complaint:
        raise ConflictError(f"{complaint}: change uri and document_type together.".capitalize())
