"""Chooses how a converted model is run: as near to the original as promised, and fast here."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.adapters.embedding.exported_model import MODEL, WEIGHTS
from app.adapters.embedding.inference_queue import pack
from app.adapters.embedding.int8_matrices import largest_inputs, with_int8_matrices
from app.adapters.embedding.openvino_runtime import CompiledEncoder, TokenIds, import_openvino
from app.errors import StartupError
from app.protocols import Vectors

LOWEST_COSINE = 0.999
"""To the fp32 reference: what "fp32-equivalent" in the fingerprint promises."""

TIMED_RUNS = 9
TIMED_BATCH_TOKENS = 512
"""As documents are embedded by default. With all texts of the export in one batch of 2,048, 8 bits
took 1.08 of floating point's time on a processor where they took 0.88 to 0.93 in such batches."""

INT8_FOLDER = "int8"


@dataclass(frozen=True)
class Choice:
    """How a model is run; `ExportManifest` says what the names mean."""

    precision: str | None
    matrices: str
    lowest_cosine: float


@dataclass(frozen=True)
class Reference:
    """Tokenised texts, and what the original model makes of them."""

    rows: list[TokenIds]
    padding_id: int
    vectors: Vectors
    """Shape (len(rows), dimension), unit length."""

    def compile(self, model_path: Path, precision: str | None = None) -> CompiledEncoder:
        """A conversion to compare, on one thread."""
        return CompiledEncoder(
            model_path, threads=1, padding_id=self.padding_id, precision=precision
        )

    def lowest_cosine(self, encoder: CompiledEncoder) -> float:
        """Of what the conversion makes of the texts, as documents and as queries, to the vectors.

        A query of few tokens runs in a shape of its own, which in 8 bits rounds otherwise.
        """
        as_queries = np.concatenate([encoder.query_stream.run([row]) for row in self.rows])
        cosines = [(found * self.vectors).sum(axis=1) for found in (self._run(encoder), as_queries)]
        return float(np.min(cosines))

    def seconds(self, *encoders: CompiledEncoder) -> list[float]:
        """What each takes of the processor for all texts, by the least time of each batch.

        In turns, and without the time in which others have the processor: what else the machine
        does must not decide.
        """
        lengths = np.array([len(row) for row in self.rows])
        batches = [[self.rows[n] for n in some] for some in pack(lengths, TIMED_BATCH_TOKENS)]
        least = np.full((len(encoders), len(batches)), np.inf)
        for _ in range(TIMED_RUNS):
            for number, encoder in enumerate(encoders):
                for place, batch in enumerate(batches):
                    start = time.process_time()
                    encoder.document_streams[0].run(batch)
                    took = time.process_time() - start
                    least[number, place] = min(least[number, place], took)
        seconds: list[float] = least.sum(axis=1).tolist()
        return seconds

    def _run(self, encoder: CompiledEncoder) -> Vectors:
        return encoder.document_streams[0].run(self.rows)


def choose_precision(folder: Path, reference: Reference, calibration: Sequence[TokenIds]) -> Choice:
    """Try the model in this folder, and put its matrices into 8 bits if that is worth it here.

    Else the runtime's own choice (bf16 where the processor has it), or fp32 if that is too coarse.
    `calibration` are texts other than the reference's. Raises StartupError.
    """
    cosine = -1.0
    for precision in (None, "f32"):
        floating = reference.compile(folder / MODEL, precision)
        cosine = reference.lowest_cosine(floating)
        if cosine >= LOWEST_COSINE:
            int8 = None if precision else _try_int8(folder, floating, reference, calibration)
            return int8 or Choice(precision, "float", cosine)
    raise StartupError(
        f"The converted model does not agree with the original: its lowest cosine is {cosine:.4f}, "
        f"and {LOWEST_COSINE} is needed. Set EMBEDDING_PROVIDER=sentence-transformers."
    )


def _try_int8(
    folder: Path, floating: CompiledEncoder, reference: Reference, calibration: Sequence[TokenIds]
) -> Choice | None:
    """Put the matrices into 8 bits if that is near enough and no slower; else leave the files."""
    openvino = import_openvino()
    graph = openvino.Core().read_model(str(folder / MODEL))
    rewritten = with_int8_matrices(graph, largest_inputs(graph, calibration))
    attempt = folder / INT8_FOLDER
    attempt.mkdir()
    try:
        openvino.save_model(rewritten, str(attempt / MODEL), compress_to_fp16=True)
        encoder = reference.compile(attempt / MODEL)
        cosine = reference.lowest_cosine(encoder)
        if cosine < LOWEST_COSINE:
            return None
        floating_seconds, int8_seconds = reference.seconds(floating, encoder)
        # These are documents; queries gain more: 0.85 of the time where these took 0.92.
        if int8_seconds > floating_seconds:
            return None
        for name in (MODEL, WEIGHTS):
            (attempt / name).replace(folder / name)
        return Choice(None, "int8", cosine)
    finally:
        shutil.rmtree(attempt)
