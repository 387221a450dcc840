"""All seams on one page: what the service needs, whoever provides it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""A unit-length float32 vector of shape (dimension,)."""

Vectors = npt.NDArray[np.float32]
"""Unit-length float32 vectors of shape (n, dimension)."""


# Loading ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoadedDocument:
    """One document as text, with what its source says about it."""

    content: str
    document_id: str
    """Unique within its source: from frontmatter, else the relative path or the address."""
    content_hash: str
    """SHA-256 of the content in UTF-8, in hex."""
    source_uri: str
    title: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    licence: str | None = None
    """SPDX identifier or expression."""
    language: str | None = None
    modified_at: datetime | None = None
    """When it was last changed, as it says itself or its server does; with a time zone."""
    warnings: tuple[str, ...] = ()
    first_line: int = 1
    """1-based line of the source at which `content` starts."""
    stamp: str | None = None
    """As SourceEntry's, of a source that tells it only with the text."""


@dataclass(frozen=True)
class SourceEntry:
    """A document that a source offers, before it is read."""

    key: str
    """Unique within the source and stable between listings: relative path or address."""
    uri: str
    """Where a person finds it: an absolute path or an address."""
    stamp: str | None = None
    """Changes whenever the bytes may have changed (size and times); None: unknown, always read."""
    modified_at: datetime | None = None
    """When the file was last written; with a time zone."""


@dataclass(frozen=True)
class SourceNote:
    """A place in a source and what is to be said of it: why it was skipped, or what is odd."""

    uri: str
    reason: str


@dataclass(frozen=True)
class SourceListing:
    """What a source offers now."""

    entries: tuple[SourceEntry, ...]
    skipped: tuple[SourceNote, ...] = ()
    incomplete: tuple[str, ...] = ()
    """Prefixes of keys that could not be listed now: what is known below them is not gone."""
    mounts: tuple[str, ...] = ()
    """Prefixes of keys at which another file system is mounted; "" for the source itself."""
    empty: tuple[str, ...] = ()
    """Prefixes of keys below which there is nothing at all."""

    def without_lost_mounts(self, mounts_before: Collection[str]) -> "SourceListing":
        """The listing, with what is no longer mounted as incomplete, and still to be mounted.

        A mount point is left empty when its file system goes, which says nothing of the files.
        """
        lost = sorted({*self.empty} & ({*mounts_before} - {*self.mounts}))
        return replace(self, incomplete=(*self.incomplete, *lost), mounts=(*self.mounts, *lost))


class Source(Protocol):
    """What an item's `uri` points to. Errors are the SourceError family."""

    def scan(self) -> SourceListing:
        """List the documents without reading them."""
        ...

    def read(self, entry: SourceEntry) -> LoadedDocument:
        """Read one listed document."""
        ...


@runtime_checkable
class ConditionalSource(Source, Protocol):
    """A source that can say, when it is asked for a document, that it has not changed."""

    def read_if_changed(self, entry: SourceEntry, stamp: str) -> LoadedDocument | None:
        """Read a document; None when it is as it was when it had this stamp."""
        ...


class SourceOpener(Protocol):
    """Finds the right kind of source for a `uri`."""

    def open(self, uri: str, document_type: str) -> Source:
        """Open a source; raises SourceError when the guards refuse it."""
        ...


# Splitting -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextChunk:
    """A stretch of a document: `document[start_index:end_index] == content`."""

    content: str
    start_index: int
    end_index: int
    chunk_index: int
    start_line: int
    """1-based line of the first character."""
    end_line: int
    """1-based line of the last character."""
    heading_path: tuple[str, ...] = ()
    """The headings above the chunk, outermost first."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chunk_type: str = "text"
    """What most of it is: text, code, table, list or heading."""
    completeness: float | None = None
    """1: whole sections; 0: begins and ends within a paragraph; None: not known."""


class TokenMeter(Protocol):
    """Measures text in the tokens of the embedding model."""

    @property
    def max_tokens(self) -> int:
        """Tokens of text that the model reads (its special tokens already taken off)."""
        ...

    def count(self, text: str) -> int:
        """Tokens of the text, special tokens not counted."""
        ...

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        """Character spans of the text's tokens in order, shape (n, 2)."""
        ...


class TextSplitter(Protocol):
    """Cuts a document into chunks that cover it."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would be cut differently."""
        ...

    def split_text(
        self, content: str, metadata: Mapping[str, Any] | None = None
    ) -> list[TextChunk]:
        """Cut the text; the metadata is handed on to every chunk."""
        ...


# Embedding -------------------------------------------------------------------------------------


