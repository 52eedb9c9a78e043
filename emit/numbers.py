# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars and vectors with Python's operators, for rules: a Number is an SSA value that can be computed with.

    x = number(op.x)
    return select(x < 0.0, -x, x) * 2.0 + 1.0

Python numbers beside a Number become constants of its type. Comparisons of floats are ordered: with a NaN they are
false, `!=` alone is true. Integers are signed unless their type or `x.of("ui8")` says otherwise: what signless MLIR
types do not tell a Number keeps, and what is computed from it. Sizes are Python numbers where they are known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Union, overload

from ..bindings.ir import OpView, Type, Value
from ..bindings.mlir import ir
from ..dialects.core.infos import is_unsigned, signless
from ..dialects.tir import dialect as tir

_FLOAT_PREDICATES = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
_SIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_UNSIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}

Operand = Union["Number", float, int]
#: A number where it is known, else an index.
Size = Union["Number", int]


class Number(Value):
    """An SSA value that is a float, an integer, or a vector of them."""

    __slots__ = ("element", "is_float", "is_unsigned")
    __hash__ = None  # type: ignore[assignment]  # == makes an operation

    def __init__(self, value: Value, *, unsigned: bool = False):
        super().__init__(value)
        self.element = element_type(value.type)
        self.is_float = isinstance(self.element, ir.FloatType)
        self.is_unsigned = unsigned or (not self.is_float and _has_no_sign(self.element))

    def __bool__(self) -> bool:
        raise TypeError("what a Number is only the program knows, so Python cannot decide by it: use select or when")

    @property
    def value(self) -> Any:
        """The SSA value alone, which can be compared and hashed."""
        return ir.Value(self)

    @property
    def dtype(self) -> str:
        """The element type's name with its sign, "ui8"."""
        text = str(self.element)
        return f"u{text}" if self.is_unsigned and text[0] == "i" and text not in ("i1", "index") else text

    @property
    def bits(self) -> int:
        return 64 if isinstance(self.element, ir.IndexType) else self.element.width

    def of(self, dtype: str) -> Number:
        """The same value of an element type that says whether there is a sign."""
        return Number(self, unsigned=is_unsigned(dtype))

    def to(self, dtype: str, *, saturate: bool = False) -> Number:
        """Converted as relax.astype does. `saturate`: what is too large for a small float becomes its largest."""
        from .conversions import converted  # made of the functions here

        return converted(self, dtype, saturate)

    def constant(self, value: float | int) -> Number:
        """A constant of this number's type."""
        return constant(value, self.type)

    def _binary(self, float_op: str, int_op: str, other: Operand, *, swapped: bool = False) -> Number:
        pair = [self, _beside(self, other)]
        name = float_op if self.is_float else int_op
        made = operation(name, pair[::-1] if swapped else pair, self.type)
        made.is_unsigned = self.is_unsigned or getattr(other, "is_unsigned", False)
        return made

    def _by_sign(self, name: str, other: Operand, *, swapped: bool = False) -> Number:
        has_sign = not (self.is_unsigned or getattr(other, "is_unsigned", False))
        return self._binary(f"arith.{name}f", f"arith.{name}{'si' if has_sign else 'ui'}", other, swapped=swapped)

    def _is_unchanged_by(self, neutral: int, other: Operand) -> bool:
        """Of sizes: arithmetic with what is known makes no operations for nothing."""
        return isinstance(other, int) and other == neutral and isinstance(self.element, ir.IndexType)

    def __add__(self, other: Operand) -> Number:
        if self._is_unchanged_by(0, other):
            return self
        return self._binary("arith.addf", "arith.addi", other)

    __radd__ = __add__

    def __mul__(self, other: Operand) -> Number:
        if self._is_unchanged_by(1, other):
            return self
        return self._binary("arith.mulf", "arith.muli", other)

    __rmul__ = __mul__

    def __sub__(self, other: Operand) -> Number:
        if self._is_unchanged_by(0, other):
            return self
        return self._binary("arith.subf", "arith.subi", other)

    def __rsub__(self, other: Operand) -> Number:
        return self._binary("arith.subf", "arith.subi", other, swapped=True)

    def __truediv__(self, other: Operand) -> Number:
        return self._by_sign("div", other)

    def __rtruediv__(self, other: Operand) -> Number:
        return self._by_sign("div", other, swapped=True)

    def __floordiv__(self, other: Operand) -> Number:
        """Of sizes, and other integers that are not negative."""
        if self._is_unchanged_by(1, other):
            return self
        return self._binary("", "arith.divui", other)

    def __rfloordiv__(self, other: Operand) -> Number:
        return self._binary("", "arith.divui", other, swapped=True)

    def __mod__(self, other: Operand) -> Number:
        """As `//` of integers that are not negative."""
        return self._binary("", "arith.remui", other)

    def __neg__(self) -> Number:
        return operation("arith.negf", [self], self.type) if self.is_float else 0 - self

    def __and__(self, other: Operand) -> Number:
        return self._binary("", "arith.andi", other)

    def __or__(self, other: Operand) -> Number:
        return self._binary("", "arith.ori", other)

    def __xor__(self, other: Operand) -> Number:
        return self._binary("", "arith.xori", other)

    def __invert__(self) -> Number:
        return self ^ -1

    def __lshift__(self, other: Operand) -> Number:
        return self._binary("", "arith.shli", other)

    def __rshift__(self, other: Operand) -> Number:
        """Of a signed number copies of the sign come in."""
        return self._binary("", "arith.shrui" if self.is_unsigned else "arith.shrsi", other)

    def shift_right_unsigned(self, other: Operand) -> Number:
        return self._binary("", "arith.shrui", other)

    def _compare(self, sign: str, other: Operand) -> Number:
        if not self.is_float:
            has_sign = not (self.is_unsigned or getattr(other, "is_unsigned", False))
            return self._compared("arith.cmpi", (_SIGNED_PREDICATES if has_sign else _UNSIGNED_PREDICATES)[sign], other)
        return self._compared("arith.cmpf", _FLOAT_PREDICATES[sign], other)

    def unsigned(self, sign: str, other: Operand) -> Number:
        """A comparison of integers without sign: `x.unsigned("<", y)`."""
        return self._compared("arith.cmpi", _UNSIGNED_PREDICATES[sign], other)

    def _compared(self, name: str, predicate: int, other: Operand) -> Number:
        attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
        truth = with_element(self.type, ir.IntegerType.get_signless(1))
        return operation(name, [self, _beside(self, other)], truth, predicate=attribute)

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


def _has_no_sign(element: Type) -> bool:
    """Of integer types: truth values, and those that say it."""
    return isinstance(element, ir.IntegerType) and (element.width == 1 or element.is_unsigned)


def _beside(like: Number, other: Any) -> Number:
    """An operand beside a value: a Python number becomes a constant of its type."""
    return other if isinstance(other, ir.Value) else constant(other, like.type)


def number(value: Any) -> Number:
    return value if isinstance(value, Number) else Number(value)


def numbers(op: OpView) -> list[Number]:
    """The operands of an operation."""
    return [Number(operand) for operand in op.operation.operands]


def given(values: Sequence[Any]) -> list[Value]:
    """What a body is given: Numbers for scalars, all else as it is."""
    scalars = (ir.FloatType, ir.IntegerType, ir.IndexType)
    return [Number(value) if isinstance(value.type, scalars) else value for value in values]


def result_of(name: str, operands: Sequence[Value], result: Type, /, **attributes: Any) -> Value:
    """The result, of whatever type, of a new operation."""
    return ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes).results[0]


def operation(name: str, operands: Sequence[Any], result: Type, /, **attributes: Any) -> Number:
    """The number that a new operation gives."""
    return Number(result_of(name, operands, result, **attributes))


def intrinsic(name: str, *operands: Number) -> Number:
    """A function of tir: `intrinsic("exp", x)`."""
    return Number(tir.ops[name](*operands))


def constant(value: float | int, type_: Any) -> Number:
    """A constant scalar, or a vector of equal elements, of a type or of an element type's name.

    Integers wrap to its width.
    """
    if isinstance(type_, str):
        return Number(constant(value, element(type_)), unsigned=is_unsigned(type_))
    own = element_type(type_)
    if isinstance(own, ir.FloatType):
        attribute = ir.FloatAttr.get(own, float(value))
    else:
        attribute = ir.IntegerAttr.get(own, _wrapped(int(value), own))
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return operation("arith.constant", [], type_, value=attribute)


def _wrapped(value: int, type_: Type) -> int:
    width = 64 if isinstance(type_, ir.IndexType) else type_.width
    low = value & ((1 << width) - 1)
    return low if _has_no_sign(type_) or low >> (width - 1) == 0 else low - (1 << width)


def as_index(value: Any) -> Number:
    """A number or an integer value as an index, signed."""
    if not isinstance(value, ir.Value):
        return constant(value, ir.IndexType.get())
    return number(value) if isinstance(value.type, ir.IndexType) else _index_cast(value, ir.IndexType.get())


def as_i64(value: Any) -> Number:
    """A number or an integer value as an i64, signed."""
    i64 = ir.IntegerType.get_signless(64)
    if not isinstance(value, ir.Value):
        return constant(value, i64)
    return number(value) if value.type == i64 else _index_cast(value, i64)


def _index_cast(value: Value, type_: Type) -> Number:
    return operation("arith.index_cast", [value], type_)


def select(condition: Any, yes: Any, no: Any) -> Number:
    like = yes if isinstance(yes, ir.Value) else no
    assert isinstance(like, ir.Value), "one of both must say the type"
    made = operation("arith.select", [condition, _beside(like, yes), _beside(like, no)], like.type)
    made.is_unsigned = any(getattr(each, "is_unsigned", False) for each in (yes, no))
    return made


class _Extreme(Protocol):
    """NaN when either is, as numpy has it; of known sizes a number."""

    @overload
    def __call__(self, x: int, y: int) -> int: ...
    @overload
    def __call__(self, x: Number, y: Operand) -> Number: ...
    @overload
    def __call__(self, x: Operand, y: Number) -> Number: ...
    @overload
    def __call__(self, x: Size, y: Size) -> Size: ...


