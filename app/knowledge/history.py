"""The history of items: what each indexing run changed."""

from app.database import Database
from app.knowledge import history_queries
from app.knowledge.existing_items import require_item
from app.knowledge.history_records import HistoryPage
from app.web.pagination import Cursor


class HistoryService:
    """Reads what happened to items. Each call is one snapshot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, item_id: int, limit: int, cursor: str | None) -> HistoryPage:
        """One page of an item's runs, newest first.

        Raises NotFoundError, and InvalidRequestError for a cursor that is not ours.
        """
        name = f"history of {item_id}"
        before_id = Cursor.decode(cursor, name).row_id if cursor is not None else None
        with self._database.read() as session:
            require_item(session, item_id)
            found = history_queries.list_runs(session, item_id, limit + 1, before_id)
        runs = tuple(found[:limit])
        more = len(found) > limit
        next_cursor = Cursor(name, runs[-1].id, runs[-1].id).encode() if more else None
        return HistoryPage(runs, next_cursor)
