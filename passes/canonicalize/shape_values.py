# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values: what types state is a constant, what is converted back and forth is left alone."""

from __future__ import annotations

from ...bindings.ir import Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, innermost
from ...bindings.patterns import Pattern, Rewriter, defining_op
from ...dialects.core.codec import encode_dims
from ...dialects.core.dialect import row_of
from ...dialects.core.substitute import symbols_of
from ...dialects.core.symbols import Dim, product
from ...dialects.relax.known_constants import array_of, constant_op, make_i64
from ...dialects.relax.values import as_result, is_known, make, result_type, shape_of
from ..patterns.matched import Match
from ..patterns.operator_patterns import is_op
from ..patterns.tree import is_const
from .rules import X, rule

# A shape of more dimensions than this is none.
_MOST_DIMENSIONS = 64


def shape_of_known(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The type states the shape: numbers, and symbols of the function's parameters, which hold in all of it."""
    shape = shape_of(op.input)
    if not is_known(shape) or not symbols_of(op.input.type) <= _parameter_symbols(op.operation):
        return None
    assert shape is not None
    return _shape_expr(op, shape)


def _shape_expr(op: OpView, dims: tuple[Dim, ...]) -> Operation | None:
    return make(op, "relax.shape_expr", [], {"dims": encode_dims(dims, op.operation.context)})


def _parameter_symbols(operation: Operation) -> frozenset[str]:
    """The symbols in the types of the parameters of the function around."""
    function = innermost(operation, "func.func")
    if function is None:
        return frozenset()
    return frozenset().union(*(symbols_of(value.type) for value in body_of(function).arguments))


def shape_of_shaped(op: OpView, rewriter: Rewriter) -> Value | None:
    """The shape of a tensor that was made with this shape, by any dialect's operator."""
    maker = defining_op(op.input)
    row = None if maker is None else row_of(maker)
    return None if row is None or not row.shaped_by else as_result(op, getattr(maker, row.shaped_by))


def size_of_known(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The number of elements, where all sizes are numbers."""
    shape = shape_of(op.input)
    count = product(shape) if shape is not None else None
    if not isinstance(count, int) or count >= 2**63:
        return None
    attribute = make_i64(count)
    return constant_op(attribute) if attribute.type == result_type(op) else None


def scalar_to_tensor_of_known(found: Match) -> Operation:
    """A number is a constant tensor."""
    number = found.op("c").operation.attributes["value"]
    return constant_op(ir.DenseElementsAttr.get_splat(result_type(found.op()), number))


def shape_from_listed(found: Match) -> Operation | None:
    """The sizes that are listed, with another type."""
    return _shape_expr(found.op(), tuple(found.op("listed").dims))


def shape_from_constant(found: Match) -> Operation | None:
    """A constant tensor of sizes; one with a negative number is no shape, which the program's run will say."""
    array = array_of(found["c"], _MOST_DIMENSIONS)
    if array is None or array.ndim != 1 or (array < 0).any():
        return None
    return _shape_expr(found.op(), tuple(int(size) for size in array))


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
