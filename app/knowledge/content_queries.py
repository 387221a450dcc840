"""All SQL about the stored text of items."""

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from app.accents import writings
from app.knowledge.content_records import DocumentText, StoredDocument
from app.models import IS_CURRENT, ChunkRow, DocumentRow, ItemRow
from app.text_order import by_character


def count_documents(connection: Connection, item_id: int) -> int:
    """How many documents the item has."""
    counted = select(func.count()).select_from(DocumentRow).where(DocumentRow.item_id == item_id)
    return connection.scalar(counted) or 0


def list_documents(
    connection: Connection, item_id: int, limit: int, after_key: str | None
) -> list[StoredDocument]:
    """Documents of an item in the order of their keys, from the one after `after_key`."""
    of_document = (ChunkRow.document_id == DocumentRow.id) & IS_CURRENT
    statement = (
        select(
            DocumentRow.id,
            DocumentRow.key,
            DocumentRow.document_id,
            DocumentRow.title,
            DocumentRow.uri,
            DocumentRow.first_line,
            DocumentRow.licence,
            ItemRow.licence.label("item_licence"),
            DocumentRow.language,
            DocumentRow.content_hash,
            DocumentRow.indexed_at,
            select(func.count()).where(of_document).scalar_subquery().label("chunk_count"),
            # Chunks cover every character, so that the text need not be read to count its lines.
            select(func.max(ChunkRow.end_line)).where(of_document).scalar_subquery().label("lines"),
        )
        .join(ItemRow, ItemRow.id == DocumentRow.item_id)
        .where(DocumentRow.item_id == item_id)
        .order_by(by_character(DocumentRow.key))
        .limit(limit)
    )
    if after_key is not None:
        statement = statement.where(by_character(DocumentRow.key) > after_key)
    return [
        StoredDocument(
            row_id=row.id,
            key=row.key,
            document_id=row.document_id,
            title=row.title,
            uri=row.uri,
            first_line=row.first_line,
            total_lines=row.lines or row.first_line,
            chunk_count=row.chunk_count,
            licence=row.licence or row.item_licence,
            language=row.language,
            content_hash=row.content_hash,
            indexed_at=row.indexed_at,
        )
        for row in connection.execute(statement)
    ]


def first_keys(connection: Connection, item_id: int, limit: int) -> list[str]:
    """The keys of the item's first documents."""
    statement = select(DocumentRow.key).where(DocumentRow.item_id == item_id)
    return list(connection.scalars(statement.order_by(by_character(DocumentRow.key)).limit(limit)))


def first_row_ids(connection: Connection, item_id: int) -> Sequence[int]:
    """Up to two documents of the item: enough to know whether there is just one."""
    statement = select(DocumentRow.id).where(DocumentRow.item_id == item_id).limit(2)
    return connection.scalars(statement).all()


def row_ids_by_key(connection: Connection, item_id: int, key: str) -> Sequence[int]:
    """The document with this key, if there is one; else those that write its accents otherwise.

    Keys are those of the file system, some of which take accents apart from their letters.
    """
    of_item = select(DocumentRow.id).where(DocumentRow.item_id == item_id)
    found = connection.scalars(of_item.where(DocumentRow.key == key)).all()
    if found or key.isascii():
        return found
    return connection.scalars(of_item.where(DocumentRow.key.in_(writings(key)))).all()


def row_ids_by_uri(connection: Connection, item_id: int, uri: str) -> Sequence[int]:
    """Up to two documents with this address: the frontmatter of several may name the same."""
    statement = select(DocumentRow.id).where(DocumentRow.item_id == item_id, DocumentRow.uri == uri)
    return connection.scalars(statement.limit(2)).all()


def read_text(connection: Connection, row_id: int) -> DocumentText:
    """A document with its text; its row must exist in this snapshot."""
    columns = (
        DocumentRow.key,
        DocumentRow.title,
        DocumentRow.uri,
        DocumentRow.first_line,
        DocumentRow.content_hash,
        DocumentRow.content,
    )
    row = connection.execute(select(*columns).where(DocumentRow.id == row_id)).one()
    return DocumentText(
        key=row.key,
        title=row.title,
        uri=row.uri,
        first_line=row.first_line,
        content_hash=row.content_hash,
        content=row.content,
    )
