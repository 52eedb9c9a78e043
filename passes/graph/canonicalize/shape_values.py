# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonicalization of shapes as values: shapes stated by types become constants, conversions back and forth vanish."""

from __future__ import annotations

from ....bindings.ir import Operation, OpView, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, innermost
from ....bindings.patterns import Pattern, Rewriter, defining_op
from ....dialects.core.codec import encode_dims
from ....dialects.core.dialect import row_of
from ....dialects.core.substitute import symbols_of
from ....dialects.core.symbols import Dim, product
from ....dialects.relax.known_constants import array_of, constant_op, make_i64
from ....dialects.relax.values import as_result, is_known, make, result_type, shape_of
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_op
from ...patterns.tree import is_const
from .rules import X, rule

# Longest vector that is read as a shape.
_MOST_DIMENSIONS = 64


def shape_of_known(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Replace a shape_of by the shape in the type: numbers, and symbols of parameters, which are valid everywhere."""
    shape = shape_of(op.input)
    if not is_known(shape) or not symbols_of(op.input.type) <= _parameter_symbols(op.operation):
        return None
    assert shape is not None
    return _shape_expr(op, shape)


def _shape_expr(op: OpView, dims: tuple[Dim, ...]) -> Operation | None:
    return make(op, "relax.shape_expr", [], {"dims": encode_dims(dims, op.operation.context)})


def _parameter_symbols(operation: Operation) -> frozenset[str]:
    """Return the symbols in the parameter types of the enclosing function."""
    if (function := innermost(operation, "func.func")) is None:
        return frozenset()
    return frozenset().union(*(symbols_of(value.type) for value in body_of(function).arguments))


def shape_of_shaped(op: OpView, rewriter: Rewriter) -> Value | None:
    """Replace the shape of a tensor by the shape operand of the operator that created it."""
    maker = defining_op(op.input)
    row = None if maker is None else row_of(maker)
    return None if row is None or not row.shaped_by else as_result(op, getattr(maker, row.shaped_by))


def size_of_known(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Replace the number of elements by a constant if all sizes are static."""
    shape = shape_of(op.input)
    count = product(shape) if shape is not None else None
    if not isinstance(count, int) or count >= 2**63:
        return None
    attribute = make_i64(count)
    return constant_op(attribute) if attribute.type == result_type(op) else None


def scalar_to_tensor_of_known(match: Match) -> Operation:
    """Replace a converted constant number by a constant tensor."""
    number = match.op("c").operation.attributes["value"]
    return constant_op(ir.DenseElementsAttr.get_splat(result_type(match.op()), number))


def shape_from_listed(match: Match) -> Operation | None:
    """Return the listed sizes as a shape of the operation's type."""
    return _shape_expr(match.op(), tuple(match.op("listed").dims))


def shape_from_constant(match: Match) -> Operation | None:
    """Replace a constant tensor of sizes by a shape. Negative sizes are left for the run-time error."""
    array = array_of(match["c"], _MOST_DIMENSIONS)
    if array is None or array.ndim != 1 or (array < 0).any():
        return None
    return _shape_expr(match.op(), tuple(int(size) for size in array))


_to_shape, _from_shape = is_op("relax.tensor_to_shape"), is_op("relax.shape_to_tensor")
_listed, _constant = is_op("relax.shape_expr").named("listed"), is_const().named("c")

PATTERNS = (
    Pattern("relax.shape_of", shape_of_shaped),
    Pattern("relax.shape_of", shape_of_known),
    Pattern("relax.size", size_of_known),
    rule(is_op("relax.scalar_to_tensor")(_constant, ...), scalar_to_tensor_of_known),
    rule(_from_shape(_to_shape(X)), X, name="tensor_from_shape_from_tensor"),
    rule(_to_shape(_from_shape(X)), X, name="shape_from_tensor_from_shape"),
    rule(_to_shape(_from_shape(_listed)), shape_from_listed, name="shape_from_tensor_from_shape"),
    rule(_to_shape(_constant), shape_from_constant),
)
