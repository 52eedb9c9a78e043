# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators with layouts. Rules cover one order of dimensions, and other orders are transposed to it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.relax.infer.layouts import Layout, layouts_of
from relax_mlir.passes.graph.decompose.tensor_formulas import relax
from relax_mlir.passes.graph.layout.conversion import permuted

from .gradient_call import GradientCall, Gradients
from .reverse import gradients_at


def turned(x: Value, source: str, target: str) -> Value:
    """Permute dimensions that are named by letters."""
    return permuted(x, [source.index(letter) for letter in target])


def plain_layouts(call: GradientCall) -> dict[str, Layout]:
    """Return the layouts of operands and result. Raises RelaxError for blocked dimensions."""
    layouts = layouts_of(call.inferred)
    blocked = [layout.text for layout in layouts.values() if any(axis.block is not None for axis in layout.axes)]
    if blocked:
        raise call.fail(f"only in layouts without blocks, not {blocked[0]}: differentiate before relax-convert-layout")
    return layouts


def in_own_order(rule: Callable[[GradientCall], Gradients]) -> Callable[[GradientCall], Gradients]:
    """Wrap a rule so that it sees operators of windows in their default order of dimensions, such as NCHW."""

    @functools.wraps(rule)
    def ordered(call: GradientCall) -> Gradients:
        layouts = plain_layouts(call)
        if all(layout.text == layout.dimensions for layout in layouts.values()):
            return rule(call)
        names = [name for name in layouts if name != "result"]
        attributes = {name: value for name, value in call.inferred.attributes.items() if not name.endswith("layout")}

        def forward(*operands: Value) -> Value:
            pairs = [(operand, layouts[name]) for operand, name in zip(operands, names, strict=True)]
            given = [turned(operand, layout.text, layout.dimensions) for operand, layout in pairs]
            made = relax.dialect.ops[call.operation.name.removeprefix("relax.")](*given, **attributes)
            return turned(made, layouts["result"].dimensions, layouts["result"].text)

        return gradients_at(call.operands, forward, call.gradient)

    return ordered


def times_matrix(gradient: Value, axis: int, rank: int, matrix: Value) -> Value:
    """Multiply all vectors along one dimension by a matrix."""
    order = [*(index for index in range(rank) if index != axis), axis]
    product = relax.matmul(relax.permute_dims(gradient, axes=order), matrix)
    return relax.permute_dims(product, axes=[order.index(position) for position in range(rank)])
