"""Rewrites a converted graph so that its matrices are multiplied in 8 bits, nearly exactly.

The runtime scales each group of a token's numbers to 8 bits as it goes ("dynamic quantisation").
That loses much where one number is many times as large as the others of its group, as behind a
layer normalisation, where it is always the same few. So those inputs are divided, and the columns
of the matrix multiplied, by factors that even them out, and the product stays the same:
SmoothQuant, Xiao et al. 2022, https://arxiv.org/abs/2211.10438, equation 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.adapters.embedding.openvino_runtime import (
    INT8_GROUP,
    TokenIds,
    import_openvino,
)

Floats = npt.NDArray[np.float32]

SMOOTHING = 0.6
"""The paper's alpha: how much of the difficulty goes from inputs to matrices. Of MiniLM, 0.5 to 0.7
give the same cosine to 0.00005."""

LARGEST = 127
SMALLEST_SCALE = 1e-7
"""The scales are stored in half precision, which ends at 6e-8."""


@dataclass(frozen=True)
class MatrixProduct:
    """A product by a constant matrix: `numbers @ matrix.T`."""

    name: str
    node: Any
    matrix: Floats
    """Shape (outputs, inputs)."""

    @property
    def input_name(self) -> str:
        """What several products share if they take the same numbers."""
        numbers = self.node.input_value(0)
        return f"{numbers.get_node().get_friendly_name()}:{numbers.get_index()}"


def matrix_products(graph: Any) -> list[MatrixProduct]:
    """Those of a graph that can be put into 8 bits, in the order in which they run.

    Not those that give fewer numbers than they take, the ways back from a feed-forward layer: what
    they take is large in other places for each token, so that no factors can even it out.
    """
    products = []
    for node in graph.get_ordered_ops():
        if node.get_type_name() != "MatMul" or node.get_attributes()["transpose_a"]:
            continue
        constant = node.input_value(1).get_node()
        if constant.get_type_name() == "Convert":
            constant = constant.input_value(0).get_node()
        if constant.get_type_name() != "Constant" or len(constant.data.shape) != 2:
            continue
        matrix = np.array(constant.data, np.float32)
        matrix = matrix if node.get_attributes()["transpose_b"] else matrix.T
        outputs, inputs = matrix.shape
        if inputs % INT8_GROUP == 0 and outputs >= inputs:
            products.append(MatrixProduct(node.get_friendly_name(), node, matrix))
    return products


def largest_inputs(graph: Any, rows: Sequence[TokenIds]) -> dict[str, Floats]:
    """The largest absolute number at each place of what goes into each product, over some texts."""
    watched = graph.clone()
    inputs = {
        product.input_name: product.node.input_value(0) for product in matrix_products(watched)
    }
    first = len(watched.outputs)
    watched.add_outputs(list(inputs.values()))
    model = (
        import_openvino().Core().compile_model(watched, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    )
    request = model.create_infer_request()
    largest: dict[str, Floats] = {}
    for row in rows:
        request.infer({"input_ids": row[None], "attention_mask": np.ones_like(row)[None]})
        for number, name in enumerate(inputs, start=first):
            numbers = np.abs(request.get_output_tensor(number).data)
            peaks = numbers.reshape(-1, numbers.shape[-1]).max(axis=0)
            largest[name] = np.maximum(largest.get(name, peaks), peaks)
    return largest


def with_int8_matrices(graph: Any, largest: Mapping[str, Floats]) -> Any:
    """A copy of the graph whose matrices are stored and multiplied in 8 bits.

    `largest` is what `largest_inputs` says of the graph.
    """
    rewritten = graph.clone()
    sharing: dict[str, list[MatrixProduct]] = {}
    for product in matrix_products(rewritten):
        sharing.setdefault(product.input_name, []).append(product)
    for name, together in sharing.items():
        _rewrite(together, largest[name])
    rewritten.validate_nodes_and_infer_types()
    return rewritten


def _rewrite(products: Sequence[MatrixProduct], largest: Floats) -> None:
    """Put products that take the same numbers into 8 bits."""
    op = import_openvino().opset13
    numbers = products[0].node.input_value(0)
    columns = np.max([np.abs(product.matrix).max(axis=0) for product in products], axis=0)
    factors = _evening_out(largest, columns)
    numbers = op.multiply(numbers, op.constant(1 / factors)).output(0)
    for product in products:
        outputs, inputs = product.matrix.shape
        whole, scales = _in_8_bits(product.matrix * factors)
        scaled = op.multiply(op.convert(op.constant(whole), "f16"), op.constant(scales))
        matrix = op.reshape(scaled, op.constant(np.array([outputs, inputs])), False)
        replacement = op.matmul(numbers, op.convert(matrix, "f32"), False, True)
        replacement.set_friendly_name(product.name)
        for target in product.node.output(0).get_target_inputs():
            target.replace_source_output(replacement.output(0))


def _evening_out(largest: Floats, columns: Floats) -> Floats:
    """A factor for each input, by its largest number and that of its column of the matrix."""
    tiny = np.float32(1e-4)  # an input or a column that is always nothing needs no factor
    factors = np.maximum(largest, tiny) ** SMOOTHING / np.maximum(columns, tiny) ** (1 - SMOOTHING)
    return np.asarray(factors / np.exp(np.log(factors).mean()), np.float32)


def _in_8_bits(matrix: Floats) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float16]]:
    """Whole numbers, shape (outputs, groups, INT8_GROUP), and a scale for each group."""
    groups = matrix.reshape(len(matrix), -1, INT8_GROUP)
    scales = np.abs(groups).max(axis=2, keepdims=True) / LARGEST
    scales = np.maximum(scales, SMALLEST_SCALE).astype(np.float16)
    whole = np.rint(groups / scales.astype(np.float32)).clip(-LARGEST, LARGEST)
    return whole.astype(np.int8), scales
