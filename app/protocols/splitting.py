"""What cuts documents into chunks, and what measures text in tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

CHUNK_TYPES = ("text", "code", "table", "list", "heading")
"""What most of a chunk can be."""


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
    """One of CHUNK_TYPES."""
    completeness: float | None = None
    """1: whole sections; 0: begins and ends within a paragraph; None: not known."""


class TokenMeter(Protocol):
    """Measures text in the tokens of the embedding model."""

    @property
    def max_tokens(self) -> int:
        """How many tokens of text the model reads (its special tokens already subtracted)."""
        ...

    def count(self, text: str) -> int:
        """Tokens of the text, special tokens not counted."""
        ...

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        """Character spans of the text's tokens in order, shape (n, 2)."""
        ...

    def reads(self, text: str) -> bool:
        """Whether the model knows enough of the text's characters to tell it from other texts."""
        ...


class TextSplitter(Protocol):
    """Cuts a document into chunks that cover it."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would be cut differently."""
        ...

    def split_text(
        self, content: str, metadata: Mapping[str, Any] | None = None, *, name: str = ""
    ) -> list[TextChunk]:
        """Cut the text; every chunk gets the metadata.

        `name` is the path or address of the document, which tells how its text is marked up.
        """
        ...
