# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of rules: types, chains of operations, new operations of a given type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...bindings.ir import Attribute, Operation, OpView, Type, Value
from ...bindings.mlir import ir
from ...bindings.patterns import Pattern, Rewriter, defining_op
from ..core.codec import TypeProblem, decode, encode
from ..core.dialect import find_op
from ..core.infos import ShapeInfo, TensorInfo, is_same_shape
from ..core.opdef import OpProblem
from ..core.symbols import Dim, SymbolError, equal
from ..core.verifier import check
from . import dialect


def result_type(op: OpView) -> Type:
    return op.operation.results[0].type


def as_result(op: OpView, value: Value) -> Value | None:
    """Return the value as a replacement, or None if its type differs.

    Users of a result keep their type, down to the last symbol.
    """
    return value if value.type == result_type(op) else None


def stated(value: Value, type_: Type) -> Value:
    """Return the value with the type that its users know. A more precise type is checked at run time."""
    return value if value.type == type_ else dialect.ops["match_cast"](value, type_)


def removal(ops: str | tuple[str, ...], operand: str, does_nothing: Callable[[OpView], bool], name: str) -> Pattern:
    """Return a pattern that replaces an operation by an operand if the condition holds."""

    def remove(op: OpView, rewriter: Rewriter) -> Value | None:
        return as_result(op, getattr(op, operand)) if does_nothing(op) else None

    return Pattern(ops, remove, name=name)


def make(
    op: OpView, name: str, operands: Sequence[Value], attributes: Mapping[str, Attribute] | None = None
) -> Operation | None:
    """Create an operation with the result type of `op` instead of the inferred type.

    Return None if the operation would not verify. Two steps may each be valid while their combination is not; the
    program then has an error that surfaces at run time.
    """
    given = dict(attributes or {})
    made = ir.Operation.create(name, results=[result_type(op)], operands=list(operands), attributes=given)
    return made if is_valid(made) else None


def is_valid(operation: Operation) -> bool:
    try:
        check(find_op(operation.name), operation)
    except (OpProblem, TypeProblem, SymbolError):
        return False
    return True


def ints(values: Sequence[int]) -> Attribute:
    """Return the attribute of a list of integers."""
    return ir.DenseI64ArrayAttr.get(list(values))


def tensor_info(value: Value) -> TensorInfo:
    """Return the shape and element type of a value, which must be a tensor."""
    info = decode(value.type)
    assert isinstance(info, TensorInfo), value
    return info


def shape_of(value: Value) -> tuple[Dim, ...] | None:
    """Return the sizes of a tensor, or None if its rank is unknown."""
    return tensor_info(value).shape


def dtype_of(value: Value) -> str:
    return tensor_info(value).dtype


def with_dtype(value: Value, dtype: str) -> Type:
    """Return a tensor's type with another element type."""
    return encode(tensor_info(value).with_dtype(dtype), value.context)


def keeps_shape(value: Value, *others: Value) -> bool:
    """Return True if broadcasting a value with the others never changes its shape.

    An unknown size of the value may be 1, which the other's size would enlarge. The other size must be 1 or provably
    equal.
    """
    shape = shape_of(value)
    return all(_is_covered(shape_of(other), shape) for other in others)


def _is_covered(other: tuple[Dim, ...] | None, shape: tuple[Dim, ...] | None) -> bool:
    if other is None:
        return False
    if shape is None or len(other) > len(shape):
        return not other
    aligned = shape[len(shape) - len(other) :]
    return all(size == 1 or equal(size, own) is True for size, own in zip(other, aligned, strict=True))


def is_known(shape: tuple[Dim, ...] | None) -> bool:
    """Check whether every size is a number or an expression over symbols."""
    return shape is not None and None not in shape


def same_known_shape(one: Value, other: Value) -> bool:
    """Return True if two tensors provably have the same shape. Equal types with unknown sizes prove nothing."""
    return is_same_shape(tensor_info(one), tensor_info(other))


def normal_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the front. A negative axis counts from the end."""
    return axis % rank if rank else 0


def listed_dims(value: Value) -> tuple[Dim, ...] | None:
    """Return the sizes of a shape, from its operation's list or its type, or None if unknown."""
    if (owner := defining_op(value, "relax.shape_expr")) is not None:
        return tuple(owner.dims)
    info = decode(value.type)
    return info.dims if isinstance(info, ShapeInfo) and is_known(info.dims) else None
