"""The one door to OpenVINO: opened with its telemetry shut out, and its errors made ours."""

import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.adapters.embedding.token_vectors import (
    INPUT_IDS,
    INPUT_VECTORS,
    TokenTable,
    take_token_table,
)
from app.errors import EmbeddingError, StartupError
from app.protocols import Vectors

ATTENTION_MASK = "attention_mask"
"""The other input of models: 1 for a token, 0 for what fills up the row."""

TokenIds = npt.NDArray[np.int64]
"""The token ids of one text, special tokens included, shape (length,)."""

LENGTH_STEP = 16
"""Rows are padded to a multiple of this many tokens. OpenVINO keeps what it prepared for every
shape it has seen: over 1,500 texts of all lengths 347 MB RSS against 391, at the same speed."""

QUERY_WIDTHS = (20, 40)
"""Tokens of queries for which a copy of the model of that very shape is compiled (some 40 MB each
in 8 bits, 47 in bf16): of 700 questions 97 % fit into one. Among scans of 100,000 vectors these
take 2.3 ms on average and 2.0 in the middle, 16, 24, 32 and 40 tokens 2.2 and 2.1, 16 and 32 2.4
and 2.4. The vectors are those of the model of any shape, which took half as long again as four
widths; but in 8 bits with bf16 for the rest they round otherwise (ADR 2)."""

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


