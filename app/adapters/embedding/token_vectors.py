"""The table of a converted model that holds a vector for each token, looked up outside of it.

OpenVINO 2026.4 makes a table of 16 bits one of 32 bits eleven times while it compiles a model of a
fixed shape, and drops each: 0.5 GB are written, and of 0.7 s of CPU 0.3 go into that.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

INPUT_IDS = "input_ids"
INPUT_VECTORS = "token_vectors"
"""Inputs of models."""

TokenTable = npt.NDArray[np.floating[Any]]
"""Shape (tokens, width of a vector); read only, it lies where the model's weights do."""


def take_token_table(openvino: Any, model: Any) -> TokenTable | None:
    """Have a model of a fixed shape take the vectors of its tokens as an input, INPUT_VECTORS.

    Gives the table to look them up in. None, and the model as it was, where it has no such table.
    """
    for lookup in model.get_ops():
        if not _gives_rows_as_numpy_does(lookup):
            continue
        table, ids = (_converted(lookup.input_value(number)) for number in (0, 1))
        if not (_is_readable(table) and _is_input(ids, INPUT_IDS)):
            continue
        vectors = openvino.opset13.parameter(lookup.get_output_shape(0), np.float32)
        vectors.output(0).set_names({INPUT_VECTORS})
        lookup.output(0).replace(vectors.output(0))
        model.add_parameters([vectors])
        model.validate_nodes_and_infer_types()
        rows: TokenTable = table.data
        return rows
    return None


def _gives_rows_as_numpy_does(node: Any) -> bool:
    """Whether this is `table[ids]`, in 32 bits."""
    if node.get_type_name() != "Gather" or node.get_attributes()["batch_dims"] != 0:
        return False
    axis = node.input_value(2).get_node()
    is_first = axis.get_type_name() == "Constant" and not axis.data.any()
    return is_first and node.get_output_element_type(0).to_string() == "f32"


def _is_readable(table: Any) -> bool:
    """Whether NumPy knows its numbers; those of bf16 it takes for f16."""
    is_constant = table.get_type_name() == "Constant"
    return is_constant and table.get_output_element_type(0).to_string() in ("f16", "f32")


def _converted(value: Any) -> Any:
    """What is converted to this value, perhaps in several steps."""
    node = value.get_node()
    while node.get_type_name() == "Convert":
        node = node.input_value(0).get_node()
    return node


def _is_input(node: Any, name: str) -> bool:
    return node.get_type_name() == "Parameter" and name in node.output(0).get_names()
