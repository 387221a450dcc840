"""What revision 0015 makes of categories and tags that were stored before it."""

import json
import unicodedata
from pathlib import Path

import pytest
from sqlalchemy import text

from app.database import Database
from app.knowledge import queries
from app.knowledge.items import ItemFilter
from app.models import DocumentRow
from tests.databases import Databases

ITEM = text(
    "INSERT INTO knowledge_items (id, title, uri, document_type, category, collection, status,"
    " created_at, updated_at) VALUES (:id, 't', '/x', 'folder', :category, 'c', 'active',"
    " '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
)
DOCUMENT = text(
    "INSERT INTO documents (id, item_id, key, number, document_id, uri, category, tags,"
    " content_hash, first_line, fetched_at, indexed_at, content)"
    " VALUES (1, 1, 'a', 1, 'a', '/x', :category, :tags, '', 1,"
    " '2026-01-01 00:00:00', '2026-01-01 00:00:00', 'text')"
)


def apart(label: str) -> str:
    """The label with each accent behind its letter, as macOS writes names of files."""
    return unicodedata.normalize("NFD", label)


@pytest.fixture
def old(tmp_path: Path, databases: Databases) -> Database:
    """A database of the revision before, with one item that has no accents and one that has."""
    database = Database(databases.empty(tmp_path))
    database.migrate("0014")
    tags = {1: [apart("entrée"), "plain", "entrée"], 2: ["plain"]}
    with database.write() as session:
        session.execute(ITEM, {"id": 1, "category": apart("Café/Menü")})
        session.execute(ITEM, {"id": 2, "category": None})
        session.execute(
            DOCUMENT,
            {"category": apart("Café"), "tags": json.dumps([apart("dessert é"), "b"])},
        )
        for item_id, of_item in tags.items():
            for place, tag in enumerate(of_item):
                row = {"item": item_id, "tag": tag, "place": place}
                session.execute(text("INSERT INTO item_tags VALUES (:item, :tag, :place)"), row)
        for tag in (apart("dessert é"), "b"):
            session.execute(text("INSERT INTO document_tags VALUES (1, :tag)"), {"tag": tag})
    return database


def test_items_are_found_by_labels_that_an_older_version_stored_in_another_form(
    old: Database,
) -> None:
    old.migrate()
    with old.read() as session:
        item = queries.existing_item(session, 1)
        assert (item.category, item.tags) == ("Café/Menü", ("entrée", "plain"))
        assert queries.existing_item(session, 2).tags == ("plain",)
        for wanted in (ItemFilter(category="Café"), ItemFilter(tags=("entrée",))):
            assert queries.count_items(session, wanted) == 1
    old.migrate("base")
    old.close()


def test_labels_that_documents_give_themselves_are_kept_in_that_form_as_well(
    old: Database,
) -> None:
    old.migrate()
    with old.read() as session:
        document = session.get_one(DocumentRow, 1)
        assert (document.category, document.tags) == ("Café", ["dessert é", "b"])
        tags = session.scalars(text("SELECT tag FROM document_tags ORDER BY tag"))
        assert list(tags) == ["b", "dessert é"]
    old.close()
