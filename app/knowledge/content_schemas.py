"""The stored text of items as JSON."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class Content(BaseModel):
    """Lines of a document as they are stored."""

    model_config = ConfigDict(from_attributes=True)

    knowledge_id: int
    document: str = Field(description="Key of the document within its item.")
    title: str | None = Field(description="Null: it has none of its own.")
    uri: str = Field(description="Address of the document.")
    first_line: int = Field(
        description="First line of `content`, counted in the source as citations count."
    )
    last_line: int = Field(description="Last line of `content`, included.")
    total_lines: int = Field(description="Lines of the source, frontmatter included.")
    content: str = Field(description="The lines with their line breaks.")
    content_hash: str = Field(description="SHA-256 of the document's whole text.")
    truncated: bool = Field(
        description="Whether more was asked for than one answer holds; go on at last_line + 1."
    )


class Document(BaseModel):
    """A document of a knowledge item: a file or a page."""

    model_config = ConfigDict(from_attributes=True)

    key: str = Field(
        description="Names the document within its item, in citations, too: a relative path or an "
        "address.",
        examples=["guide/auth.md"],
    )
    document_id: str = Field(
        description="As its frontmatter calls it (`document_id`), for those who made it: nothing "
        "is found or cited by it, and several may have the same. Else its path or address."
    )
    title: str | None = Field(description="Null: it has none of its own.")
    uri: str = Field(description="Address of the document.")
    first_line: int = Field(
        description="Line of the source at which the text starts, after the frontmatter."
    )
    total_lines: int = Field(description="Lines of the source, frontmatter included.")
    chunk_count: int = Field(description="Chunks of it that are stored.")
    licence: str | None = Field(description="The document's own, else that of its item.")
    language: str | None = Field(description="As the document names it.")
    content_hash: str = Field(description="SHA-256 of the text.")
    indexed_at: datetime = Field(description="When its present version was indexed.")


class DocumentPage(BaseModel):
    """One page of an item's documents, ordered by key."""

    model_config = ConfigDict(from_attributes=True)

    documents: list[Document] = Field(description="Ordered by key.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last.")
    total: int = Field(description="Documents on all pages.")
