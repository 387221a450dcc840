"""Chooses how a converted model is run: as near to the original as promised, and fast here."""

import functools
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.adapters.embedding.exported_model import MODEL, WEIGHTS
from app.adapters.embedding.inference_queue import pack
from app.adapters.embedding.int8_matrices import (
    Int8Form,
    inputs_of_products,
    with_int8_matrices,
)
from app.adapters.embedding.openvino_runtime import (
    QUERY_WIDTHS,
    CompiledEncoder,
    TokenIds,
    import_openvino,
)
from app.errors import StartupError
from app.protocols import Vectors

LOWEST_COSINE = 0.999
"""To the fp32 reference: what "fp32-equivalent" in the fingerprint promises."""

LOWEST_OWN_COSINE = 0.9995
"""Of a text as a query to the same text as a document. In 8 bits and bf16, which the runtime fuses
otherwise in a fixed shape, this was 0.9993 for the shortest; in 8 bits and fp32 it is 1."""

TIMED_RUNS = 9
TIMED_BATCH_TOKENS = 512
"""As documents are embedded by default. With all texts of the export in one batch of 2,048, 8 bits
took 1.08 of floating point's time on a processor where they took 0.88 to 0.93 in such batches."""

PRECISIONS = (None, "f32")
"""The runtime's own choice, bf16 where the processor has it, and what never loses anything. Where a
processor has bf16 but no tiles for it (AMX), as in virtual machines that hide them, the first may
take 1.7 times as long."""

INT8_FORMS = (Int8Form(group=64, narrowing=True), Int8Form(group=128, narrowing=False))
"""The first was the faster one on both processors it was measured on, and rounds more of the model:
the second is for models for which that is not near enough to the original."""


@dataclass(frozen=True)
class Choice:
    """How a model is run; `ExportManifest` says what the names mean."""

    precision: str | None
    matrices: str
    int8_group: int
    lowest_cosine: float


@dataclass(frozen=True)
class Nearness:
    """How a conversion compares, by the lowest cosine of some texts."""

    lowest_cosine: float
    """To the original model."""
    lowest_own_cosine: float
    """Of a text as a query to the same text as a document."""

    @property
    def is_enough(self) -> bool:
        """Whether it may stand for the original, and its queries for its documents."""
        return self.lowest_cosine >= LOWEST_COSINE and self.lowest_own_cosine >= LOWEST_OWN_COSINE


@dataclass(frozen=True)
class Reference:
    """Tokenised texts, and what the original model makes of them."""

    rows: list[TokenIds]
    padding_id: int
    vectors: Vectors
    """Shape (len(rows), dimension), unit length."""

    def compile(
        self, model_path: Path, precision: str | None = None, int8_group: int = 0
    ) -> CompiledEncoder:
        """A conversion to compare, on one thread."""
        return CompiledEncoder(
            model_path,
            threads=1,
            padding_id=self.padding_id,
            precision=precision,
            int8_group=int8_group,
        )

    def nearness(self, encoder: CompiledEncoder) -> Nearness:
        """Of what the conversion makes of the texts, as documents and as queries.

        A query of few tokens runs in a shape of its own, which in 8 bits may round otherwise.
        """
        documents = encoder.document_streams[0].run(self.rows)
        queries = np.concatenate([encoder.query_stream.run([row]) for row in self.rows])
        to_original = [(found * self.vectors).sum(axis=1) for found in (documents, queries)]
        own = (documents * queries).sum(axis=1)
        return Nearness(float(np.min(to_original)), float(own.min()))

    def seconds(self, *encoders: CompiledEncoder) -> list[float]:
        """What each takes of the processor for all texts, by the least time of each batch.

        Short texts count as queries, too. In turns, and without the time in which others have the
        processor: what else the machine does must not decide.
        """
        lengths = np.array([len(row) for row in self.rows])
        batches = [[self.rows[n] for n in some] for some in pack(lengths, TIMED_BATCH_TOKENS)]
        queries = [[row] for row in self.rows if len(row) <= QUERY_WIDTHS[-1]]
        runs = [
            [functools.partial(encoder.document_streams[0].run, batch) for batch in batches]
            + [functools.partial(encoder.query_stream.run, query) for query in queries]
            for encoder in encoders
        ]
        least = np.full((len(encoders), len(batches) + len(queries)), np.inf)
        for _ in range(TIMED_RUNS):
            for number, runs_of_one in enumerate(runs):
                for place, run in enumerate(runs_of_one):
                    start = time.process_time()
                    run()
                    took = time.process_time() - start
                    least[number, place] = min(least[number, place], took)
        seconds: list[float] = least.sum(axis=1).tolist()
        return seconds


