"""The one door to OpenVINO: opened with its telemetry shut out, and its errors made ours."""

import importlib
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.errors import EmbeddingError, StartupError
from app.protocols import Vectors

TokenIds = npt.NDArray[np.int64]
"""The token ids of one text, special tokens included, shape (length,)."""

LENGTH_STEP = 16
"""Rows are padded to a multiple of this many tokens. OpenVINO keeps what it prepared for every
shape it has seen: over 1,500 texts of all lengths 347 MB RSS against 391, at the same speed."""

QUERY_WIDTHS = (20, 40)
"""Tokens of queries for which a copy of the model of that very shape is compiled (31 MB each): of
700 questions 97 % fit into one. Among scans of 100,000 vectors these take 2.3 ms on average and 2.0
in the middle, 16, 24, 32 and 40 tokens 2.2 and 2.1, 16 and 32 2.4 and 2.4. The vectors are
those of the model of any shape, which took half as long again as four widths; but in 8 bits with
bf16 for the rest they round otherwise (ADR 2)."""

PREPARED_SHAPES = 8
"""Shapes for which OpenVINO keeps what it prepared, for each layer: over 3,800 texts 357 MB RSS
against 371 with its own choice of 5,000, at the same speed."""

DOCUMENT_NICENESS = 10
"""Of the threads that embed documents: whoever waits for an answer has the processor first."""

TELEMETRY_PACKAGE = "openvino_telemetry"
_import_lock = threading.Lock()


def import_openvino() -> Any:
    """Import OpenVINO so that it cannot report home.

    `import openvino` alone sends an event to an analytics service unless its telemetry package
    cannot be imported, in which case it uses a stub of its own. None in `sys.modules` is Python's
    way of saying just that.
    """
    with _import_lock:
        if "openvino" not in sys.modules:
            sys.modules[TELEMETRY_PACKAGE] = None  # type: ignore[assignment]
        try:
            return importlib.import_module("openvino")
        except ImportError as error:
            raise StartupError(
                f"OpenVINO cannot be loaded ({error}). Install it again, or set "
                "EMBEDDING_PROVIDER=sentence-transformers."
            ) from error


def _lower_priority(niceness: int) -> None:
    """Make this thread, and those it starts, give way to others; only Linux knows how."""
    if niceness and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


class InferenceStream:
    """One line of inference on one thread. To be used by one caller at a time."""

    def __init__(self, request: Any, padding_id: int, length_step: int = LENGTH_STEP) -> None:
        """Rows are padded to a multiple of `length_step` tokens."""
        self._request = request
        self._padding_id = padding_id
        self._length_step = length_step

    def run(self, rows: list[TokenIds]) -> Vectors:
        """Embed tokenised texts in one padded batch; shape (len(rows), dimension), unit length.

        Raises EmbeddingError.
        """
        longest = max(map(len, rows))
        width = -(-longest // self._length_step) * self._length_step
        mask = np.zeros((len(rows), width), np.int64)
        token_ids = np.full_like(mask, self._padding_id)
        for number, row in enumerate(rows):
            mask[number, : len(row)] = 1
            token_ids[number, : len(row)] = row
        try:
            self._request.infer({"input_ids": token_ids, "attention_mask": mask})
            vectors: Vectors = np.array(self._request.get_output_tensor().data, np.float32)
        except (RuntimeError, MemoryError) as error:
            raise EmbeddingError(f"The embedding model failed: {error}") from error
        # Normalised in the graph already, but at the processor's precision.
        lengths_of_vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths_of_vectors).all() or not lengths_of_vectors.all():
            raise EmbeddingError("The embedding model gave a vector that is not a number.")
        unit_vectors: Vectors = vectors / lengths_of_vectors
        return unit_vectors


class QueryStream:
    """One line of inference for queries: a short one that comes alone runs in its own shape."""

    def __init__(
        self, any_shape: InferenceStream, by_width: Sequence[tuple[int, InferenceStream]]
    ) -> None:
        """`by_width`: for queries of up to so many tokens each, by rising width."""
        self._any_shape = any_shape
        self._by_width = by_width

    def run(self, rows: list[TokenIds]) -> Vectors:
        """As InferenceStream.run."""
        if len(rows) == 1:
            for width, stream in self._by_width:
                if len(rows[0]) <= width:
                    return stream.run(rows)
        return self._any_shape.run(rows)


class CompiledEncoder:
    """A converted model, compiled for documents (a single-threaded stream a core) and for queries.

    A stream of its own lets a query run beside document batches instead of behind them; the
    operating system shares the cores out. Without a weight cache of OpenVINO's: it saves 0.2 s at
    start, but takes a damaged cache file for a good one.
    """

    def __init__(
        self,
        model_path: Path,
        *,
        threads: int,
        padding_id: int,
        precision: str | None = None,
        int8_group: int = 0,
    ) -> None:
        """Compile all at once, in 0.9 to 1.0 s on two cores, the first runs included.

        `int8_group`: numbers that share a scale where matrices are multiplied in 8 bits, 0 where
        none are. Raises StartupError.
        """
        openvino = import_openvino()
        core = openvino.Core()
        settings = {
            **({"INFERENCE_PRECISION_HINT": precision} if precision else {}),
            "ENABLE_CPU_PINNING": False,
            "CPU_RUNTIME_CACHE_CAPACITY": PREPARED_SHAPES,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": str(int8_group),
        }

        def compiled(model: Any, streams: int = 1, niceness: int = 0) -> Any:
            _lower_priority(niceness)  # the streams' threads inherit it
            shape = {"NUM_STREAMS": streams, "INFERENCE_NUM_THREADS": streams}
            return core.compile_model(model, "CPU", {**settings, **shape})

        try:
            graph = core.read_model(str(model_path))  # once: its weights then lie in memory once
            shaped = [_of_width(graph, width) for width in QUERY_WIDTHS]
            with ThreadPoolExecutor(2 + len(shaped)) as pool:  # a thread each: priorities stay
                of_widths = [pool.submit(compiled, model) for model in shaped]
                of_any_shape = pool.submit(compiled, graph)
                documents = pool.submit(compiled, graph, threads, DOCUMENT_NICENESS).result()
                queries = [model.result().create_infer_request() for model in of_widths]
                any_query = of_any_shape.result().create_infer_request()
        except RuntimeError as error:
            raise StartupError(
                f"The converted model {model_path} cannot be used: {error}"
            ) from error
        self.int8_group = int8_group
        self.precision = str(documents.get_property("INFERENCE_PRECISION_HINT").to_string())
        self.document_streams = [
            InferenceStream(documents.create_infer_request(), padding_id)
            for _ in range(int(documents.get_property("NUM_STREAMS")))
        ]
        by_width = [
            (width, InferenceStream(query, padding_id, width))
            for width, query in zip(QUERY_WIDTHS, queries, strict=True)
        ]
        self.query_stream = QueryStream(InferenceStream(any_query, padding_id), by_width)
        # The first run takes some 40 ms more than the next ones: not at somebody's first query.
        for width in (*QUERY_WIDTHS, QUERY_WIDTHS[-1] + 1):
            self.query_stream.run([np.full(width, padding_id)])


def _of_width(graph: Any, width: int) -> Any:
    """A copy of a model for one text of so many tokens; it shares the weights as they were read."""
    fixed = graph.clone()
    fixed.reshape({port.any_name: [1, width] for port in fixed.inputs})
    return fixed
