"""Embeds through any OpenAI-compatible endpoint, Ollama among them."""

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence

import numpy as np

from app.adapters.embedding.openai_answers import vectors_of
from app.adapters.embedding.openai_connection import OpenAIConnection, Pause
from app.adapters.embedding.token_meter import well_formed
from app.errors import EmbeddingError
from app.protocols import Vector, Vectors

BATCH_TEXTS = 128
BATCH_CHARACTERS = 200_000
"""Below OpenAI's limits of 2,048 inputs and 300,000 tokens a request, with room for any script."""


class OpenAIEmbedder:
    """An Embedder over `POST {base_url}/embeddings`.

    Opening it calls nobody. Unless `dimension` is given, the first use of `dimension` or
    `fingerprint` asks the endpoint for one vector, and raises EmbeddingError if that fails.
    `timeout_seconds` bounds each request with its answer as a whole.
    """

    token_meter = None

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str,
        api_key: str = "",
        timeout_seconds: float = 30.0,
        dimension: int | None = None,
        wait: Pause | None = None,
    ) -> None:
        self.model_name = model_name
        self._connection = OpenAIConnection(
            base_url, api_key, timeout_seconds=timeout_seconds, wait=wait
        )
        self._host = self._connection.host
        self._dimension = dimension
        self._dimension_lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        with self._dimension_lock:
            if self._dimension is None:
                self._dimension = self._request(["dimension"]).shape[1]
            return self._dimension

    @property
    def fingerprint(self) -> str:
        """16 hex digits over host, model and dimension: all that can be known of the model."""
        facts = json.dumps(["openai", self._host, self.model_name, self.dimension])
        return hashlib.sha256(facts.encode()).hexdigest()[:16]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts in the order given; shape (len(texts), dimension), unit length."""
        self._connection.require_open()
        parts = [self._embed(batch) for batch in _batches(texts)]
        if not parts:
            return np.empty((0, self.dimension), np.float32)
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vector:
        """Embed one query; shape (dimension,), unit length."""
        vector: Vector = self._embed([text])[0]
        return vector

    def close(self) -> None:
        """Release connections; waiting calls fail with EmbeddingError. Twice is no error."""
        self._connection.close()

    def _embed(self, texts: Sequence[str]) -> Vectors:
        expected = self.dimension
        vectors = self._request(texts)
        if vectors.shape[1] != expected:
            raise EmbeddingError(
                f"The embedding endpoint {self._host} gave vectors of {vectors.shape[1]} numbers, "
                f"not {expected}: its model {self.model_name!r} has changed."
            )
        return vectors

    def _request(self, texts: Sequence[str]) -> Vectors:
        # OpenAI refuses an empty string.
        inputs = [well_formed(text) or " " for text in texts]
        body = {"model": self.model_name, "input": inputs, "encoding_format": "float"}
        return vectors_of(self._connection.post(body), len(texts), self._host)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        full = len(batch) == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS
        if batch and full:
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch
