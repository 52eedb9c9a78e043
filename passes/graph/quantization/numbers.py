# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized numbers for the rewrite rules, and arithmetic on scales and zero points.

Constants are folded at once, dynamic values become operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ....bindings.ir import Attribute, Operation, OpView, Type, Value
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import defining_op
from ....dialects import relax
from ....dialects.core.codec import element_type
from ....dialects.core.infos import bit_width, is_int
from ....dialects.relax import const
from ....dialects.relax.known_constants import elements_of
from ....dialects.relax.values import dtype_of, is_valid, normal_axis, shape_of

if TYPE_CHECKING:
    from numpy import ndarray

#: Offset from signed to unsigned bytes.
TO_UNSIGNED = 128


class Quantized(NamedTuple):
    """Operands of a `relax.dequantize`: (numbers - zero_point) * scale."""

    op: OpView
    numbers: Value
    scale: Value
    zero_point: Value

    @property
    def dtype(self) -> str:
        return dtype_of(self.numbers)

    @property
    def is_single(self) -> bool:
        """Check whether one scale and one zero point apply to all numbers."""
        return size_of(self.scale) == 1 and size_of(self.zero_point) == 1

    def axis(self, rank: int) -> int:
        return normal_axis(self.op.axis, rank)

    def others(self, numbers: Value, result: Type, axis: int = 0) -> Operation:
        """Dequantize other numbers with this scale and zero point to a real type."""
        return made("relax.dequantize", [numbers, self.scale, self.zero_point], result, self.attributes(axis))

    def attributes(self, axis: int) -> dict[str, Attribute]:
        return {**dict(self.op.operation.attributes.items()), "axis": i64_attribute(axis)}


def dequantized(value: Value) -> Quantized | None:
    """Return the operands of the dequantize that defines a value, or None."""
    op = defining_op(value, "relax.dequantize")
    return None if op is None else Quantized(op, *op.operation.operands)


def size_of(value: Value) -> int | None:
    """Return the number of elements of a tensor of rank 0 or 1, or None if it is unknown."""
    shape = shape_of(value)
    size = None if shape is None else shape[0] if shape else 1
    return size if isinstance(size, int) else None


def is_byte(dtype: str) -> bool:
    return is_int(dtype) and bit_width(dtype) <= 8


def made(name: str, operands: Sequence[Value], result: Type, attributes: dict[str, Any] | None = None) -> Operation:
    """Create an operation with the wanted result type instead of the inferred one."""
    return ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes or {})


def checked(name: str, operands: Sequence[Value], result: Type) -> Value | None:
    """Create an operation like `made`, or return None if it does not verify."""
    operation = made(name, operands, result)
    return operation.results[0] if is_valid(operation) else None


def dtype_attribute(dtype: str, like: Value) -> Attribute:
    return ir.TypeAttr.get(element_type(dtype, like.context))


def known(value: Value) -> ndarray | None:
    """Return the elements of a constant after a conversion to i32 or a transposition."""
    if (op := defining_op(value, "relax.astype", "relax.permute_dims")) is None:
        return elements_of(value)
    if (inner := elements_of(op.operation.operands[0])) is None:
        return None
    if op.operation.name == "relax.permute_dims":
        return inner.transpose(op.axes)
    return inner.astype("int32") if dtype_of(value) == "i32" and inner.dtype.kind in "iu" else None


def single(value: Value) -> int | None:
    """Return the value of a constant with one integer element, or None."""
    elements = known(value)
    return int(elements.reshape(-1)[0]) if elements is not None and elements.size == 1 else None


def is_zero(zero_point: Value) -> bool:
    elements = known(zero_point)
    return elements is not None and not elements.any()


def number(value: int, dtype: str) -> Value:
    import numpy

    return const(numpy.array(value, {"ui8": "uint8", "i8": "int8", "i32": "int32"}[dtype]))


def as_i32(value: Value) -> Value:
    if dtype_of(value) == "i32":
        return value
    elements = elements_of(value)
    return relax.astype(value, dtype="i32") if elements is None else const(elements.astype("int32"))


def plus(left: Value, right: Value) -> Value:
    """Add two i32 tensors. Two constants yield a constant."""
    one, other = elements_of(left), elements_of(right)
    if one is None or other is None:
        return relax.add(left, right)
    return const((one.astype("int64") + other).astype("int32"))


def times(left: Value, right: Value) -> Value:
    """Multiply two scales. Two constants yield a constant, in f32 as the program would compute it."""
    one, other = elements_of(left), elements_of(right)
    if one is None or other is None or one.dtype != "float32" or other.dtype != "float32":
        return relax.multiply(left, right)
    import numpy

    with numpy.errstate(all="ignore"):
        return const(one * other)


def positive(scale: Value) -> bool:
    """Check whether scales are known, finite and above zero."""
    import numpy

    elements = elements_of(scale)
    return (
        elements is not None and elements.dtype.kind == "f" and bool(((elements > 0) & numpy.isfinite(elements)).all())
    )


def spread(values: Value, place: int, rank: int) -> Value:
    """Reshape a vector to broadcast along an axis of a tensor of this rank. A single number stays unchanged."""
    if size_of(values) == 1 or place == rank - 1:
        return values
    if (elements := elements_of(values)) is not None:
        return const(elements.reshape(-1, *[1] * (rank - 1 - place)))
    return relax.expand_dims(values, axis=list(range(1, rank - place)))
