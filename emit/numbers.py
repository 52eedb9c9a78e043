# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars and vectors with Python's operators, for rules of intrinsics.

    x = number(op.x)
    return select(x < 0.0, -x, x) * 2.0 + 1.0

Python numbers beside a Number become constants of its type. Comparisons of floats are ordered: with a NaN they are
false, `!=` alone is true. Integers are signed as their type says, i32 being signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from ..bindings.mlir import ir

_FLOAT_PREDICATES = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
_SIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_UNSIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}

Operand = Union["Number", float, int]


class Number:
    """An SSA value that is a float, an integer, or a vector of them."""

    __slots__ = ("element", "is_float", "value")
    __hash__ = None  # type: ignore[assignment]  # == makes an operation

    def __init__(self, value: Any):
        self.value = value
        self.element = element_type(value.type)
        self.is_float = isinstance(self.element, ir.FloatType)

    @property
    def type(self) -> Any:
        return self.value.type

    @property
    def dtype(self) -> str:
        """The element type's name, "f32"."""
        return str(self.element)

    @property
    def bits(self) -> int:
        return 64 if isinstance(self.element, ir.IndexType) else self.element.width

    def constant(self, value: float | int) -> Number:
        """A constant of this number's type."""
        return constant(value, self.type)

    def _other(self, other: Operand) -> Any:
        return other.value if isinstance(other, Number) else constant(other, self.type).value

    def _binary(self, float_op: str, int_op: str, other: Operand, *, swapped: bool = False) -> Number:
        name = float_op if self.is_float else int_op
        pair = [self.value, self._other(other)]
        return operation(name, pair[::-1] if swapped else pair, self.type)

    def __add__(self, other: Operand) -> Number:
        return self._binary("arith.addf", "arith.addi", other)

    __radd__ = __add__

    def __mul__(self, other: Operand) -> Number:
        return self._binary("arith.mulf", "arith.muli", other)

    __rmul__ = __mul__

    def __sub__(self, other: Operand) -> Number:
        return self._binary("arith.subf", "arith.subi", other)

    def __rsub__(self, other: Operand) -> Number:
        return self._binary("arith.subf", "arith.subi", other, swapped=True)

    def __truediv__(self, other: Operand) -> Number:
        return self._binary("arith.divf", "arith.divsi", other)

    def __rtruediv__(self, other: Operand) -> Number:
        return self._binary("arith.divf", "arith.divsi", other, swapped=True)

    def __neg__(self) -> Number:
        return operation("arith.negf", [self.value], self.type) if self.is_float else 0 - self

    def __and__(self, other: Operand) -> Number:
        return operation("arith.andi", [self.value, self._other(other)], self.type)

    def __or__(self, other: Operand) -> Number:
        return operation("arith.ori", [self.value, self._other(other)], self.type)

    def __xor__(self, other: Operand) -> Number:
        return operation("arith.xori", [self.value, self._other(other)], self.type)

    def __lshift__(self, other: Operand) -> Number:
        return operation("arith.shli", [self.value, self._other(other)], self.type)

    def __rshift__(self, other: Operand) -> Number:
        """Arithmetic: copies of the sign come in."""
        return operation("arith.shrsi", [self.value, self._other(other)], self.type)

    def shift_right_unsigned(self, other: Operand) -> Number:
        return operation("arith.shrui", [self.value, self._other(other)], self.type)

    def _compare(self, sign: str, other: Operand) -> Number:
        result = with_element(self.type, ir.IntegerType.get_signless(1))
        name, predicates = ("arith.cmpf", _FLOAT_PREDICATES) if self.is_float else ("arith.cmpi", _SIGNED_PREDICATES)
        return _compared(name, predicates[sign], [self.value, self._other(other)], result)

    def unsigned(self, sign: str, other: Operand) -> Number:
        """A comparison of integers without sign: `x.unsigned("<", y)`."""
        result = with_element(self.type, ir.IntegerType.get_signless(1))
        return _compared("arith.cmpi", _UNSIGNED_PREDICATES[sign], [self.value, self._other(other)], result)

    def __lt__(self, other: Operand) -> Number:
        return self._compare("<", other)

    def __le__(self, other: Operand) -> Number:
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> Number:
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> Number:
        return self._compare(">=", other)

    def __eq__(self, other: Operand) -> Number:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: Operand) -> Number:  # type: ignore[override]
        return self._compare("!=", other)


