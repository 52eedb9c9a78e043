# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of a part of the graph (ai.onnx.preview.training.Gradient)."""

from __future__ import annotations

from typing import Any

from ....dialects.core.infos import is_float
from ....passes.gradient.reverse import gradients_at
from ....support.suggest import counted
from ..node import Node
from ..problems import shown
from ..registry import register_onnx
from ..values import Outputs, Value
from .parts import value_with


@register_onnx("ai.onnx.preview.training", "Gradient")
def gradient(node: Node) -> Outputs:
    """How the sum of y's elements changes with the xs, where these and the zs have the values that the node is given.

    The part of the graph from them to y is imported again with these values, which need not be those of the graph.
    """
    xs, zs, y = node.strings("xs", []), node.strings("zs", []), node.string("y", "")
    _check(node, xs, zs)
    if node.graph.knows(y) and node.graph.lookup(y) is None:
        return [None] * node.output_count  # why it could not be imported has been noted
    # An output without a name is not wanted.
    wanted = [index for index, name in enumerate(node.proto.output) if name]
    values = {name: node.held(index) for index, name in enumerate([*xs, *zs])}

    def value_of_y(*tensors: Any) -> Any:
        variables = {xs[index]: Value(ssa=tensor) for index, tensor in zip(wanted, tensors, strict=True)}
        value = value_with(node, y, {**values, **variables})
        _check_float(node, shown(y), value)
        return value.ssa

    made = dict(zip(wanted, gradients_at([node.tensor(index) for index in wanted], value_of_y), strict=True))
    return [made.get(index) for index in range(node.output_count)]


def _check(node: Node, xs: list[str], zs: list[str]) -> None:
    if not xs:
        raise node.fail("names no tensor to differentiate by", "xs")
    names = [*xs, *zs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise node.fail(f"names '{shown(twice)}' twice", "xs" if twice in xs else "zs")
    if len(node.inputs) != len(names):
        raise node.fail(
            f"has {counted(len(node.inputs), 'input')}, but 'xs' and 'zs' name {counted(len(names), 'tensor')}"
        )
    if node.output_count > len(xs):
        raise node.fail(
            f"has {counted(node.output_count, 'output')}, but 'xs' names {counted(len(xs), 'tensor')}", "xs"
        )
    for index, name in enumerate(xs):
        _check_float(node, shown(name), node.value(index))


def _check_float(node: Node, name: str, value: Any) -> None:
    if not isinstance(value, Value):
        raise node.fail(f"'{name}' is a sequence or an optional: only tensors have derivatives")
    if not is_float(value.dtype):
        raise node.fail(f"'{name}' has elements of type {value.dtype}: only floats have derivatives")
