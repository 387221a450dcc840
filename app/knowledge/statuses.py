"""The statuses of an item, and what a client may make of them.

    pending ──indexed──► active ──taken out of the index, or another source──► pending
       └──failed──► error ──indexed──► active ──nothing left at the source──► error
    any ──a client──► archived ──a client──► active if it is indexed, else pending

What indexing does is written in `app/indexing`; here stands what clients may do: archive an item,
bring it back, and ask for it to be indexed again (`pending`).
"""

from app.errors import ConflictError, InvalidRequestError
from app.knowledge.items import ItemStatus, KnowledgeItem


def require_known_status(status: str | None) -> None:
    """Raise InvalidRequestError for a status that no item can have; None stands for no wish."""
    if status is not None and status not in tuple(ItemStatus):
        raise InvalidRequestError(f"status is one of: {', '.join(ItemStatus)}.", pointer="#/status")


def require_new_status(wished: str | None) -> None:
    """Raise ConflictError for a status that a new item cannot have."""
    if wished not in (None, "pending", "archived"):
        raise ConflictError(
            f"A new item is pending or archived, not {wished}; it becomes active by being indexed."
        )


def status_after(item: KnowledgeItem, wished: str | None, *, source_changes: bool) -> str:
    """The status after a client's change; without a wish, what follows from a changed source.

    Raises ConflictError for a wish that only indexing can fulfil.
    """
    if wished in ("pending", "archived"):
        return wished
    if wished == "active" and item.status == "archived":
        return _at_rest(item, source_changes=source_changes)
    if wished == "active" and item.status != "active":
        if _at_rest(item, source_changes=source_changes) == "pending":
            raise ConflictError(
                f"Item {item.id} is not indexed yet, and becomes active by that: "
                f"POST /api/v1/rag/index/{item.id}."
            )
        return "active"
    if wished == "error" and item.status != "error":
        raise ConflictError("Only the service itself sets the status error.")
    if source_changes and item.status in ("active", "error"):
        return "pending"
    return item.status


def wish_of_replacement(item: KnowledgeItem, given: str | None) -> str | None:
    """What is wished by the status of a whole new state, which may have been read a while ago.

    All but `archived` say no more than that the item is not archived.
    """
    if given is None or given == "archived":
        return given
    return "active" if item.status == "archived" else None


def _at_rest(item: KnowledgeItem, *, source_changes: bool) -> str:
    """The status of an item that is neither archived nor failed."""
    is_indexed = item.chunk_count > 0 and item.content_hash is not None and not source_changes
    return "active" if is_indexed else "pending"