class Embedder(Protocol):
    """Turns text into vectors. Safe to call from many threads. Failures raise EmbeddingError."""

    @property
    def model_name(self) -> str:
        """The model's name as configured."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """16 hex digits; equal exactly when vectors may share a space."""
        ...

    @property
    def token_meter(self) -> TokenMeter | None:
        """How the model counts, or None where only its endpoint knows."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts in the order given; shape (len(texts), dimension), unit length."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed one query ahead of waiting documents; shape (dimension,), unit length."""
        ...

    def close(self) -> None:
        """Release the model; waiting calls fail with EmbeddingError."""
        ...


# Vector index ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchScope:
    """What a search may find. A chunk must satisfy both; None stands for no limit."""

    item_ids: Collection[int] | None = None
    document_numbers: Collection[int] | None = None
    """Numbers of documents, as the records carry them."""


EVERYWHERE = SearchScope()


@dataclass(frozen=True)
class VectorRecord:
    """A chunk as a vector index holds it."""

    chunk_id: str
    item_id: int
    document_number: int
    """Known before SQL has a row: derived from item and document key; 0 to 2**53 - 1."""
    vector: Vector
    metadata: Mapping[str, str | int | float | bool | list[str]] = field(default_factory=dict)


class VectorHit(NamedTuple):
    """A chunk that a vector index found."""

    chunk_id: str
    score: float
    """Cosine similarity, -1 to 1."""


class VectorIndex(Protocol):
    """Nearest neighbours by cosine. A cache of SQL: losing it loses nothing.

    Safe for many readers beside one writer. Failures raise VectorIndexError.
    """

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add records, or replace those with the same chunk id."""
        ...

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; unknown ids are no error."""
        ...

    def search(
        self, vector: Vector, limit: int, scope: SearchScope = EVERYWHERE
    ) -> list[VectorHit]:
        """The nearest records within the scope, best first."""
        ...

    def similarities(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The cosine of each of these records, -1 to 1; unknown ids are left out."""
        ...

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; unknown ids are left out."""
        ...

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        ...

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        ...

    def count(self) -> int:
        """How many records there are."""
        ...

    def clear(self) -> None:
        """Remove everything, and start again with an empty index."""
        ...

    def close(self) -> None:
        """Flush and release files."""
        ...


class VectorPart(Protocol):
    """One of the copies of the vectors that a vector index may keep. Raises VectorIndexError."""

    def search(self, vector: Vector, limit: int) -> list[VectorHit]:
        """The nearest records, best first."""
        ...

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        ...

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        ...

    def count(self) -> int:
        """How many records there are."""
        ...


class VectorSource(Protocol):
    """Streams what the vector index should hold, straight from SQL."""

    def __call__(self) -> Iterator[Sequence[VectorRecord]]:
        """Yield all records, in batches."""
        ...


# Lexical index ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LexicalRecord:
    """A chunk as a lexical index holds it."""

    chunk_id: str
    item_id: int
    document_number: int
    content: str
    title: str = ""
    """Title of the document, or of its item."""
    heading_path: tuple[str, ...] = ()
    path: str = ""
    """The document's key: a relative path or an address."""


class LexicalHit(NamedTuple):
    """A chunk that a lexical index found."""

    chunk_id: str
    score: float
    """BM25 over the fields, above 0; comparable within one answer only."""


class LexicalIndex(Protocol):
    """Full-text search by words. A cache of SQL: losing it loses nothing.

    Safe for many readers beside one writer. Failures raise LexicalIndexError.
    """

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        """Add or replace records by chunk id; searches that begin afterwards see them."""
        ...

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records; unknown ids are no error. May become visible and durable later."""
        ...

    def search(self, query: str, limit: int, scope: SearchScope = EVERYWHERE) -> list[LexicalHit]:
        """The records that match best within the scope, best first.

        The query is text, never a query language, but for two things: words in double quotes must
        stand side by side in a record's content, title or headings, and a record whose content
        holds a word after `-` is left out.
        """
        ...

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """The document number of each of these records; unknown ids are left out."""
        ...

    def ceiling(self, query: str) -> float:
        """The BM25 that would be full for this query: that of a text which says all of it.

        0 when the query has no word that is searched for.
        """
        ...

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        ...

    def count(self) -> int:
        """How many records there are."""
        ...

    def clear(self) -> None:
        """Remove everything, and start again with an empty index."""
        ...

    def close(self) -> None:
        """Flush and release files."""
        ...


class LexicalSource(Protocol):
    """Streams what the lexical index should hold, straight from SQL."""

    def __call__(self) -> Iterator[Sequence[LexicalRecord]]:
        """Yield all records, in batches."""
        ...


# Jobs ------------------------------------------------------------------------------------------

MOST_SKIPPED_SHOWN = 20
"""Progress is written often: the result lists all that was skipped."""


@dataclass(frozen=True)
class Progress:
    """How far indexing is, stage by stage, counted in documents and chunks."""

    documents_found: int = 0
    documents_done: int = 0
    """Looked at: read, unchanged or skipped."""
    documents_skipped: int = 0
    chunks_embedded: int = 0
    chunks_total: int = 0
    """Stored and searchable."""
    documents_loaded: int = 0
    """Read, because they may have changed."""
    documents_split: int = 0
    """Changed, and split into chunks."""
    documents_stored: int = 0
    """Stored in their new version."""
    chunks_split: int = 0
    """Chunks of the documents that were split."""
    skipped: tuple[SourceNote, ...] = ()
    """The first MOST_SKIPPED_SHOWN places that were skipped."""


class ProgressListener(Protocol):
    """Told how far a piece of work is; may raise WorkStoppedError to end it there."""

    def __call__(self, progress: Progress) -> None:
        """Take note of the progress."""
        ...
