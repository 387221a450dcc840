"""Documents as SQL holds them, taken for what their source once gave."""

from app.models import DocumentRow
from app.protocols import LoadedDocument


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
