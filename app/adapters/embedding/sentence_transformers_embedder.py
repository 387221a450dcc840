"""The reference embedder: any sentence-transformers model, GPUs included, at the cost of torch."""

import threading
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from tokenizers import Tokenizer

from app.adapters.embedding.long_queries import mean_direction
from app.adapters.embedding.model_files import (
    ModelFiles,
    find_model,
    require_reference_libraries,
)
from app.adapters.embedding.token_meter import TokenizerMeter, load_tokenizer, well_formed
from app.errors import EmbeddingError, StartupError
from app.protocols import Vector, Vectors

CLOSED = "The embedding model has been closed."
BATCH_TEXTS = 32
"""The library's default."""


class SentenceTransformersEmbedder:
    """An Embedder over `SentenceTransformer.encode`; `open` makes one.

    Its vectors share a space with LocalEmbedder's for the same model, so the fingerprints are
    equal. Documents are cut to the window; long queries are the mean of their windows.
    """

    def __init__(self, model: ModelFiles, reference: Any, tokenizer: Tokenizer) -> None:
        self.model_name = model.name
        self.fingerprint = model.fingerprint
        self.dimension: int = reference.get_embedding_dimension()
        self.token_meter = TokenizerMeter(
            tokenizer,
            window_tokens=model.window_tokens,
            prefix=max(model.document_prefix, model.query_prefix, key=len),
        )
        self._model = model
        self._reference: Any | None = reference
        self._lock = threading.Lock()  # encode is not thread-safe
        self._closed = threading.Event()

    @classmethod
    def open(cls, model_name: str, *, threads: int = 0, allow_download: bool = False) -> Self:
        """Load the model onto the best device there is. `threads`: on a CPU, 0 for torch's choice.

        Imports torch. Raises StartupError.
        """
        require_reference_libraries()
        model = find_model(model_name, allow_download=allow_download)
        # Slow, and only wanted by those who choose this embedder.
        import torch  # noqa: PLC0415
        from safetensors import SafetensorError  # noqa: PLC0415
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        if threads:
            torch.set_num_threads(threads)
        try:
            reference = SentenceTransformer(str(model.folder), local_files_only=True)
        except (OSError, ValueError, RuntimeError, ImportError, SafetensorError) as error:
            raise StartupError(
                f"sentence-transformers cannot load the model {model.name!r} from {model.folder}: "
                f"{error}"
            ) from error
        reference.max_seq_length = model.window_tokens
        return cls(model, reference, load_tokenizer(model.folder / "tokenizer.json"))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts in the order given; shape (len(texts), dimension), unit length."""
        return self._encode(texts, self._model.document_prefix)

    def embed_query(self, text: str) -> Vector:
        """Embed one query; shape (dimension,), unit length."""
        return mean_direction(
            self._encode(self.token_meter.windows(text), self._model.query_prefix)
        )

    def close(self) -> None:
        """Release the model; waiting calls fail with EmbeddingError. Closing twice is no error."""
        self._closed.set()
        with self._lock:
            self._reference = None

    def _encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        if not texts:
            self._require_open()
            return np.empty((0, self.dimension), np.float32)
        with self._lock:
            reference = self._require_open()
            try:
                vectors: Vectors = reference.encode(
                    [well_formed(text) for text in texts],
                    prompt=prefix,  # an empty one keeps the library from adding its default
                    batch_size=BATCH_TEXTS,
                    normalize_embeddings=True,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
            except (RuntimeError, ValueError, MemoryError) as error:
                raise EmbeddingError(f"The embedding model failed: {error}") from error
        return np.asarray(vectors, np.float32)

    def _require_open(self) -> Any:
        if self._closed.is_set() or self._reference is None:
            raise EmbeddingError(CLOSED)
        return self._reference
