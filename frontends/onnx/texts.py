# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of strings in models, and nodes that move strings.

Operators that only move elements move the indices of the strings instead. Operators that look up strings look up
indices in a table that is created at import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...support.errors import ModelError
from ..core.texts import all_words, of_words, texts_of
from ..core.values import Held, Texts, Value
from .onnx_node import OnnxNode
from .tensor_data import TensorData, TensorProto, array_of, check_size, is_text

#: Operators that move elements, and their inputs of such elements; None for all inputs.
_MOVING: dict[str, tuple[int, ...] | None] = {
    "Concat": None, "Where": (1, 2), **dict.fromkeys(
        "ArrayFeatureExtractor Compress Expand Flatten Gather GatherElements GatherND Reshape Slice Split Squeeze Tile "
        "Transpose Unsqueeze".split(), (0,)),
}  # fmt: skip
#: Operators that compute with elements without reading the strings.
_ABOUT: dict[str, tuple[int, ...] | None] = {"Equal": (0, 1), "Shape": (0,), "Size": (0,)}


def held_of(tensor: TensorProto, data: TensorData) -> Value | Texts:
    """Return the content of a tensor in the model, numbers or strings. Raise RelaxError if it is damaged."""
    if not is_text(tensor):
        return Value(array=array_of(tensor, data))
    check_size(f"tensor '{tensor.name}'", tensor.dims)
    if len(tensor.string_data) != math.prod(tensor.dims):
        held = f"its 'string_data' has {len(tensor.string_data)} elements"
        raise ModelError(f"tensor '{tensor.name}' of shape {tuple(tensor.dims)} cannot be read: {held}")
    return texts_of([each.decode("utf-8", "replace") for each in tensor.string_data], tensor.dims)


def moves_texts(node: OnnxNode) -> bool:
    """Check whether a node has string inputs and does not read the strings."""
    return (node.op in _MOVING or node.op in _ABOUT) and any(isinstance(input_, Texts) for input_ in node.inputs)


def moved(node: OnnxNode, convert: Callable[[list[Held | None]], Sequence[Held | None]]) -> list[Held | None]:
    """Return the outputs of such a node. `convert` computes them from inputs without strings."""
    chosen = {**_MOVING, **_ABOUT}[node.op]
    places = range(len(node.inputs)) if chosen is None else chosen
    given = [input_ for place, input_ in enumerate(node.inputs) if place in places and isinstance(input_, Texts)]
    if len(given) != len(places) or len(given) != sum(isinstance(input_, Texts) for input_ in node.inputs):
        raise node.fail("expected numbers, got strings, alone or together with numbers")
    words = all_words(given)
    inputs: list[Held | None] = [
        of_words(input_, words).places if isinstance(input_, Texts) else input_ for input_ in node.inputs
    ]
    outputs = convert(inputs)
    if node.op in _ABOUT:
        return list(outputs)
    return [Texts(output, words) if isinstance(output, Value) else output for output in outputs]
