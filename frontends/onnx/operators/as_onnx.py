# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of other domains that are ONNX's own on other inputs: converted as those are."""

from __future__ import annotations

from typing import Any

from ..prelude import Node, Value, relax
from ..registry import find_converter

#: Of the operators whose versions do not differ in what is used of them.
_VERSION = 21


def as_onnx(node: Node, name: str, *inputs: Any, version: int = _VERSION) -> Any:
    """The first output of an operator of ONNX's with a node's attributes, on tensors (None where one is left out)."""
    values = [each if each is None or isinstance(each, Value) else Value(ssa=each) for each in inputs]
    own = Node(node.proto, values, version, node.graph)
    own.op, own.domain = name, ""
    converter = find_converter("", name, version)
    if converter is None:
        raise node.fail(f"it is converted as {name}, which has no converter")
    returned = converter.function(own)
    first = returned[0] if isinstance(returned, (list, tuple)) else returned
    return first.ssa if isinstance(first, Value) else first


def channels_first(node: Node, tensor: Any) -> Any:
    """A tensor with channels behind its other dimensions as ONNX has it; the node's first input has its rank."""
    rank = node.rank(0)
    return _permuted(tensor, [0, rank - 1, *range(1, rank - 1)])


def channels_last(node: Node, tensor: Any) -> Any:
    rank = node.rank(0)
    return _permuted(tensor, [0, *range(2, rank), 1])


def _permuted(tensor: Any, axes: list[int]) -> Any:
    return relax["permute_dims"](tensor, axes=axes)
