"""What turns text into vectors."""

from collections.abc import Sequence
from typing import Protocol

from app.protocols.splitting import TokenMeter
from app.protocols.vectors import Vector, Vectors


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