def _give_way() -> None:
    """Lower the priority of this thread, and of those it starts; only Linux knows how."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        nice = os.getpriority(os.PRIO_PROCESS, thread)  # whoever is nicer yet may not go back
        os.setpriority(os.PRIO_PROCESS, thread, max(DOCUMENT_NICENESS, nice))


class InferenceStream:
    """One line of inference on one thread. To be used by one caller at a time."""

    def __init__(self, request: Any, padding_id: int) -> None:
        self._request = request
        self._padding_id = padding_id

    def run(self, rows: list[TokenIds]) -> Vectors:
        """Embed tokenised texts in one padded batch; shape (len(rows), dimension), unit length.

        Raises EmbeddingError.
        """
        longest = max(map(len, rows))
        width = -(-longest // LENGTH_STEP) * LENGTH_STEP
        mask = np.zeros((len(rows), width), np.int64)
        token_ids = np.full_like(mask, self._padding_id)
        for number, row in enumerate(rows):
            mask[number, : len(row)] = 1
            token_ids[number, : len(row)] = row
        return _inferred(self._request, len(rows), {INPUT_IDS: token_ids, ATTENTION_MASK: mask})


class ShapedStream:
    """One line of inference for one text of a few tokens, on a model of that very shape.

    What goes into it lies in tensors of its own, which saves 0.15 of 3.6 ms. To be used by one
    caller at a time.
    """

    def __init__(self, model: Any, width: int, padding_id: int, table: TokenTable | None) -> None:
        """A compiled model of `width` tokens, and what was taken out of it."""
        self.width = width
        self._padding_id = padding_id
        self._table = table
        self._request = model.create_infer_request()
        self._token_ids = self._input(INPUT_IDS)
        self._mask = self._input(ATTENTION_MASK)
        self._vectors = None if table is None else self._input(INPUT_VECTORS)

    def run(self, rows: list[TokenIds]) -> Vectors:
        """As InferenceStream.run, of one text of at most `width` tokens."""
        (row,) = rows
        self._token_ids[0, : len(row)] = row
        self._token_ids[0, len(row) :] = self._padding_id
        self._mask[0, : len(row)] = 1
        self._mask[0, len(row) :] = 0
        if self._table is not None and self._vectors is not None:
            self._vectors[:] = self._table[self._token_ids]
        return _inferred(self._request, 1)

    def _input(self, name: str) -> npt.NDArray[Any]:
        data: npt.NDArray[Any] = self._request.get_tensor(name).data
        return data


def _inferred(request: Any, count: int, inputs: dict[str, TokenIds] | None = None) -> Vectors:
    """What a request answers for `count` texts, of unit length; raises EmbeddingError.

    Where memory is refused, OpenVINO may return without an error and leave what it answered the
    last time: so that is made no answer first.
    """
    try:
        request.get_output_tensor().data[:] = np.nan
        request.infer(inputs)
        vectors: Vectors = np.array(request.get_output_tensor().data, np.float32)
    except (RuntimeError, MemoryError) as error:
        raise EmbeddingError(f"The embedding model failed: {error}") from error
    if len(vectors) != count:
        raise EmbeddingError(f"The embedding model gave {len(vectors)} vectors for {count} texts.")
    # Normalised in the graph already, but at the processor's precision.
    lengths_of_vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths_of_vectors).all() or not lengths_of_vectors.all():
        raise EmbeddingError("The embedding model gave a vector that is not a number.")
    unit_vectors: Vectors = vectors / lengths_of_vectors
    return unit_vectors


class LateModel:
    """A model that whoever needs it first has compiled."""

    def __init__(self, compiled: Callable[[], Any], *, gives_way: bool) -> None:
        """`gives_way`: whether its threads give way to all others."""
        self._compiled = compiled
        self._prepare_thread = _give_way if gives_way else None
        self._model: Any = None
        self._lock = threading.Lock()

    def request(self) -> Any:
        """One of its requests; raises EmbeddingError, and the next who asks tries again."""
        try:
            with self._lock:
                if self._model is None:
                    with ThreadPoolExecutor(1, initializer=self._prepare_thread) as pool:
                        self._model = pool.submit(self._compiled).result()
                return self._model.create_infer_request()
        except (RuntimeError, MemoryError) as error:
            raise EmbeddingError(f"The embedding model cannot be prepared: {error}") from error


class LateStream:
    """An InferenceStream of a LateModel, made by its first batch."""

    def __init__(self, model: LateModel, padding_id: int) -> None:
        self._model = model
        self._padding_id = padding_id
        self._stream: InferenceStream | None = None

    def run(self, rows: list[TokenIds]) -> Vectors:
        """As InferenceStream.run."""
        if self._stream is None:
            self._stream = InferenceStream(self._model.request(), self._padding_id)
        return self._stream.run(rows)


class QueryStream:
    """One line of inference for queries: a short one that comes alone runs in its own shape."""

    def __init__(self, any_shape: LateStream, shaped: Sequence[ShapedStream]) -> None:
        """`shaped`: by rising width."""
        self._any_shape = any_shape
        self._shaped = shaped

    def run(self, rows: list[TokenIds]) -> Vectors:
        """As InferenceStream.run."""
        if len(rows) == 1:
            for stream in self._shaped:
                if len(rows[0]) <= stream.width:
                    return stream.run(rows)
        return self._any_shape.run(rows)


class CompiledEncoder:
    """A converted model, compiled for queries and for documents (a single-threaded stream a core).

    A stream of its own lets a query run beside document batches instead of behind them; the
    operating system shares the cores out. For documents it is compiled by the first of them, and
    for queries of more than QUERY_WIDTHS by the first of these: either takes 0.5 s of CPU, a sixth
    of what a start takes otherwise, and 40 to 47 MB. Without a weight cache of OpenVINO's: it saves
    0.2 s at start, but takes a damaged cache file for a good one.
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
        """Compile for short queries, all at once, the first runs included.

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

        def compiled(model: Any, streams: int = 1) -> Any:
            shape = {"NUM_STREAMS": streams, "INFERENCE_NUM_THREADS": streams}
            return core.compile_model(model, "CPU", {**settings, **shape})

        try:
            graph = core.read_model(str(model_path))  # once: its weights then lie in memory once
            shaped = [_of_width(graph, width) for width in QUERY_WIDTHS]
            tables = [take_token_table(openvino, model) for model in shaped]
            # Nothing but this on threads: two that read an array of OpenVINO's for the first time
            # wait for each other for ever (one has Python's lock, the other that of the type).
            with ThreadPoolExecutor(len(shaped)) as pool:
                of_widths = list(pool.map(compiled, shaped))
            long_queries = LateModel(lambda: compiled(graph), gives_way=False)
            self.query_stream = QueryStream(
                LateStream(long_queries, padding_id),
                [
                    ShapedStream(model, width, padding_id, table)
                    for model, width, table in zip(of_widths, QUERY_WIDTHS, tables, strict=True)
                ],
            )
        except RuntimeError as error:
            raise StartupError(
                f"The converted model {model_path} cannot be used: {error}"
            ) from error
        self.int8_group = int8_group
        self.precision = str(of_widths[0].get_property("INFERENCE_PRECISION_HINT").to_string())
        documents = LateModel(lambda: compiled(graph, threads), gives_way=True)
        self.document_streams = [LateStream(documents, padding_id) for _ in range(threads)]
        # The first run takes some 40 ms more than the next ones: not at somebody's first query.
        for width in QUERY_WIDTHS:
            self.query_stream.run([np.full(width, padding_id)])


def _of_width(graph: Any, width: int) -> Any:
    """A copy of a model for one text of so many tokens; it shares the weights as they were read."""
    fixed = graph.clone()
    fixed.reshape({port.any_name: [1, width] for port in fixed.inputs})
    return fixed
