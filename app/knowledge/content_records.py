"""What is stored of an item's documents, apart from HTTP and SQL."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class StoredDocument:
    """A document of an item, without its text."""

    row_id: int
    key: str
    """Unique within the item: a relative path or an address."""
    document_id: str
    """As its frontmatter calls it, else its path or address."""
    title: str | None
    uri: str
    first_line: int
    """1-based line of the source at which the text starts: after the frontmatter."""
    total_lines: int
    """Lines of the source, frontmatter included."""
    chunk_count: int
    licence: str | None
    """Its own, else that of its item."""
    language: str | None
    content_hash: str
    indexed_at: datetime


@dataclass(frozen=True)
class DocumentPage:
    """A page of documents, ordered by key."""

    documents: tuple[StoredDocument, ...]
    next_cursor: str | None
    total: int
    """Documents of the item, on all pages."""


@dataclass(frozen=True)
class DocumentText:
    """A document's text as it is stored."""

    key: str
    title: str | None
    uri: str
    first_line: int
    """1-based line of the source at which the text starts."""
    content_hash: str
    content: str


@dataclass(frozen=True)
class Content:
    """Lines of a document."""

    knowledge_id: int
    document: str
    title: str | None
    uri: str
    first_line: int
    """First line of `content`, counted in the source."""
    last_line: int
    """Last line of `content`, included."""
    total_lines: int
    """Lines of the source, frontmatter included."""
    content: str
    """With all line breaks: the answers for all lines, joined, are the text."""
    content_hash: str
    """Of the document's whole text."""
    truncated: bool
    """Whether more lines were asked for than one answer holds."""
