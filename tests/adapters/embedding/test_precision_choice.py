"""How a converted model is run: in 8 bits where that is near enough and faster, else as it was."""

import json
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.adapters.embedding import precision_choice
from app.adapters.embedding.exported_model import MANIFEST, MODEL, WEIGHTS, load_export
from app.adapters.embedding.int8_matrices import (
    Inputs,
    Int8Form,
    inputs_of_products,
    with_int8_matrices,
)
from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.model_files import find_model
from app.adapters.embedding.openvino_runtime import (
    CompiledEncoder,
    TokenIds,
    import_openvino,
)
from app.adapters.embedding.precision_choice import Nearness, Reference, choose_precision
from app.errors import StartupError
from tests.adapters.embedding.small_models import model, small_model

Floats = npt.NDArray[np.float32]

TOKENS = 64
ROWS: list[TokenIds] = [np.arange(TOKENS), np.arange(20), np.array([5])]
FINE, COARSE = precision_choice.INT8_FORMS
HAS_BF16 = "BF16" in import_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
OUTPUTS, INPUTS = 2 * COARSE.group, COARSE.group


def model_of_halves(matrix: Floats, numbers: Floats) -> Any:
    """Each half of a token goes through the matrix alone."""

    def multiply(op: Any, tokens: Any) -> Any:
        halves = op.split(tokens, op.constant(2), 2).outputs()
        return op.concat([op.matmul(half, op.constant(matrix), False, True) for half in halves], 2)

    return model(numbers, multiply)


