"""All seams, a page for each: what the service needs, whoever provides it."""

from app.protocols.embedding import Embedder
from app.protocols.lexical_index import (
    LexicalHit,
    LexicalIndex,
    LexicalRecord,
    LexicalSource,
    QueryWorth,
)
from app.protocols.loading import (
    MANY_DOCUMENTS,
    NO_CONTENT,
    ConditionalSource,
    LoadedDocument,
    RelistingSource,
    Source,
    SourceEntry,
    SourceListing,
    SourceNote,
    SourceOpener,
)
from app.protocols.progress import MOST_SKIPPED_SHOWN, Progress, ProgressListener
from app.protocols.scope import EVERYWHERE, SearchScope
from app.protocols.splitting import CHUNK_TYPES, TextChunk, TextSplitter, TokenMeter
from app.protocols.vector_index import (
    UNKNOWN_DOCUMENT,
    Compared,
    VectorHit,
    VectorIndex,
    VectorPart,
    VectorRecord,
    VectorSource,
)
from app.protocols.vectors import Vector, Vectors

__all__ = [
    "CHUNK_TYPES",
    "EVERYWHERE",
    "MANY_DOCUMENTS",
    "MOST_SKIPPED_SHOWN",
    "NO_CONTENT",
    "UNKNOWN_DOCUMENT",
    "Compared",
    "ConditionalSource",
    "Embedder",
    "LexicalHit",
    "LexicalIndex",
    "LexicalRecord",
    "LexicalSource",
    "LoadedDocument",
    "Progress",
    "ProgressListener",
    "QueryWorth",
    "RelistingSource",
    "SearchScope",
    "Source",
    "SourceEntry",
    "SourceListing",
    "SourceNote",
    "SourceOpener",
    "TextChunk",
    "TextSplitter",
    "TokenMeter",
    "Vector",
    "VectorHit",
    "VectorIndex",
    "VectorPart",
    "VectorRecord",
    "VectorSource",
    "Vectors",
]
