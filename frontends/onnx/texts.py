# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of strings in models, and nodes that move them.

What only moves elements moves places; what looks strings up looks places up in a table that is made while importing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...support.errors import ModelError
from ..core.texts import all_words, of_words, texts_of
from ..core.values import Held, Texts, Value
from .onnx_node import Node
from .tensor_data import TensorData, TensorProto, array_of, check_size, is_text

#: The operators that move elements, and which of their inputs these are; None for all of them.
_MOVING: dict[str, tuple[int, ...] | None] = {
    "Concat": None, "Where": (1, 2), **dict.fromkeys(
        "ArrayFeatureExtractor Compress Expand Flatten Gather GatherElements GatherND Reshape Slice Split Squeeze Tile "
        "Transpose Unsqueeze".split(), (0,)),
}  # fmt: skip
#: Those that tell something of elements without a look at the strings.
_ABOUT: dict[str, tuple[int, ...] | None] = {"Equal": (0, 1), "Shape": (0,), "Size": (0,)}


def held_of(tensor: TensorProto, data: TensorData) -> Value | Texts:
    """What a tensor of the model holds, numbers or strings. Raises RelaxError where it is damaged."""
    if not is_text(tensor):
        return Value(array=array_of(tensor, data))
    check_size(f"tensor '{tensor.name}'", tensor.dims)
    if len(tensor.string_data) != math.prod(tensor.dims):
        held = f"its 'string_data' has {len(tensor.string_data)} elements"
        raise ModelError(f"tensor '{tensor.name}' of shape {tuple(tensor.dims)} cannot be read: {held}")
    return texts_of([each.decode("utf-8", "replace") for each in tensor.string_data], tensor.dims)


def moves_texts(node: Node) -> bool:
    """Whether a node takes strings and does not look at them."""
    return (node.op in _MOVING or node.op in _ABOUT) and any(isinstance(each, Texts) for each in node.inputs)


def moved(node: Node, convert: Callable[[list[Held | None]], Sequence[Held | None]]) -> list[Held | None]:
    """The outputs of such a node; `convert` makes them of inputs without strings."""
    chosen = {**_MOVING, **_ABOUT}[node.op]
    places = range(len(node.inputs)) if chosen is None else chosen
    given = [each for place, each in enumerate(node.inputs) if place in places and isinstance(each, Texts)]
    if len(given) != len(places) or len(given) != sum(isinstance(each, Texts) for each in node.inputs):
        raise node.fail("strings stand where numbers are expected, or next to numbers")
    words = all_words(given)
    inputs: list[Held | None] = [
        of_words(each, words).places if isinstance(each, Texts) else each for each in node.inputs
    ]
    outputs = convert(inputs)
    if node.op in _ABOUT:
        return list(outputs)
    return [Texts(each, words) if isinstance(each, Value) else each for each in outputs]
