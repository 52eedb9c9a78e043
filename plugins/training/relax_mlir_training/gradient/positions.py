# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of data movement: the operator moves positions, which tell the source of each element."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import product
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import is_known, shape_of
from relax_mlir.passes.graph.decompose.tensor_formulas import relax, shape_operand

from .gradient_call import GradientCall


def positions_of(x: Value) -> Value:
    """Return for each element its position in row-major order, as i64."""
    shape = shape_of(x)
    if is_known(shape):
        count = product(shape or ())
        return relax.reshape(relax.arange(0, count, 1, dtype="i64"), shape_operand(x))
    ones = relax.flatten(relax.ones_like(x, dtype="i64"))
    return relax.reshape(relax.cumsum(ones, axis=0, exclusive=True), shape_operand(x))


def moved_by_itself(call: GradientCall, *, has_others: bool = False, **changed: object) -> Value:
    """Return the gradient of the first operand of an operator that moves its elements and also accepts positions."""
    name = call.operation.name.removeprefix("relax.")
    attributes = {**call.inferred.attributes, **changed}

    def move(positions: Value) -> Value:
        return relax.dialect.ops[name](positions, *call.operands[1:], **attributes)

    return moved_back(call.gradient, call.operands[0], move, has_others=has_others)


def moved_back(gradient: Value, x: Value, move: Callable[[Value], Value], *, has_others: bool = False) -> Value:
    """Return the gradient of x, where `move(x)` moves elements, any number of times each.

    With `has_others`, `move` returns a position below 0 for elements that are not from x.
    """
    places = relax.flatten(move(positions_of(x)))
    arriving = relax.flatten(gradient)
    if has_others:
        is_own = relax.greater_equal(places, const(0, "i64"))
        arriving = relax.where(is_own, arriving, relax.zeros_like(arriving))
        places = relax.maximum(places, const(0, "i64"))
    zeros = relax.zeros_like(relax.flatten(x))
    return relax.reshape(relax.scatter_elements(zeros, places, arriving, reduction="add"), shape_operand(x))
