"""Which chunks the outbox names, without reading all of it for every question."""

from collections.abc import Collection

from sqlalchemy.orm import Session

from app.indexing import outbox_queries


class OpenChanges:
    """Remembers the rows that were read. Only for the writer thread, between two changes.

    What stands in a row changes within one change alone: in between, rows come and go whole, and
    no id comes back.
    """

    def __init__(self) -> None:
        self._rows: dict[int, frozenset[str]] = {}

    def among(self, session: Session, chunk_ids: Collection[str]) -> set[str]:
        """Those of the chunks of which it is known that the indexes may differ from SQL."""
        still_open = outbox_queries.open_changes(session)
        unread = sorted(still_open - self._rows.keys())
        kept = {key: named for key, named in self._rows.items() if key in still_open}
        self._rows = kept | outbox_queries.chunks_of_changes(session, unread)
        asked = frozenset(chunk_ids)
        return {chunk_id for named in self._rows.values() for chunk_id in asked & named}
