"""Stand-ins for slow or foreign parts; each passes the contract suite of the real thing."""

import functools
import hashlib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.errors import EmbeddingError
from app.protocols import Vector, Vectors


class FakeEmbedder:
    """Bags of hashed words: texts that share words are similar. Remembers what it embedded."""

    def __init__(
        self, dimension: int = 64, model_name: str = "fake", max_tokens: int = 254
    ) -> None:
        self.dimension = dimension
        self.model_name = model_name
        self.max_tokens = max_tokens
        self.fingerprint = hashlib.sha256(f"{model_name} {dimension}".encode()).hexdigest()[:16]
        self.embedded_texts: list[str] = []
        self.unreadable: frozenset[str] = frozenset()
        self._closed = False

    @property
    def token_meter(self) -> "FakeEmbedder":
        return self

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        """Words, and every other visible character, are tokens."""
        found = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
        return np.array(found, np.int64).reshape(-1, 2)

    def reads(self, text: str) -> bool:
        return text not in self.unreadable

    def count(self, text: str) -> int:
        return len(self.spans(text))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self._closed:
            raise EmbeddingError("closed")
        self.embedded_texts.extend(texts)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed(text)
        return vectors

    def embed_query(self, text: str) -> Vector:
        if self._closed:
            raise EmbeddingError("closed")
        return self._embed(text)

    def close(self) -> None:
        self._closed = True

    def _embed(self, text: str) -> Vector:
        vector = np.zeros(self.dimension)
        for start, end in self.spans(text).tolist() or [(0, 0)]:
            vector += _direction(text[start:end].lower(), self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@functools.lru_cache(maxsize=10_000)
def _direction(word: str, dimension: int) -> npt.NDArray[np.float64]:
    """A direction of its own for every word, the same in every process."""
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimension)


class MoodyEmbedder(FakeEmbedder):
    """Fails while it is told to."""

    failing = False

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise EmbeddingError("The model is away.")
        return super().embed_documents(texts)
