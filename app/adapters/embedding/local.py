"""The default embedder: the converted model on the fast CPU runtime, without torch."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import numpy as np

from app.adapters.embedding.exported_model import MODEL, TOKENIZER, ExportedModel, ensure_exported
from app.adapters.embedding.inference_queue import InferenceQueue
from app.adapters.embedding.long_queries import mean_direction
from app.adapters.embedding.model_files import ModelFiles, find_model
from app.adapters.embedding.openvino_runtime import (
    CompiledEncoder,
    TokenIds,
    import_openvino,
)
from app.adapters.embedding.token_meter import TokenizerMeter, load_tokenizer, well_formed
from app.processor import available_cores
from app.protocols import Vector, Vectors

QUERY_BATCH_TOKENS = 1
"""Queries that wait are embedded one after the other, each in the shape that fits it best. Together
they would be padded to the longest and run in a model of any shape: four of up to 32 tokens took
4.7 ms of CPU each, and one alone takes 4.7 on average."""


class LocalEmbedder:
    """An Embedder on this machine's processor; `LocalEmbedder.open` makes one.

    Documents longer than the model's window are cut to it (the splitter's chunks never are); a
    query longer than it is embedded window by window, and the mean of these is its vector.
    """

    def __init__(
        self,
        model: ModelFiles,
        exported: ExportedModel,
        encoder: CompiledEncoder,
        *,
        batch_tokens: int,
    ) -> None:
        self.model_name = model.name
        self.dimension = exported.manifest.dimension
        self.fingerprint = model.fingerprint
        self.precision = encoder.precision
        self.matrices = exported.manifest.matrices
        self._model = model
        tokenizer_path = exported.folder / TOKENIZER
        self.token_meter = TokenizerMeter(
            load_tokenizer(tokenizer_path),
            window_tokens=model.window_tokens,
            prefix=max(model.document_prefix, model.query_prefix, key=len),
        )
        # A second one, because truncation is a state of the tokenizer.
        self._tokenizer = load_tokenizer(tokenizer_path)
        self._tokenizer.enable_truncation(model.window_tokens)
        self._queue = InferenceQueue(
            encoder.document_streams,
            encoder.query_stream,
            dimension=self.dimension,
            batch_tokens=batch_tokens,
            query_batch_tokens=QUERY_BATCH_TOKENS,
        )

    @classmethod
    def open(
        cls,
        model_name: str,
        models_dir: Path,
        *,
        threads: int = 0,
        batch_tokens: int = 512,
        allow_download: bool = False,
        may_write: bool = True,
    ) -> Self:
        """Load the model, converting it first unless this folder of models has it.

        `threads`: for documents, 0 for one per core, which is also the most (a query has one more
        of its own). Raises StartupError; without `may_write`, also where the model would have to
        be converted.
        """
        with ThreadPoolExecutor(1) as pool:
            importing = pool.submit(import_openvino)  # while the weights are hashed
            model = find_model(model_name, allow_download=allow_download)
            exported = ensure_exported(model, models_dir, may_write=may_write)
            importing.result()
        encoder = CompiledEncoder(
            exported.folder / MODEL,
            threads=min(threads or sys.maxsize, available_cores()),
            padding_id=exported.manifest.padding_id,
            precision=exported.manifest.precision,
            int8_group=exported.manifest.int8_group,
        )
        return cls(model, exported, encoder, batch_tokens=batch_tokens)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts in the order given; shape (len(texts), dimension), unit length."""
        return self._queue.documents(self._tokenized(texts, self._model.document_prefix))

    def embed_query(self, text: str) -> Vector:
        """Embed one query beside waiting documents; shape (dimension,), unit length."""
        rows = self._tokenized([text], self._model.query_prefix)
        if len(rows[0]) >= self._model.window_tokens:  # perhaps cut: then window by window
            rows = self._tokenized(self.token_meter.windows(text), self._model.query_prefix)
        return mean_direction(self._queue.query(rows))

    def close(self) -> None:
        """Release the model; waiting calls fail with EmbeddingError. Closing twice is no error."""
        self._queue.close()

    def _tokenized(self, texts: Sequence[str], prefix: str) -> list[TokenIds]:
        # Text by text, not encode_batch: that would start threads of its own beside inference.
        return [
            np.array(self._tokenizer.encode(prefix + well_formed(text)).ids, np.int64)
            for text in texts
        ]
