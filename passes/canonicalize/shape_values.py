# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values: what types tell is a constant, what is converted back and forth is left alone."""

from __future__ import annotations

from ...bindings.ir import Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, innermost
from ...bindings.patterns import Outcome, Pattern, Rewriter, defining_op
from ...dialects.core.codec import decode, encode_dims
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import ShapeInfo
from ...dialects.core.substitute import symbols_of
from ...dialects.core.symbols import Dim, product
from .constants import array_of, constant_op, make_i64
from .support import as_result, is_known, make, result_type, shape_of

# A shape of more dimensions than this is none.
_MOST_DIMENSIONS = 64


def shape_of_known(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The type tells the shape: numbers, and symbols of the function's parameters, which hold in all of it."""
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
    """The shape of a tensor that was made with this shape."""
    owner = defining_op(op.input)
    row = row_of(owner) if owner is not None else None
    return as_result(op, getattr(owner, row.shaped_by)) if row is not None and row.shaped_by else None


def size_of_known(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The number of elements, where all sizes are numbers."""
    shape = shape_of(op.input)
    count = product(shape) if shape is not None else None
    if not isinstance(count, int) or count >= 2**63:
        return None
    attribute = make_i64(count)
    return constant_op(attribute) if attribute.type == result_type(op) else None


def scalar_to_tensor_of_known(op: OpView, rewriter: Rewriter) -> Operation | None:
    """A number is a constant tensor."""
    owner = defining_op(op.value, "arith.constant")
    if owner is None:
        return None
    attribute = ir.DenseElementsAttr.get_splat(op.operation.results[0].type, owner.operation.attributes["value"])
    return constant_op(attribute)


def dims_of(value: Value) -> tuple[Dim, ...] | None:
    """The sizes of a shape: as its operation lists them, else as its type says."""
    owner = defining_op(value, "relax.shape_expr")
    if owner is not None:
        return tuple(owner.dims)
    info = decode(value.type)
    return info.dims if isinstance(info, ShapeInfo) and is_known(info.dims) else None


def shape_from_tensor_from_shape(op: OpView, rewriter: Rewriter) -> Outcome:
    """The shape that the tensor was made from."""
    owner = defining_op(op.input, "relax.shape_to_tensor")
    if owner is None:
        return None
    same = as_result(op, owner.input)
    listed = defining_op(owner.input, "relax.shape_expr")
    if same is not None or listed is None:
        return same
    return _shape_expr(op, tuple(listed.dims))


def tensor_from_shape_from_tensor(op: OpView, rewriter: Rewriter) -> Value | None:
    """The tensor that the shape was made from."""
    owner = defining_op(op.input, "relax.tensor_to_shape")
    return as_result(op, owner.input) if owner is not None else None


def shape_from_constant(op: OpView, rewriter: Rewriter) -> Operation | None:
    """A constant tensor of sizes; one with a negative number is no shape, which the program's run will say."""
    array = array_of(op.input, _MOST_DIMENSIONS)
    if array is None or array.ndim != 1 or (array < 0).any():
        return None
    return _shape_expr(op, tuple(int(size) for size in array))


PATTERNS = (
    Pattern("relax.shape_of", shape_of_shaped),
    Pattern("relax.shape_of", shape_of_known),
    Pattern("relax.size", size_of_known),
    Pattern("relax.scalar_to_tensor", scalar_to_tensor_of_known, after=("arith.constant",)),
    Pattern("relax.shape_to_tensor", tensor_from_shape_from_tensor, after=("relax.tensor_to_shape",)),
    Pattern("relax.tensor_to_shape", shape_from_tensor_from_shape, after=("relax.shape_to_tensor",)),
    Pattern("relax.tensor_to_shape", shape_from_constant, after=("arith.constant",)),
)
