"""Documents on their way in: what is known of them, and what has to be stored."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Self

from app.indexing.embedded_text import chunk_context, embedded_text
from app.indexing.generation import Generation
from app.protocols import LoadedDocument, SourceEntry, TextChunk, TokenMeter


class DocumentDetails(NamedTuple):
    """Everything of a loaded document that is stored, under the names of its columns.

    A difference means a new version.
    """

    content_hash: str
    document_id: str
    uri: str
    title: str | None
    category: str | None
    tags: tuple[str, ...]
    licence: str | None
    language: str | None
    first_line: int

    @classmethod
    def of(cls, loaded: LoadedDocument) -> Self:
        """As its source has it now."""
        return cls(
            content_hash=loaded.content_hash,
            document_id=loaded.document_id,
            uri=loaded.source_uri,
            title=loaded.title,
            category=loaded.category,
            tags=tuple(loaded.tags),
            licence=loaded.licence,
            language=loaded.language,
            first_line=loaded.first_line,
        )


@dataclass(frozen=True)
class KnownDocument:
    """A document as SQL holds it, without its text."""

    id: int
    key: str
    stamp: str | None
    splitter: str
    """The rules by which its chunks were made; empty: the generation has none of it yet."""
    details: DocumentDetails
    """As it was stored."""


@dataclass(frozen=True)
class SourceTimes:
    """What may change about a document though it says the same."""

    stamp: str | None
    modified_at: datetime | None
    """What the document says of itself, else its file's time; None: neither is known."""

    @classmethod
    def of(cls, entry: SourceEntry, loaded: LoadedDocument) -> Self:
        """As its source has it now."""
        return cls(entry.stamp, loaded.modified_at or entry.modified_at)


@dataclass(frozen=True)
class PreparedChunk:
    """A chunk with its identity, before it is stored."""

    id: str
    """32 hex digits; the same chunk of the same document always has the same."""
    text_hash: str
    """SHA-256 of the text to embed."""
    chunk: TextChunk
    context: str = ""
    """The line that is embedded before the content."""

    @property
    def embedded_text(self) -> str:
        """The text to embed."""
        return embedded_text(self.context, self.chunk.content)


@dataclass(frozen=True)
class PreparedDocument:
    """A document's new version, ready to be embedded and stored."""

    entry: SourceEntry
    loaded: LoadedDocument
    splitter: str
    """The rules by which its chunks were made."""
    chunks: tuple[PreparedChunk, ...]


def document_number(item_id: int, key: str) -> int:
    """What the indexes know a document by before SQL has a row for it: 0 to 2**53 - 1.

    Two documents in a million share theirs with a chance of 1 in 18,000; a search then looks at
    one document too many, and SQL drops it.
    """
    digest = hashlib.sha256(f"{item_id}\0{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def sha256_hex(text: str) -> str:
    """SHA-256 of the text in UTF-8, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def prepare_chunks(
    item_id: int,
    key: str,
    loaded: LoadedDocument,
    chunks: Sequence[TextChunk],
    meter: TokenMeter | None,
    generation: Generation,
) -> tuple[PreparedChunk, ...]:
    """Give each chunk its context and its identity.

    It depends on generation, item, document and text, not on position: a chunk that merely moved
    is still the same. Equal texts within a document are told apart by their order.
    """
    seen: dict[str, int] = {}
    prepared = []
    for chunk in chunks:
        context = chunk_context(loaded, key, chunk, meter)
        text_hash = sha256_hex(embedded_text(context, chunk.content))
        occurrence = seen.get(text_hash, 0)
        seen[text_hash] = occurrence + 1
        parts = (generation.identity, str(item_id), key, text_hash, str(occurrence))
        identity = sha256_hex("\0".join(parts))[:32]
        prepared.append(PreparedChunk(identity, text_hash, chunk, context))
    return tuple(prepared)
