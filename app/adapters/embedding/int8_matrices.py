"""Rewrites a converted graph so that its matrices are multiplied in 8 bits, nearly exactly.

The runtime scales each group of a token's numbers to 8 bits as it goes ("dynamic quantisation").
That loses much where one number is many times as large as the others of its group, as behind a
layer normalisation, where it is always the same few. So those inputs are divided, and the columns
of the matrix multiplied, by factors that even them out, and the product stays the same:
SmoothQuant, Xiao et al. 2022, https://arxiv.org/abs/2211.10438, equation 4.

Rounding a matrix loses something as well, twice as much as rounding its inputs does. Numbers that
go in together can make good for each other: GPTQ, Frantar et al. 2022,
https://arxiv.org/abs/2210.17323.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.adapters.embedding.openvino_runtime import TokenIds, import_openvino

Float32s = npt.NDArray[np.float32]

SMOOTHING = 0.6
"""The paper's alpha: how much of the difficulty goes from inputs to matrices. Of MiniLM, 0.5 to 0.7
give the same cosine to 0.00005."""

DAMPING = 1.0
"""How little the inputs of a few texts are believed to tell of others, as a share of their mean
square. The paper takes 0.01, with 128 texts of 2,048 tokens. With those of the export, 48 chunks of
the PEPs had a mean cosine of 0.99966 by that, 0.99975 by 0.3 to 3, and 0.99969 without GPTQ."""

LARGEST = 127
SMALLEST_SCALE = 1e-7
"""The scales are stored in half precision, which ends at 6e-8."""


@dataclass(frozen=True)
class Int8Form:
    """Which matrices of a graph are put into 8 bits, and how finely they are scaled."""

    group: int
    """Numbers that share a scale, of a matrix and of what goes into it."""
    narrowing: bool
    """Whether those that give fewer numbers than they take are among them: the ways back from a
    feed-forward layer. What they take is large in other places for each token, so that no factors
    can even it out, and only small groups keep the rest exact."""

    def takes(self, product: "MatrixProduct") -> bool:
        """Whether this product is to be put into 8 bits."""
        outputs, inputs = product.matrix.shape
        return inputs % self.group == 0 and (self.narrowing or outputs >= inputs)


@dataclass(frozen=True)
class MatrixProduct:
    """A product by a constant matrix: `numbers @ matrix.T`."""

    name: str
    node: Any
    matrix: Float32s
    """Shape (outputs, inputs)."""

    @property
    def input_name(self) -> str:
        """What several products share if they take the same numbers."""
        numbers = self.node.input_value(0)
        return f"{numbers.get_node().get_friendly_name()}:{numbers.get_index()}"


def matrix_products(graph: Any) -> list[MatrixProduct]:
    """Those of a graph, in the order in which they run."""
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
        products.append(MatrixProduct(node.get_friendly_name(), node, matrix))
    return products


@dataclass(frozen=True)
class Inputs:
    """What goes into a product, over the tokens of some texts."""

    largest: Float32s
    """The largest absolute number at each place, shape (inputs,)."""
    products: Float32s
    """Of each two places, the sum of their products: `x.T @ x`, shape (inputs, inputs)."""


def inputs_of_products(graph: Any, rows: Sequence[TokenIds]) -> dict[str, Inputs]:
    """What goes into the products of a graph, by `MatrixProduct.input_name`."""
    watched = graph.clone()
    names = {
        product.input_name: product.node.input_value(0) for product in matrix_products(watched)
    }
    first = len(watched.outputs)
    watched.add_outputs(list(names.values()))
    model = (
        import_openvino().Core().compile_model(watched, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    )
    request = model.create_infer_request()
    seen: dict[str, Inputs] = {}
    for row in rows:
        request.infer({"input_ids": row[None], "attention_mask": np.ones_like(row)[None]})
        for number, name in enumerate(names, start=first):
            numbers = np.array(request.get_output_tensor(number).data, np.float32)
            numbers = numbers.reshape(-1, numbers.shape[-1])
            largest, products = np.abs(numbers).max(axis=0), numbers.T @ numbers
            if name in seen:
                largest = np.maximum(largest, seen[name].largest)
                products += seen[name].products
            seen[name] = Inputs(largest, products)
    return seen


def with_int8_matrices(graph: Any, inputs: Mapping[str, Inputs], form: Int8Form) -> Any:
    """A copy of the graph in which matrices are stored and multiplied in 8 bits.

    `inputs` are those that `inputs_of_products` saw.
    """
    rewritten = graph.clone()
    sharing: dict[str, list[MatrixProduct]] = {}
    for product in filter(form.takes, matrix_products(rewritten)):
        sharing.setdefault(product.input_name, []).append(product)
    for name, together in sharing.items():
        _rewrite(together, inputs[name], form.group)
    rewritten.validate_nodes_and_infer_types()
    return rewritten


def _rewrite(together: Sequence[MatrixProduct], inputs: Inputs, group: int) -> None:
    """Put products that take the same numbers into 8 bits."""
    op = import_openvino().opset13
    numbers = together[0].node.input_value(0)
    columns = np.max([np.abs(product.matrix).max(axis=0) for product in together], axis=0)
    factors = _evening_out(inputs.largest, columns)
    numbers = op.multiply(numbers, op.constant(1 / factors)).output(0)
    making_good = _making_good(inputs.products / np.outer(factors, factors))
    for product in together:
        whole, scales = _in_8_bits(product.matrix * factors, group, making_good)
        scaled = op.multiply(op.convert(op.constant(whole), "f16"), op.constant(scales))
        matrix = op.reshape(scaled, op.constant(np.array(product.matrix.shape)), False)
        replacement = op.matmul(numbers, op.convert(matrix, "f32"), False, True)
        replacement.set_friendly_name(product.name)
        for target in product.node.output(0).get_target_inputs():
            target.replace_source_output(replacement.output(0))


def _evening_out(largest: Float32s, columns: Float32s) -> Float32s:
    """A factor for each input, by its largest number and that of its column of the matrix."""
    tiny = np.float32(1e-4)  # an input or a column that is always nothing needs no factor
    factors = np.maximum(largest, tiny) ** SMOOTHING / np.maximum(columns, tiny) ** (1 - SMOOTHING)
    return np.asarray(factors / np.exp(np.log(factors).mean()), np.float32)


def _making_good(products: Float32s) -> Float32s:
    """How much of what one column loses each later one can make good, shape (inputs, inputs).

    The upper Cholesky factor of the inverse: step 2 of the paper's algorithm 1.
    """
    mean_square = float(np.diagonal(products).mean()) or 1.0
    damped = products / mean_square
    damped[np.diag_indices_from(damped)] += DAMPING
    return np.asarray(np.linalg.cholesky(np.linalg.inv(damped)).T, np.float32)


def _in_8_bits(
    matrix: Float32s, group: int, making_good: Float32s
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float16]]:
    """Whole numbers, shape (outputs, groups, group), and a scale for each group.

    Column after column: what is lost by rounding one is taken off those to come.
    """
    groups = matrix.reshape(len(matrix), -1, group)
    scales = np.abs(groups).max(axis=2, keepdims=True) / LARGEST
    scales = np.maximum(scales, SMALLEST_SCALE).astype(np.float16)
    wanted, whole = matrix.copy(), np.empty_like(matrix)
    for start in range(0, matrix.shape[1], group):  # group by group: fewer and larger products
        end = start + group
        scale = scales[:, start // group, 0].astype(np.float32)
        lost = np.empty((len(matrix), group), np.float32)
        for column in range(start, end):
            whole[:, column] = np.rint(wanted[:, column] / scale).clip(-LARGEST, LARGEST)
            lost_here = wanted[:, column] - whole[:, column] * scale
            lost[:, column - start] = lost_here / making_good[column, column]
            later = slice(column + 1, end)
            wanted[:, later] -= np.outer(lost[:, column - start], making_good[column, later])
        wanted[:, end:] -= lost @ making_good[start:end, end:]
    return whole.reshape(groups.shape).astype(np.int8), scales
