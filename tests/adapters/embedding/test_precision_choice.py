"""How a converted model is run: in 8 bits where that is near enough and faster, else as it was."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.adapters.embedding import precision_choice
from app.adapters.embedding.exported_model import MANIFEST, MODEL, WEIGHTS, load_export
from app.adapters.embedding.int8_matrices import largest_inputs, with_int8_matrices
from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.model_files import find_model
from app.adapters.embedding.openvino_runtime import (
    INT8_GROUP,
    CompiledEncoder,
    TokenIds,
    import_openvino,
)
from app.adapters.embedding.precision_choice import Reference, choose_precision
from app.errors import StartupError

Floats = npt.NDArray[np.float32]

TOKENS = 64
ROWS: list[TokenIds] = [np.arange(TOKENS), np.arange(20), np.array([5])]
OUTPUTS, INPUTS = 2 * INT8_GROUP, INT8_GROUP


def model(numbers: Floats, multiply: Callable[[Any, Any], Any]) -> Any:
    """Takes what a converted model takes: token `n` is row `n` of the numbers, multiplied.

    A text is the sum of its tokens.
    """
    openvino = import_openvino()
    op = openvino.opset13
    names = ("input_ids", "attention_mask")
    ids, mask = (op.parameter([-1, -1], np.int64, name=name) for name in names)
    product = multiply(op, op.gather(op.constant(numbers), ids, op.constant(0)))
    counted = op.multiply(product, op.unsqueeze(op.convert(mask, "f32"), op.constant(2)))
    graph = openvino.Model([op.reduce_sum(counted, op.constant(1))], [ids, mask])
    for parameter, name in zip(graph.inputs, names, strict=True):
        parameter.get_tensor().set_names({name})
    return graph


def small_model(matrix: Floats, numbers: Floats) -> Any:
    """Tokens go through the matrix."""
    return model(numbers, lambda op, tokens: op.matmul(tokens, op.constant(matrix), False, True))


def model_of_halves(matrix: Floats, numbers: Floats) -> Any:
    """Each half of a token goes through the matrix alone."""

    def multiply(op: Any, tokens: Any) -> Any:
        halves = op.split(tokens, op.constant(2), 2).outputs()
        return op.concat([op.matmul(half, op.constant(matrix), False, True) for half in halves], 2)

    return model(numbers, multiply)


def run(graph: Any) -> Floats:
    """What becomes of each token alone; shape (TOKENS, outputs)."""
    settings = {"DYNAMIC_QUANTIZATION_GROUP_SIZE": str(INT8_GROUP)}
    request = import_openvino().Core().compile_model(graph, "CPU", settings).create_infer_request()
    ids = np.arange(TOKENS)[:, None]
    request.infer({"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return np.array(request.get_output_tensor().data)


def relative_error(found: Floats, expected: Floats) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.fixture
def matrix() -> Floats:
    return np.random.default_rng(0).normal(size=(OUTPUTS, INPUTS)).astype(np.float32)


@pytest.fixture
def numbers() -> Floats:
    """What goes into the product: in one place thirty times as large as in others, as in models."""
    numbers = np.random.default_rng(1).normal(size=(TOKENS, INPUTS)).astype(np.float32)
    numbers[:, 7] *= 30
    return numbers


def test_a_product_in_8_bits_is_nearly_the_same(matrix: Floats, numbers: Floats) -> None:
    graph = small_model(matrix, numbers)
    int8 = with_int8_matrices(graph, largest_inputs(graph, ROWS))
    assert relative_error(run(int8), numbers @ matrix.T) < 0.02


def test_products_by_different_outputs_of_one_node_each_take_their_own(
    matrix: Floats, numbers: Floats
) -> None:
    both = np.concatenate([numbers, 3 * numbers[::-1]], axis=1)
    graph = model_of_halves(matrix, both)
    largest = largest_inputs(graph, ROWS)
    assert len(largest) == 2
    expected = np.concatenate([numbers @ matrix.T, 3 * numbers[::-1] @ matrix.T], axis=1)
    assert relative_error(run(with_int8_matrices(graph, largest)), expected) < 0.02


def test_large_numbers_in_one_place_are_evened_out(matrix: Floats, numbers: Floats) -> None:
    graph = small_model(matrix, numbers)
    largest = largest_inputs(graph, ROWS)
    level = {name: np.ones_like(peaks) for name, peaks in largest.items()}
    evened, plain = (
        relative_error(run(with_int8_matrices(graph, peaks)), numbers @ matrix.T)
        for peaks in (largest, level)
    )
    assert evened < plain / 2


def test_a_matrix_that_narrows_is_left_as_it_is(matrix: Floats, numbers: Floats) -> None:
    graph = small_model(matrix[: INPUTS // 2], numbers)
    assert largest_inputs(graph, ROWS) == {}
    np.testing.assert_array_equal(run(with_int8_matrices(graph, {})), run(graph))


@pytest.fixture
def folder(matrix: Floats, numbers: Floats, tmp_path: Path) -> Path:
    """With a converted model, to choose for."""
    graph = small_model(matrix, numbers)
    import_openvino().save_model(graph, str(tmp_path / MODEL), compress_to_fp16=True)
    return tmp_path


@pytest.fixture
def reference(folder: Path) -> Reference:
    encoder = CompiledEncoder(folder / MODEL, threads=1, padding_id=0, precision="f32")
    return Reference(ROWS, 0, encoder.document_streams[0].run(ROWS))


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], None]:
    """Sets what floating point and 8 bits take: the rule is tried, not this machine."""

    def set_times(floating: float, int8: float) -> None:
        monkeypatch.setattr(Reference, "seconds", lambda *_: [floating, int8])

    return set_times


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_near_but_slower_is_not_taken(
    folder: Path, reference: Reference, timed: Callable[[float, float], None]
) -> None:
    before = contents(folder)
    timed(1.0, 1.01)
    chosen = choose_precision(folder, reference, ROWS)
    assert (chosen.precision, chosen.matrices) == (None, "float")
    assert contents(folder) == before


def test_what_is_near_and_faster_takes_the_place_of_the_files(
    folder: Path, reference: Reference, timed: Callable[[float, float], None]
) -> None:
    before = contents(folder)
    timed(1.0, 0.99)
    chosen = choose_precision(folder, reference, ROWS)
    after = contents(folder)
    assert set(after) == set(before)
    assert chosen.matrices == "int8"
    assert len(after[WEIGHTS]) < len(before[WEIGHTS])
    again = reference.lowest_cosine(reference.compile(folder / MODEL))
    assert again == pytest.approx(chosen.lowest_cosine, abs=1e-4)
    assert again >= precision_choice.LOWEST_COSINE


def test_what_is_too_far_from_the_original_is_not_taken(
    folder: Path,
    reference: Reference,
    timed: Callable[[float, float], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    before = contents(folder)
    timed(1.0, 0.1)
    elsewhere = shutil.copytree(folder, tmp_path_factory.mktemp("taken") / "model")
    taken = choose_precision(elsewhere, reference, ROWS).lowest_cosine
    floating = reference.lowest_cosine(reference.compile(folder / MODEL))
    assert taken < floating
    monkeypatch.setattr(precision_choice, "LOWEST_COSINE", (taken + floating) / 2)
    assert choose_precision(folder, reference, ROWS).matrices == "float"
    assert contents(folder) == before


def test_what_queries_run_in_is_compared_too(
    folder: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = reference.compile(folder / MODEL)
    run_query = encoder.query_stream.run
    monkeypatch.setattr(encoder.query_stream, "run", lambda rows: -run_query(rows))
    assert reference.lowest_cosine(encoder) < 0


def test_time_in_which_others_have_the_processor_does_not_count(
    folder: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    delayed, free = reference.compile(folder / MODEL), reference.compile(folder / MODEL)
    (stream,) = delayed.document_streams
    run_now = stream.run

    def run_later(rows: list[TokenIds]) -> Floats:
        threading.Event().wait(0.05)
        return run_now(rows)

    monkeypatch.setattr(stream, "run", run_later)
    assert max(reference.seconds(delayed, free)) < 0.05


def test_a_model_that_is_not_the_original_is_refused(folder: Path, reference: Reference) -> None:
    other = Reference(reference.rows, 0, -reference.vectors)
    with pytest.raises(StartupError, match="EMBEDDING_PROVIDER=sentence-transformers"):
        choose_precision(folder, other, ROWS)


def test_the_choice_stands_in_the_manifest(
    model_directory: Path, local_embedder: LocalEmbedder
) -> None:
    found = load_export(model_directory / local_embedder.fingerprint)
    assert found is not None
    graph = (found.folder / MODEL).read_text("utf-8")
    assert found.manifest.matrices == ("int8" if 'element_type="i8"' in graph else "float")
    assert found.manifest.matrices == local_embedder.matrices


def test_a_model_converted_by_an_earlier_version_is_used_as_it_is(
    model_directory: Path, tmp_path: Path
) -> None:
    name = find_model("all-MiniLM-L6-v2").fingerprint
    shutil.copytree(model_directory / name, tmp_path / name)
    manifest = json.loads((tmp_path / name / MANIFEST).read_text("utf-8"))
    del manifest["matrices"]  # it had no such line
    (tmp_path / name / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    found = load_export(tmp_path / name)
    assert found is not None
    assert found.manifest.matrices == "float"