def run(graph: Any, form: Int8Form = COARSE, precision: str | None = None) -> Floats:
    """What becomes of each token alone; shape (TOKENS, outputs)."""
    settings = {"DYNAMIC_QUANTIZATION_GROUP_SIZE": str(form.group)}
    if precision:
        settings["INFERENCE_PRECISION_HINT"] = precision
    request = import_openvino().Core().compile_model(graph, "CPU", settings).create_infer_request()
    ids = np.arange(TOKENS)[:, None]
    request.infer({"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return np.array(request.get_output_tensor().data)


def with_inputs_in_8_bits(graph: Any) -> Any:
    """A copy that rounds what goes into its products, as not every processor's runtime does."""
    op = import_openvino().opset13
    rounded = graph.clone()
    for node in rounded.get_ordered_ops():
        if node.get_type_name() == "MatMul":
            numbers = node.input_value(0)
            largest = op.reduce_max(op.abs(numbers), op.constant(np.array([-1])), True)
            scale = op.divide(largest, op.constant(np.float32(127)))
            whole = op.round(op.divide(numbers, scale), "half_to_even")
            node.input(0).replace_source_output(op.multiply(whole, scale).output(0))
    return rounded


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


@pytest.mark.parametrize("form", [FINE, COARSE])
def test_a_product_in_8_bits_is_nearly_the_same(
    matrix: Floats, numbers: Floats, form: Int8Form
) -> None:
    graph = small_model(matrix, numbers)
    int8 = with_int8_matrices(graph, inputs_of_products(graph, ROWS), form)
    assert relative_error(run(int8, form), numbers @ matrix.T) < 0.02


def test_products_by_different_outputs_of_one_node_each_take_their_own(
    matrix: Floats, numbers: Floats
) -> None:
    both = np.concatenate([numbers, 3 * numbers[::-1]], axis=1)
    graph = model_of_halves(matrix, both)
    seen = inputs_of_products(graph, ROWS)
    assert len(seen) == 2
    expected = np.concatenate([numbers @ matrix.T, 3 * numbers[::-1] @ matrix.T], axis=1)
    assert relative_error(run(with_int8_matrices(graph, seen, COARSE)), expected) < 0.02


def test_large_numbers_in_one_place_are_evened_out(matrix: Floats, numbers: Floats) -> None:
    graph = small_model(matrix, numbers)
    seen = inputs_of_products(graph, ROWS)
    level = {
        name: Inputs(np.ones_like(inputs.largest), inputs.products) for name, inputs in seen.items()
    }
    evened, plain = (
        relative_error(
            run(with_inputs_in_8_bits(with_int8_matrices(graph, inputs, COARSE)), precision="f32"),
            numbers @ matrix.T,
        )
        for inputs in (seen, level)
    )  # with tiles for bf16 (AMX), the runtime rounds what goes in to that, and not to 8 bits
    assert evened < plain / 2


def test_numbers_that_go_in_together_make_good_what_rounding_loses(
    matrix: Floats, numbers: Floats
) -> None:
    few = np.random.default_rng(2).normal(size=(8, INPUTS)).astype(np.float32)
    together = numbers[:, :8] @ few
    graph = small_model(matrix, together)
    seen = inputs_of_products(graph, ROWS)
    alone = {
        name: Inputs(inputs.largest, np.diag(np.diagonal(inputs.products)))
        for name, inputs in seen.items()
    }
    made_good, plain = (
        relative_error(run(with_int8_matrices(graph, inputs, COARSE)), together @ matrix.T)
        for inputs in (seen, alone)
    )
    assert made_good < 0.9 * plain


def test_a_matrix_that_narrows_is_taken_by_the_finer_form_alone(
    matrix: Floats, numbers: Floats
) -> None:
    graph = small_model(matrix[: INPUTS // 2], numbers)
    seen = inputs_of_products(graph, ROWS)
    expected = run(graph)
    np.testing.assert_array_equal(run(with_int8_matrices(graph, seen, COARSE)), expected)
    finer = run(with_int8_matrices(graph, seen, FINE), FINE)
    assert 0 < relative_error(finer, expected) < 0.02


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
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[int, float]], None]:
    """Sets what each way takes, by its group in 8 bits: the rule is tried, not this machine.

    0 is floating point, in whichever precision.
    """

    def set_times(seconds: Mapping[int, float]) -> None:
        def told(_: Reference, *encoders: CompiledEncoder) -> list[float]:
            return [seconds[encoder.int8_group] for encoder in encoders]

        monkeypatch.setattr(Reference, "seconds", told)

    return set_times


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_near_but_slower_is_not_taken(
    folder: Path, reference: Reference, timed: Callable[[Mapping[int, float]], None]
) -> None:
    before = contents(folder)
    timed({0: 1.0, FINE.group: 1.01})
    chosen = choose_precision(folder, reference, ROWS)
    assert (chosen.precision, chosen.matrices, chosen.int8_group) == (None, "float", 0)
    assert contents(folder) == before


@pytest.mark.parametrize("seconds", [0.9, 1.0])
def test_what_is_near_and_no_slower_takes_the_place_of_the_files(
    folder: Path,
    reference: Reference,
    timed: Callable[[Mapping[int, float]], None],
    seconds: float,
) -> None:
    before = contents(folder)
    timed({0: 1.0, FINE.group: seconds})
    chosen = choose_precision(folder, reference, ROWS)
    after = contents(folder)
    assert set(after) == set(before)
    assert (chosen.matrices, chosen.int8_group) == ("int8", FINE.group)
    assert len(after[WEIGHTS]) < len(before[WEIGHTS])
    compiled = reference.compile(folder / MODEL, chosen.precision, chosen.int8_group)
    again = reference.nearness(compiled).lowest_cosine
    assert again == pytest.approx(chosen.lowest_cosine, abs=1e-4)
    assert again >= precision_choice.LOWEST_COSINE


def test_the_second_form_is_taken_where_the_first_is_too_far_from_the_original(
    folder: Path,
    reference: Reference,
    timed: Callable[[Mapping[int, float]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed({0: 1.0, COARSE.group: 0.9})
    monkeypatch.setattr(Reference, "nearness", near_but_for(FINE, Nearness(0.0, 1.0)))
    chosen = choose_precision(folder, reference, ROWS)
    assert (chosen.matrices, chosen.int8_group) == ("int8", COARSE.group)
    assert set(contents(folder)) == {MODEL, WEIGHTS}


def near_but_for(
    form: Int8Form, nearness: Nearness
) -> Callable[[Reference, CompiledEncoder], Nearness]:
    """Says that all ways to run a model are near the original but this one."""
    return lambda _, encoder: nearness if encoder.int8_group == form.group else Nearness(1.0, 1.0)


@pytest.mark.skipif(not HAS_BF16, reason="needs a processor with bf16: others have one precision")
def test_the_precision_of_the_processor_is_left_where_fp32_is_faster(
    folder: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(_: Reference, *encoders: CompiledEncoder) -> list[float]:
        return [1.0 if encoder.precision == "f32" else 2.0 for encoder in encoders]

    monkeypatch.setattr(Reference, "seconds", told)
    chosen = choose_precision(folder, reference, ROWS)
    assert chosen.precision == "f32"
    assert chosen.matrices == "int8"


def test_what_is_too_far_from_the_original_is_not_taken(
    folder: Path,
    reference: Reference,
    timed: Callable[[Mapping[int, float]], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    before = contents(folder)
    timed({0: 1.0, FINE.group: 0.1, COARSE.group: 0.1})
    elsewhere = shutil.copytree(folder, tmp_path_factory.mktemp("taken") / "model")
    taken = choose_precision(elsewhere, reference, ROWS).lowest_cosine
    floating = reference.nearness(reference.compile(folder / MODEL)).lowest_cosine
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
    assert reference.nearness(encoder).lowest_cosine < 0
    assert reference.nearness(encoder).lowest_own_cosine < 0


def test_a_way_in_which_queries_differ_from_documents_is_not_taken(
    folder: Path,
    reference: Reference,
    timed: Callable[[Mapping[int, float]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed({0: 1.0, FINE.group: 0.1, COARSE.group: 0.2})
    monkeypatch.setattr(Reference, "nearness", near_but_for(FINE, Nearness(1.0, 0.0)))
    assert choose_precision(folder, reference, ROWS).int8_group == COARSE.group


@pytest.mark.skipif(not HAS_BF16, reason="needs a processor with bf16: others have one precision")
def test_8_bits_are_run_in_the_precision_in_which_they_are_near(
    folder: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(_: Reference, *encoders: CompiledEncoder) -> list[float]:
        return [
            2.0 if encoder.precision == "f32" and not encoder.int8_group else 1.0
            for encoder in encoders
        ]

    def nearness(_: Reference, encoder: CompiledEncoder) -> Nearness:
        return Nearness(1.0, 0.0 if encoder.int8_group and encoder.precision != "f32" else 1.0)

    monkeypatch.setattr(Reference, "seconds", told)
    monkeypatch.setattr(Reference, "nearness", nearness)
    chosen = choose_precision(folder, reference, ROWS)
    assert (chosen.precision, chosen.int8_group) == ("f32", FINE.group)


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
    del manifest["matrices"], manifest["int8_group"]  # it had no such lines
    (tmp_path / name / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    found = load_export(tmp_path / name)
    assert found is not None
    assert found.manifest.matrices == "float"