@dataclass(frozen=True)
class Candidate:
    """A way to run a model, compared with the original."""

    choice: Choice
    encoder: CompiledEncoder
    folder: Path
    """Where its files are."""
    nearness: Nearness


def choose_precision(folder: Path, reference: Reference, calibration: Sequence[TokenIds]) -> Choice:
    """Find the fastest way to run the model in this folder that is near enough to the original.

    With its matrices in 8 bits or as they are, each in all inference precisions. The files of that
    way stand in the folder then. `calibration` are texts other than the reference's. Raises
    StartupError.
    """
    floating = _floating(folder, reference)
    precisions = [candidate.choice.precision for candidate in floating]
    int8 = _int8(folder, precisions, reference, calibration)
    fastest = _fastest(reference, [*int8, *floating])  # 8 bits, if both are as fast
    if fastest.folder != folder:
        for name in (MODEL, WEIGHTS):
            (fastest.folder / name).replace(folder / name)
    if int8:
        shutil.rmtree(int8[0].folder)  # that of all of them
    return fastest.choice


def _floating(folder: Path, reference: Reference) -> list[Candidate]:
    """The model as it was converted, in each precision that is near enough; raises StartupError."""
    compared = []
    for precision in PRECISIONS:
        compared.append(_compared(folder, reference, precision))
        if compared[-1].encoder.precision == "f32":  # the runtime has no other
            break
    near = [candidate for candidate in compared if candidate.nearness.is_enough]
    if not near:
        last = compared[-1].nearness
        raise StartupError(
            "The converted model does not agree with the original or with itself: its lowest "
            f"cosine is {last.lowest_cosine:.4f} to the original, and "
            f"{last.lowest_own_cosine:.4f} of queries to documents, where {LOWEST_COSINE} and "
            f"{LOWEST_OWN_COSINE} are needed. Set EMBEDDING_PROVIDER=sentence-transformers."
        )
    return near


def _int8(
    folder: Path,
    precisions: Sequence[str | None],
    reference: Reference,
    calibration: Sequence[TokenIds],
) -> list[Candidate]:
    """The model with its matrices in 8 bits, in each precision that is near enough.

    In the first form that has such a one, and in a folder of its own, within that of the model.
    """
    openvino = import_openvino()
    graph = openvino.Core().read_model(str(folder / MODEL))
    inputs = inputs_of_products(graph, calibration)
    for form in INT8_FORMS:
        attempt = folder / f"int8-{form.group}"
        attempt.mkdir()
        rewritten = with_int8_matrices(graph, inputs, form)
        openvino.save_model(rewritten, str(attempt / MODEL), compress_to_fp16=True)
        compared = [
            _compared(attempt, reference, precision, form.group) for precision in precisions
        ]
        near = [candidate for candidate in compared if candidate.nearness.is_enough]
        if near:
            return near
        shutil.rmtree(attempt)
    return []


def _compared(
    folder: Path, reference: Reference, precision: str | None, int8_group: int = 0
) -> Candidate:
    encoder = reference.compile(folder / MODEL, precision, int8_group)
    nearness = reference.nearness(encoder)
    matrices = "int8" if int8_group else "float"
    choice = Choice(precision, matrices, int8_group, nearness.lowest_cosine)
    return Candidate(choice, encoder, folder, nearness)


def _fastest(reference: Reference, candidates: Sequence[Candidate]) -> Candidate:
    """The first of those that take least of the processor."""
    if len(candidates) == 1:
        return candidates[0]
    seconds = reference.seconds(*(candidate.encoder for candidate in candidates))
    return candidates[seconds.index(min(seconds))]