def _extreme_of(name: str, known: Callable[[int, int], int]) -> _Extreme:
    def extreme(x: Any, y: Any) -> Any:
        return _extreme(name, x, y) if isinstance(x, ir.Value) or isinstance(y, ir.Value) else known(x, y)

    return extreme


def _extreme(name: str, x: Any, y: int | Value) -> Number:
    like = number(x if isinstance(x, ir.Value) else y)
    pair = [_beside(like, x), _beside(like, y)]
    has_sign = not any(getattr(each, "is_unsigned", False) for each in (like, *pair))
    kind = "imumf" if like.is_float else "si" if has_sign else "ui"
    made = operation(f"arith.{name}{kind}", pair, like.type)
    made.is_unsigned = not like.is_float and not has_sign
    return made


maximum, minimum = _extreme_of("max", max), _extreme_of("min", min)


# ---- division that no machine traps on ----
def divide(x: Number, y: Number) -> Number:
    """Integers round towards zero; an integer divided by 0 is 0."""
    return x / y if x.is_float else _divided("div", x, y)


def floor_divide(x: Number, y: Number) -> Number:
    """Rounded down; an integer divided by 0 is 0."""
    if x.is_float:
        return intrinsic("floor", x / y)
    return _divided("div" if x.is_unsigned else "floordiv", x, y)


def remainder(x: Number, y: Number) -> Number:
    """With the sign of `x`; an integer modulo 0 is 0."""
    return operation("arith.remf", [x, y], x.type) if x.is_float else _divided("rem", x, y)


def floor_remainder(x: Number, y: Number) -> Number:
    """With the sign of `y`; an integer modulo 0 is 0."""
    rest = remainder(x, y)
    if x.is_unsigned:
        return rest
    return select((rest != 0) & ((rest < 0) ^ (y < 0)), rest + y, rest)


def _divided(name: str, x: Number, y: Number) -> Number:
    """Of integers: x / 0 is 0 here, as in numpy."""
    is_zero = y == 0
    safe = select(is_zero, 1, y)
    if not x.is_unsigned:
        # The lowest number / -1 does not fit: dividing by 1 gives what wrapping around would.
        safe = select((x == 1 << (x.bits - 1)) & (y == -1), 1, safe)
    return select(is_zero, 0, x._binary("", f"arith.{name}{'ui' if x.is_unsigned else 'si'}", safe))


def fma(x: Number, y: Operand, z: Operand) -> Number:
    """x * y + z, rounded once."""
    return operation("math.fma", [x, _beside(x, y), _beside(x, z)], x.type)


def polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Horner's scheme; the constant coefficient comes first."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def unary(name: str, x: Number) -> Number:
    """An operation that keeps the type: `unary("math.sqrt", x)`."""
    return operation(name, [x], x.type)


def convert(name: str, x: Number, element: Type) -> Number:
    """An operation that gives other elements: `convert("arith.truncf", x, f16)`."""
    return operation(name, [x], with_element(x.type, element))


def bits_of(x: Number) -> Number:
    return convert("arith.bitcast", x, ir.IntegerType.get_signless(x.bits))


def from_bits(x: Number, element: Type) -> Number:
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
    result = element(dtype)
    if result.width == x.bits:
        return to_float(convert("arith.extf", x, element("f32")), dtype)
    return convert("arith.extf" if result.width > x.bits else "arith.truncf", x, result)


def _rounded_to_bf16(x: Number) -> Number:
    """By bits: some processors' own instruction makes zeros of subnormal numbers."""
    bits = bits_of(x)
    is_odd = bits.shift_right_unsigned(16) & 1
    rounded = bits + (is_odd + 0x7FFF)
    # A NaN stays one, although its last bits go.
    kept = select(x != x, bits | 0x400000, rounded).shift_right_unsigned(16)
    return from_bits(convert("arith.trunci", kept, ir.IntegerType.get_signless(16)), element("bf16"))


def on_each_element(function: Callable[..., Number], *operands: Number) -> Number:
    """A function of scalars; of vectors element by element, one after the other."""
    result = operands[0]
    if not isinstance(result.type, ir.VectorType):
        return function(*operands)
    for position in itertools.product(*map(range, result.type.shape)):
        place = ir.DenseI64ArrayAttr.get(list(position))
        scalars = [operation("vector.extract", [each], each.element, static_position=place) for each in operands]
        result = operation("vector.insert", [function(*scalars), result], result.type, static_position=place)
    return result


def element(dtype: str) -> Type:
    """The MLIR type that elements of a type have in PrimFuncs."""
    return ir.Type.parse(signless(dtype))


def element_type(type_: Type) -> Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def with_element(type_: Type, element: Type) -> Type:
    """The type with other elements."""
    if not isinstance(type_, ir.VectorType):
        return element
    scalable = list(type_.scalable_dims) if type_.scalable else None
    return ir.VectorType.get(type_.shape, element, scalable=scalable)
