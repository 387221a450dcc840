"""What a converted model is compiled to: copies for short queries, and late ones for documents."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.adapters.embedding.exported_model import MODEL
from app.adapters.embedding.openvino_runtime import (
    QUERY_WIDTHS,
    CompiledEncoder,
    LateModel,
    LateStream,
    TokenIds,
    import_openvino,
)
from app.adapters.embedding.token_vectors import take_token_table
from app.errors import EmbeddingError
from tests.adapters.embedding.small_models import Floats, small_model

TOKENS, WIDTH = 50, 16
PADDING = 3


@pytest.fixture
def numbers() -> Floats:
    """A vector for each token; 16 bits hold them as they are."""
    return np.random.default_rng(5).normal(size=(TOKENS, WIDTH)).astype(np.float16).astype("f4")


@pytest.fixture
def graph(numbers: Floats) -> Any:
    return small_model(np.eye(WIDTH, dtype=np.float32), numbers)


@pytest.fixture(params=[True, False], ids=["of 16 bits", "of 32 bits"])
def path(graph: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A converted model."""
    path = tmp_path / MODEL
    import_openvino().save_model(graph, str(path), compress_to_fp16=request.param)
    return path


@pytest.fixture
def encoder(path: Path) -> CompiledEncoder:
    return CompiledEncoder(path, threads=2, padding_id=PADDING, precision="f32")


def unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_the_table_of_a_model_holds_the_vectors_of_its_tokens(path: Path, numbers: Floats) -> None:
    model = import_openvino().Core().read_model(str(path))
    model.reshape({port.any_name: [1, 4] for port in model.inputs})
    table = take_token_table(import_openvino(), model)
    assert table is not None
    assert np.array_equal(table, numbers)
    assert {port.any_name for port in model.inputs} == {
        "input_ids", "attention_mask", "token_vectors"
    }  # fmt: skip


def test_a_model_without_a_table_is_left_as_it_was() -> None:
    openvino = import_openvino()
    op = openvino.opset13
    ids = op.parameter([1, 4], np.int64, name="input_ids")
    model = openvino.Model([op.multiply(ids, op.constant(np.int64(2)))], [ids])
    assert take_token_table(openvino, model) is None
    assert len(model.inputs) == 1


@pytest.mark.parametrize("length", [1, *QUERY_WIDTHS, QUERY_WIDTHS[0] + 1, QUERY_WIDTHS[-1] + 1])
def test_a_query_of_any_length_gets_the_sum_of_its_tokens_also_after_a_longer_one(
    encoder: CompiledEncoder, numbers: Floats, length: int
) -> None:
    longest = np.full(QUERY_WIDTHS[-1], 7)
    tokens: TokenIds = np.arange(length) % TOKENS
    encoder.query_stream.run([longest[: max(QUERY_WIDTHS[0], length)]])
    (vector,) = encoder.query_stream.run([tokens])
    assert np.allclose(vector, unit(numbers[tokens].sum(axis=0)), atol=1e-5)


def test_documents_get_the_vectors_that_queries_get(encoder: CompiledEncoder) -> None:
    rows: list[TokenIds] = [np.arange(5), np.arange(30)]
    queries = np.concatenate([encoder.query_stream.run([row]) for row in rows])
    for stream in encoder.document_streams:
        assert np.allclose(stream.run(rows), queries, atol=1e-5)


def test_what_is_compiled_late_is_compiled_once_for_all_its_streams(path: Path) -> None:
    core = import_openvino().Core()
    compiled: list[Any] = []

    def compile_now() -> Any:
        compiled.append(core.compile_model(str(path), "CPU"))
        return compiled[-1]

    model = LateModel(compile_now)
    streams = [LateStream(model, PADDING) for _ in range(2)]
    assert compiled == []
    for stream in [*streams, *streams]:
        stream.run([np.arange(3)])
    assert len(compiled) == 1


def test_a_model_that_cannot_be_compiled_late_is_an_error_and_tried_again(path: Path) -> None:
    core = import_openvino().Core()
    failures = [RuntimeError("no memory")]

    def compile_now() -> Any:
        if failures:
            raise failures.pop()
        return core.compile_model(str(path), "CPU")

    stream = LateStream(LateModel(compile_now), PADDING)
    with pytest.raises(EmbeddingError, match="no memory"):
        stream.run([np.arange(3)])
    assert stream.run([np.arange(3)]).shape == (1, WIDTH)
