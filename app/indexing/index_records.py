"""What the indexes get to know of a chunk that is on its way into SQL."""

from collections.abc import Mapping
from typing import Any

from app.indexing.documents import PreparedChunk, PreparedDocument, document_number
from app.indexing.vector_queries import record_metadata
from app.protocols import LexicalRecord, Vector, VectorRecord
from app.searched_titles import searched_titles


def vector_record(
    item_id: int,
    item: Mapping[str, Any],
    document: PreparedDocument,
    chunk: PreparedChunk,
    vector: Vector,
) -> VectorRecord:
    """For the vector index; `item` is the metadata that all records of the item share."""
    return VectorRecord(
        chunk_id=chunk.id,
        item_id=item_id,
        document_number=document_number(item_id, document.entry.key),
        vector=vector,
        metadata=record_metadata(
            **item,
            uri=document.loaded.source_uri,
            chunk_index=chunk.chunk.chunk_index,
            start_index=chunk.chunk.start_index,
        ),
    )


def lexical_record(
    item_id: int,
    item: Mapping[str, Any],
    language: str | None,
    document: PreparedDocument,
    chunk: PreparedChunk,
) -> LexicalRecord:
    """For the lexical index; `item` as above, `language` is that of the item's collection."""
    return LexicalRecord(
        chunk_id=chunk.id,
        item_id=item_id,
        document_number=document_number(item_id, document.entry.key),
        content=chunk.chunk.content,
        titles=searched_titles(document.loaded.title, item["title"], item["document_type"]),
        heading_path=chunk.chunk.heading_path,
        path=document.entry.key,
        language=language,
    )
