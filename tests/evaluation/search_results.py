"""Makes search results by hand."""

from app.search.results import SearchResult


def result(document: str, content: str = "", start: int = 0, chunk_id: str = "") -> SearchResult:
    """A chunk of a document, with nothing else to say."""
    return SearchResult(
        content=content,
        knowledge_id=1,
        title="",
        uri="",
        score=0.5,
        chunk_index=0,
        chunk_id=chunk_id or f"{document}:{start}",
        document=document,
        document_title=None,
        document_uri=document,
        start_index=start,
        end_index=start + len(content),
        start_line=1,
        end_line=1,
        heading_path=(),
        category=None,
        tags=(),
        licence=None,
        language=None,
        citation="",
    )
