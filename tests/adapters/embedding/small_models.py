"""Models of a few numbers, with the inputs of converted ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from app.adapters.embedding.openvino_runtime import import_openvino

Floats = npt.NDArray[np.float32]


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
