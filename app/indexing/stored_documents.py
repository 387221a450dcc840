"""Documents as SQL holds them, taken for what their source once gave."""

from app.indexing.documents import PreparedChunk, prepare_chunks
from app.indexing.generation import Generation
from app.models import DocumentRow
from app.protocols import LoadedDocument, TextSplitter, TokenMeter


def loaded_document(row: DocumentRow) -> LoadedDocument:
    """The document as it was when it was stored: it can be cut and embedded again from this."""
    return LoadedDocument(
        content=row.content,
        document_id=row.document_id,
        content_hash=row.content_hash,
        source_uri=row.uri,
        title=row.title,
        category=row.category,
        tags=tuple(row.tags),
        licence=row.licence,
        language=row.language,
        first_line=row.first_line,
    )


def cut_again(
    row: DocumentRow, splitter: TextSplitter, meter: TokenMeter | None, generation: Generation
) -> tuple[PreparedChunk, ...]:
    """The chunks of a document, made anew from its text."""
    loaded = loaded_document(row)
    pieces = splitter.split_text(loaded.content, name=row.key)
    return prepare_chunks(row.item_id, row.key, loaded, pieces, meter, generation)
