"""What is stored becomes the first generation, and comes back when that is undone."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

import migrations
from app.database import Database
from app.generations import queries
from tests.databases import Databases

ITEM = (
    "INSERT INTO knowledge_items (id, title, uri, document_type, collection, status, created_at,"
    " updated_at) VALUES (1, 't', '/x', 'folder', 'kb', 'active', '2026-01-01 00:00:00',"
    " '2026-01-01 00:00:00')"
)
COLLECTION = (
    "INSERT INTO collections (name, embedding_model, embedding_fingerprint, dimension, created_at)"
    " VALUES ('kb', 'mini', '0123456789abcdef', 384, '2026-01-01 00:00:00')"
)
DOCUMENT = (
    "INSERT INTO documents (id, item_id, key, number, document_id, uri, tags, content_hash,"
    " splitter, first_line, fetched_at, indexed_at, content) VALUES (:id, 1, :key, 1, 'd', '/x',"
    " '[]', '', :splitter, 1, '2026-01-01 00:00:00', '2026-01-01 00:00:00', 'text')"
)
CHUNK = (
    "INSERT INTO chunks (id, item_id, document_id, chunk_index, start_index, end_index, start_line,"
    " end_line, heading_path, text_hash, content) VALUES (:id, 1, :document, 0, 0, 4, 1, 1, '[]',"
    " 'hash', 'text')"
)


def undo(url: str, revision: str) -> None:
    """Take the tables of a database down to a revision."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
    engine.dispose()


def test_what_is_stored_becomes_the_first_generation_and_comes_back(
    tmp_path: Path, databases: Databases
) -> None:
    url = databases.empty(tmp_path, "old.db")
    database = Database(url)
    database.migrate("0009")
    splitters = {1: "usual", 2: "usual", 3: "older"}
    with database.write() as session:
        session.execute(text(ITEM))
        session.execute(text(COLLECTION))
        for number, splitter in splitters.items():
            row = {"id": number, "key": str(number), "splitter": splitter}
            session.execute(text(DOCUMENT), row)
            session.execute(text(CHUNK), {"id": f"{number:032}", "document": number})
    database.migrate("0010")
    with database.write() as session:
        stored = queries.current(session)
        assert stored is not None
        generation = stored.generation
        assert (generation.id, generation.fingerprint) == (1, "0123456789abcdef")
        assert (generation.rules, stored.embedding_model, generation.dimension) == (
            "usual",
            "mini",
            384,
        )
        assert stored.embedding_provider is None
        assert queries.count_done(session, 1) == queries.count_chunks(session, 1) == 3
        assert queries.missing_documents(session, 1, 10) == []
        kept = text("UPDATE chunks SET generation_id = 7 WHERE document_id = 3")
        session.execute(kept)
    undo(url, "0009")
    with database.read() as session:
        rows = session.execute(text("SELECT id, splitter FROM documents ORDER BY id"))
        assert dict(rows.all()) == splitters  # type: ignore[arg-type]
        assert session.scalar(text("SELECT COUNT(*) FROM chunks")) == 2, "of what answers"
    database.close()


def test_an_empty_database_has_no_generation(tmp_path: Path, databases: Databases) -> None:
    database = Database(databases.empty(tmp_path, "new.db"))
    database.migrate()
    with database.read() as session:
        assert queries.current(session) is None
    database.migrate("base")
    database.close()
