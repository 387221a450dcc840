"""What a converted model is compiled to: copies for short queries, and late ones for all else."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.adapters.embedding.exported_model import MODEL
from app.adapters.embedding.openvino_runtime import (
    DOCUMENT_NICENESS,
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
from tests.patience import PATIENCE_SECONDS

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


def doubled(op: Any, ids: Any) -> Any:
    return op.multiply(ids, op.constant(np.int64(2)))


def of_bf16(op: Any, ids: Any) -> Any:
    """NumPy takes its bits for those of f16."""
    table = op.constant(np.eye(5), dtype=import_openvino().Type.bf16)
    return op.gather(op.convert(table, "f32"), ids, op.constant(0))


def in_16_bits(op: Any, ids: Any) -> Any:
    table = op.constant(np.eye(5), dtype=import_openvino().Type.f16)
    return op.gather(table, ids, op.constant(0))


def by_column(op: Any, ids: Any) -> Any:
    return op.gather(op.constant(np.eye(5, dtype=np.float32)), ids, op.constant(1))


@pytest.mark.parametrize("made", [doubled, of_bf16, in_16_bits, by_column])
def test_a_model_without_a_table_that_numpy_can_look_up_is_left_as_it_was(
    made: Callable[[Any, Any], Any],
) -> None:
    openvino = import_openvino()
    op = openvino.opset13
    ids = op.parameter([1, 4], np.int64, name="input_ids")
    ids.output(0).set_names({"input_ids"})
    model = openvino.Model([made(op, ids)], [ids])
    assert take_token_table(openvino, model) is None
    assert len(model.inputs) == 1


def test_with_axis_and_number_as_numpy_has_them_the_same_table_is_taken() -> None:
    openvino = import_openvino()
    op = openvino.opset13
    ids = op.parameter([1, 4], np.int64, name="input_ids")
    ids.output(0).set_names({"input_ids"})
    rows = op.gather(op.constant(np.eye(5, dtype=np.float32)), ids, op.constant(0))
    table = take_token_table(openvino, openvino.Model([rows], [ids]))
    assert np.array_equal(table, np.eye(5))


@pytest.mark.parametrize("length", [1, 19, 20, 21, 39, 40, 41])
def test_a_query_of_any_length_gets_the_sum_of_its_tokens_also_after_a_longer_one(
    encoder: CompiledEncoder, numbers: Floats, length: int
) -> None:
    width = next((width for width in QUERY_WIDTHS if length <= width), length + 9)
    tokens: TokenIds = np.arange(length) % TOKENS
    encoder.query_stream.run([np.full(width, 7)])
    (vector,) = encoder.query_stream.run([tokens])
    assert np.allclose(vector, unit(numbers[tokens].sum(axis=0)), atol=1e-5)


def test_documents_get_the_vectors_that_queries_get(encoder: CompiledEncoder) -> None:
    rows: list[TokenIds] = [np.arange(5), np.arange(30)]
    queries = np.concatenate([encoder.query_stream.run([row]) for row in rows])
    for stream in encoder.document_streams:
        assert np.allclose(stream.run(rows), queries, atol=1e-5)


def test_opening_compiles_only_what_short_queries_need(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Any] = []
    compile_model = import_openvino().Core.compile_model

    def counted(core: Any, model: Any, *settings: Any) -> Any:
        compiled.append(model)
        return compile_model(core, model, *settings)

    monkeypatch.setattr(import_openvino().Core, "compile_model", counted)
    encoder = CompiledEncoder(path, threads=1, padding_id=PADDING)
    encoder.query_stream.run([np.arange(3)])
    assert len(compiled) == len(QUERY_WIDTHS)
    encoder.query_stream.run([np.zeros(QUERY_WIDTHS[-1] + 1, np.int64)])
    assert len(compiled) == len(QUERY_WIDTHS) + 1
    encoder.document_streams[0].run([np.arange(3)])
    assert len(compiled) == len(QUERY_WIDTHS) + 2


def test_what_is_compiled_late_is_compiled_once_for_all_that_need_it_at_once(path: Path) -> None:
    core = import_openvino().Core()
    compiled: list[Any] = []
    both_ask, may_go_on = threading.Barrier(3), threading.Event()

    def compile_now() -> Any:
        assert may_go_on.wait(PATIENCE_SECONDS)
        compiled.append(core.compile_model(str(path), "CPU"))
        return compiled[-1]

    def embed(stream: LateStream) -> Any:
        both_ask.wait(PATIENCE_SECONDS)
        return [stream.run([np.arange(3)]) for _ in range(2)]

    model = LateModel(compile_now, gives_way=True)
    with ThreadPoolExecutor(2) as pool:
        vectors = [pool.submit(embed, LateStream(model, PADDING)) for _ in range(2)]
        both_ask.wait(PATIENCE_SECONDS)
        assert compiled == []
        may_go_on.set()
        first, second = (each.result(PATIENCE_SECONDS) for each in vectors)
    assert np.array_equal(first, second)
    assert len(compiled) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, threads have no niceness")
@pytest.mark.parametrize("gives_way", [True, False])
def test_documents_give_way_and_long_queries_do_not_nor_is_any_less_nice_than_the_service(
    path: Path, *, gives_way: bool
) -> None:
    core = import_openvino().Core()
    seen: list[int] = []

    def compile_now() -> Any:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return core.compile_model(str(path), "CPU")

    def embed(nice: int) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        LateStream(LateModel(compile_now, gives_way=gives_way), PADDING).run([np.arange(3)])

    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    for nice in (own, max(own, 15)):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(embed, nice).result()
    assert seen == [max(own, DOCUMENT_NICENESS) if gives_way else own, max(own, 15)]


def test_a_model_that_cannot_be_compiled_late_is_an_error_and_tried_again(path: Path) -> None:
    core = import_openvino().Core()
    failures = [RuntimeError("no memory")]

    def compile_now() -> Any:
        if failures:
            raise failures.pop()
        return core.compile_model(str(path), "CPU")

    stream = LateStream(LateModel(compile_now, gives_way=True), PADDING)
    with pytest.raises(EmbeddingError, match="no memory"):
        stream.run([np.arange(3)])
    assert stream.run([np.arange(3)]).shape == (1, WIDTH)


def test_what_is_left_of_the_answer_before_is_no_answer(
    encoder: CompiledEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory is refused, OpenVINO may do nothing and say nothing."""
    streams = [encoder.query_stream, encoder.document_streams[0]]
    rows = [[np.arange(3)], [np.arange(4)]]
    for stream, row in zip(streams, rows, strict=True):
        stream.run(row)
    document = rows[1]
    with monkeypatch.context() as patched:
        patched.setattr(import_openvino().InferRequest, "infer", lambda *_: None)
        for stream, row in zip(streams, rows, strict=True):
            with pytest.raises(EmbeddingError, match="not a number"):
                stream.run(row)
        with pytest.raises(EmbeddingError, match="1 vectors for 2 texts"):
            encoder.document_streams[0].run(2 * document)
    assert encoder.document_streams[0].run(2 * document).shape == (2, WIDTH)
