# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of rules: arithmetic on tensors, sums that undo a broadcast, broadcasts that undo a sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....bindings.context import load_dialects
from ....bindings.ir import Type, Value
from ....bindings.mlir import ir
from ....dialects import relax
from ....dialects.core.codec import decode
from ....dialects.core.infos import ScalarInfo, TensorInfo
from ....dialects.core.symbols import Dim, product
from ....dialects.relax import const
from ....dialects.relax.values import dtype_of, is_known, keeps_shape, shape_of
from ....emit.numbers import as_i64


class Tensor:
    """A tensor in a formula: `g * y / 2`. Numbers are of its element type."""

    __slots__ = ("value",)

    def __init__(self, value: Value):
        self.value = value

    def __add__(self, other: object) -> Tensor:
        return self._with("add", self, other)

    def __sub__(self, other: object) -> Tensor:
        return self._with("subtract", self, other)

    def __mul__(self, other: object) -> Tensor:
        return self._with("multiply", self, other)

    def __truediv__(self, other: object) -> Tensor:
        return self._with("divide", self, other)

    def __pow__(self, other: object) -> Tensor:
        return self._with("power", self, other)

    def __radd__(self, other: float) -> Tensor:
        return self._with("add", other, self)

    def __rsub__(self, other: float) -> Tensor:
        return self._with("subtract", other, self)

    def __rmul__(self, other: float) -> Tensor:
        return self._with("multiply", other, self)

    def __rtruediv__(self, other: float) -> Tensor:
        return self._with("divide", other, self)

    def __neg__(self) -> Tensor:
        return Tensor(relax.negative(self.value))

    def __gt__(self, other: object) -> Tensor:
        return self._with("greater", self, other)

    def __lt__(self, other: object) -> Tensor:
        return self._with("less", self, other)

    def equals(self, other: object) -> Tensor:
        return self._with("equal", self, other)

    def where(self, chosen: Any, other: Any) -> Tensor:
        """Select `chosen` where this tensor is true, else `other`. One of them may be a number."""
        number_of = chosen if isinstance(chosen, Tensor) else other
        return Tensor(relax.where(self.value, number_of._operand(chosen), number_of._operand(other)))

    def _with(self, name: str, left: Any, right: Any) -> Tensor:
        return Tensor(relax.dialect.ops[name](self._operand(left), self._operand(right)))

    def _operand(self, other: object) -> Value:
        return other.value if isinstance(other, Tensor) else const(other, dtype_of(self.value))


def apply(name: str, x: Tensor, **attributes: object) -> Tensor:
    """Apply a relax operator to a tensor: `apply("exp", x)`."""
    return Tensor(relax.dialect.ops[name](x.value, **attributes))


def cast(x: Value, dtype: str) -> Value:
    return x if dtype_of(x) == dtype else relax.astype(x, dtype=dtype)


def summed_to(gradient: Value, operand: Value, others: Sequence[Value]) -> Value:
    """Reduce the gradient of a broadcast result to the gradient of an operand. `others` are the other operands."""
    return gradient if keeps_shape(operand, *others) else relax.collapse_sum_like(gradient, operand)


def as_tensor(state: Value) -> Value:
    """Return a tensor, or a scalar wrapped in a tensor. An index becomes an i64."""
    if isinstance(decode(state.type), TensorInfo):
        return state
    scalar = as_i64(state).value if isinstance(state.type, ir.IndexType) else state
    return _combine("tensor.from_elements", scalar, ir.RankedTensorType.get([], scalar.type))


def zeros_for(value: Value) -> Value:
    """Return the gradient of a value that nothing depends on. For a scalar it is a tensor without axes."""
    info = decode(value.type)
    return const(0.0, info.dtype) if isinstance(info, ScalarInfo) else relax.zeros_like(value)


def shape_operand(value: Value) -> Value:
    """Return a tensor's shape as an operand of operators."""
    shape = shape_of(value)
    return relax.shape_expr(dims=shape) if is_known(shape) else relax.shape_of(value)


def spread(value: Value, like: Value, axes: Sequence[int], keepdims: bool) -> Value:
    """Broadcast the result of a reduction over axes back to the shape of `like`."""
    wide = value if keepdims or not axes else relax.expand_dims(value, axis=list(axes))
    return relax.broadcast_to(wide, shape_operand(like))


def size_of(size: Dim, dtype: str = "i64") -> Value:
    """Return a size as a tensor without axes."""
    if isinstance(size, int):
        return const(size, dtype)
    return cast(relax.reshape(relax.shape_to_tensor(relax.shape_expr(dims=(size,))), ()), dtype)


def scalar_of(x: Value) -> Value:
    """Return the only element of a tensor without axes."""
    return _combine("tensor.extract", x, x.type.element_type)


def _combine(name: str, operand: Value, type_: Type) -> Value:
    """Create an operation between scalars and tensors. Load the dialect, because callers may not have done so."""
    load_dialects(operand.context, ["tensor"])
    return ir.Operation.create(name, results=[type_], operands=[operand]).result


def limited(x: Tensor, low: float | Tensor, high: float | Tensor) -> Tensor:
    """Clip a tensor to bounds, which are numbers or tensors without axes."""
    bounds = [scalar_of(each.value) if isinstance(each, Tensor) else each for each in (low, high)]
    return Tensor(relax.clip(x.value, *bounds))


def count_over(x: Value, axes: Sequence[int]) -> Value:
    """Return the number of elements that a reduction of x over axes combines, in x's element type."""
    shape, dtype = shape_of(x), dtype_of(x)
    assert shape is not None
    sizes: list[Dim] = [shape[axis] for axis in axes]
    if (count := product(sizes)) is None:
        return relax.sum(relax.ones_like(x), axis=list(axes), keepdims=True)
    return size_of(count, dtype)
