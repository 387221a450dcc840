"""What revision 0008 makes of documents that were stored before it."""

import json
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from app.database import Database
from app.models import DocumentRow
from tests.databases import Databases

OLD_DOCUMENT = text(
    "INSERT INTO documents (id, item_id, key, number, document_id, uri, category, tags,"
    " content_hash, stamp, splitter, first_line, fetched_at, indexed_at, content)"
    " VALUES (:id, 1, :key, 0, :key, '/x', :category, :tags, '', :stamp, '', 1,"
    " '2026-01-01 00:00:00', '2026-01-01 00:00:00', 'text')"
)


def test_old_documents_get_their_times_and_labels(tmp_path: Path, databases: Databases) -> None:
    database = Database(databases.empty(tmp_path))
    database.migrate("0004")
    with database.write() as session:
        session.execute(
            text(
                "INSERT INTO knowledge_items (id, title, uri, document_type, collection, status,"
                " created_at, updated_at) VALUES (1, 't', '/x', 'folder', 'c', 'active',"
                " '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
            )
        )
        for id_, category, tags, stamp in (
            (1, "/Eng//Docs/", ["a, b", "a", " "], "0badcafe-12-1700000000000000000-5"),
            (2, None, [], None),
            (3, "", ["x" * 300], "odd-stamp"),
        ):
            row = {"id": id_, "key": str(id_), "category": category, "stamp": stamp}
            session.execute(OLD_DOCUMENT, row | {"tags": json.dumps(tags)})
    database.migrate()
    with database.read() as session:
        found = [session.get_one(DocumentRow, id_) for id_ in (1, 2, 3)]
        tags = session.execute(text("SELECT document_id, tag FROM document_tags ORDER BY 1, 2"))
        assert [tuple(row) for row in tags] == [(1, "a"), (1, "b"), (3, "x" * 200)]
    assert [row.category for row in found] == ["Eng/Docs", None, None]
    moments = [row.modified_at for row in found]
    assert moments == [datetime.fromtimestamp(1_700_000_000, UTC), None, None]
    database.migrate("base")
    database.close()
