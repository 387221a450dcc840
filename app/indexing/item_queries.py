"""SQL of items as indexing sees them: what is there of them, and how their last run ended."""

import hashlib
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.clock import now
from app.indexing import queries
from app.indexing.refresh_queries import schedule_after_failure, schedule_after_success
from app.knowledge.index_changes import note_chunks
from app.models import IS_CURRENT, ChunkRow, DocumentRow, ItemRow


def has_documents(session: Session, item_id: int) -> bool:
    """Whether anything of the item is stored."""
    statement = select(DocumentRow.id).where(DocumentRow.item_id == item_id).limit(1)
    return session.scalar(statement) is not None


def mounts_of(session: Session, item_id: int) -> list[str]:
    """Where other file systems were mounted when the item was indexed last."""
    return session.scalar(select(ItemRow.mounts).where(ItemRow.id == item_id)) or []


def finish_item(
    session: Session, item_id: int, indexed_source: tuple[str, str], mounts: Sequence[str] = ()
) -> tuple[str, int, int]:
    """Note a success; returns content hash, documents and chunks as they stand now.

    An item that was pointed at another source (uri, document type) meanwhile stays `pending`.
    """
    rows = select(DocumentRow.key, DocumentRow.content_hash).where(DocumentRow.item_id == item_id)
    hashes = sorted((key, digest) for key, digest in session.execute(rows))
    content_hash = _content_hash(hashes)
    chunks = _count_chunks(session, item_id)
    item = session.get_one(ItemRow, item_id)
    same_source = (item.uri, item.document_type) == indexed_source
    item.indexed_at = now()
    if same_source and item.status in ("pending", "error"):
        item.status = "active"
    if same_source:
        item.content_hash, item.error = content_hash, None
        item.mounts = list(mounts)
        item.last_fetched_at = item.indexed_at
        schedule_after_success(item)
    return content_hash, len(hashes), chunks


def _count_chunks(session: Session, item_id: int) -> int:
    of_item = select(func.count()).where(ChunkRow.item_id == item_id, IS_CURRENT)
    return session.scalar(of_item) or 0


def _content_hash(hashes: Sequence[tuple[str, str]]) -> str:
    """One document's own hash, or the SHA-256 of all keys and hashes in order."""
    if len(hashes) == 1:
        return hashes[0][1]
    return hashlib.sha256("".join(f"{k}\0{h}\n" for k, h in hashes).encode()).hexdigest()


def fail_item(
    session: Session,
    item_id: int,
    error: str,
    indexed_source: tuple[str, str],
    retry_after_seconds: float | None = None,
) -> None:
    """Note a failure of an item that exists; what is searchable is not touched.

    An active item of which nothing is stored, and a pending one, get the status `error`. It says
    nothing of an item that was pointed at another source meanwhile.
    """
    item = session.get_one(ItemRow, item_id)
    if (item.uri, item.document_type) == indexed_source:
        item.error = error
        nothing_left = not has_documents(session, item_id)
        if nothing_left:
            item.content_hash = None
        if item.status == "pending" or (item.status == "active" and nothing_left):
            item.status = "error"
        schedule_after_failure(item, retry_after_seconds)


def clear_item(session: Session, item_id: int) -> tuple[int, int]:
    """Delete all documents of an item, which becomes `pending` unless it is archived.

    Returns how many documents and searchable chunks it had.
    """
    chunks = _count_chunks(session, item_id)
    ids = list(session.scalars(select(DocumentRow.id).where(DocumentRow.item_id == item_id)))
    note_chunks(session, queries.delete_documents(session, ids))
    item = session.get_one(ItemRow, item_id)
    item.status = "archived" if item.status == "archived" else "pending"
    item.content_hash = item.indexed_at = item.error = item.next_refresh_at = None
    item.mounts, item.refresh_failures = None, 0
    return len(ids), chunks