def number(value: Any) -> Number:
    return value if isinstance(value, Number) else Number(value)


def numbers(op: Any) -> list[Number]:
    """The operands of an operation."""
    return [Number(operand) for operand in op.operation.operands]


def operation(name: str, operands: Sequence[Any], result: Any, **attributes: Any) -> Number:
    """The result of a new operation."""
    values = [item.value if isinstance(item, Number) else item for item in operands]
    return Number(ir.Operation.create(name, results=[result], operands=values, attributes=attributes).results[0])


def _compared(name: str, predicate: int, operands: list[Any], result: Any) -> Number:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return operation(name, operands, result, predicate=attribute)


def constant(value: float | int, type_: Any) -> Number:
    """A constant scalar, or a vector of equal elements."""
    element = element_type(type_)
    if isinstance(element, ir.FloatType):
        attribute = ir.FloatAttr.get(element, float(value))
    else:
        attribute = ir.IntegerAttr.get(element, int(value))
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return operation("arith.constant", [], type_, value=attribute)


def select(condition: Number, yes: Operand, no: Operand) -> Number:
    like = yes if isinstance(yes, Number) else no
    assert isinstance(like, Number), "one of both must say the type"
    pair = [item if isinstance(item, Number) else like.constant(item) for item in (yes, no)]
    return operation("arith.select", [condition, *pair], like.type)


def fma(x: Number, y: Operand, z: Operand) -> Number:
    """x * y + z, rounded once."""
    operands = [item if isinstance(item, Number) else x.constant(item) for item in (x, y, z)]
    return operation("math.fma", operands, x.type)


def polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Horner's scheme; the constant coefficient comes first."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def unary(name: str, x: Number) -> Number:
    """An operation that keeps the type: `unary("math.sqrt", x)`."""
    return operation(name, [x], x.type)


def convert(name: str, x: Number, element: Any) -> Number:
    """An operation that gives other elements: `convert("arith.truncf", x, f16)`."""
    return operation(name, [x], with_element(x.type, element))


def bits_of(x: Number) -> Number:
    return convert("arith.bitcast", x, ir.IntegerType.get_signless(x.bits))


def from_bits(x: Number, element: Any) -> Number:
    return convert("arith.bitcast", x, element)


def to_float(x: Number, dtype: str) -> Number:
    """The nearest number of another floating-point type."""
    from .small_floats import convert_by_bits, is_by_bits  # they are made of the functions here

    if x.dtype == dtype:
        return x
    if is_by_bits(x.dtype, dtype):
        return convert_by_bits(x, dtype)
    if (x.dtype, dtype) == ("f32", "bf16"):
        return _rounded_to_bf16(x)
    element = float_type(dtype)
    if element.width == x.bits:
        return to_float(convert("arith.extf", x, float_type("f32")), dtype)
    return convert("arith.extf" if element.width > x.bits else "arith.truncf", x, element)


def _rounded_to_bf16(x: Number) -> Number:
    """By bits: some processors' own instruction makes zeros of subnormal numbers."""
    bits = bits_of(x)
    is_odd = bits.shift_right_unsigned(16) & 1
    rounded = bits + (is_odd + 0x7FFF)
    # A NaN stays one, although its last bits go.
    kept = select(x != x, bits | 0x400000, rounded).shift_right_unsigned(16)
    return from_bits(convert("arith.trunci", kept, ir.IntegerType.get_signless(16)), float_type("bf16"))


def float_type(dtype: str) -> Any:
    return ir.Type.parse(dtype)


def element_type(type_: Any) -> Any:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def with_element(type_: Any, element: Any) -> Any:
    """The type with other elements."""
    if not isinstance(type_, ir.VectorType):
        return element
    scalable = list(type_.scalable_dims) if type_.scalable else None
    return ir.VectorType.get(type_.shape, element, scalable=scalable)
