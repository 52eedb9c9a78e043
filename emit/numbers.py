# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars and vectors with Python's operators, for rules: a Number is an SSA value that can be computed with.

    x = number(op.x)
    return select(x < 0.0, -x, x) * 2.0 + 1.0

Python numbers in operations with a Number become constants of its type. Comparisons of floats are ordered: with a NaN
they are false, `!=` alone is true. Integers are signed unless their type or `x.of("ui8")` says otherwise: a Number, and
what is computed from it, keeps the sign that signless MLIR types lack. Sizes are Python numbers where they are known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Union, overload

from ..bindings.ir import Attribute, OpView, Type, Value
from ..bindings.mlir import ir
from ..dialects.core.infos import DTYPE_BY_NAME, is_unsigned
from ..dialects.tir import dialect as tir
from .arithmetic import Arithmetic, Operand, constant_value, element, result_of
from .arithmetic import select as select_like
from .conversions import converted, widened

#: A size or an index: a number where it is known, else what the program computes. Python's operators work on both, `//`
#: and `%` of what is not negative; with what is known they make no operations for nothing.
Size = Union["Number", int]


class Number(Arithmetic):
    """What rules compute with: `x.to("f32")` in addition to the operators."""

    __slots__ = ()

    def to(self, dtype: str, *, saturate: bool = False) -> Number:
        """Converted as relax.astype does. `saturate`: what is too large for a small float becomes its largest."""
        return converted(self, dtype, saturate)

    def astype(self, dtype: str) -> Number:
        """`to`, as TVM's users write it: "float16" is a name, too."""
        return self.to(DTYPE_BY_NAME.get(dtype, dtype))


def number(value: Value) -> Number:
    """A scalar to compute with, `number(x) * 2.0 + 1.0`; `.value` is what it is in the IR."""
    return value if isinstance(value, Number) else Number(value)


def numbers(op: OpView) -> list[Number]:
    """The operands of an operation."""
    return [Number(operand) for operand in op.operation.operands]


def given(values: Sequence[Value]) -> list[Value]:
    """What a body is given: Numbers for scalars, all else as it is."""
    scalars = (ir.FloatType, ir.IntegerType, ir.IndexType)
    return [Number(value) if isinstance(value.type, scalars) else value for value in values]


def operation(name: str, operands: Sequence[Value], result: Type, /, **attributes: Attribute) -> Number:
    """The number that a new operation gives."""
    return Number(result_of(name, operands, result, **attributes))


def intrinsic(name: str, *operands: Number) -> Number:
    """A function of tir: `intrinsic("exp", x)`."""
    return Number(tir.ops[name](*operands))


def constant(value: float | int, type_: Type | str) -> Number:
    """A constant scalar, or a vector of equal elements, of a type or of an element type's name.

    Integers wrap to its width.
    """
    if isinstance(type_, str):
        return Number(constant_value(value, element(type_)), unsigned=is_unsigned(type_))
    return Number(constant_value(value, type_))


def as_index(value: int | Value) -> Number:
    """A number or an integer value as an index, signed."""
    if not isinstance(value, Value):
        return constant(value, ir.IndexType.get())
    if isinstance(value.type, ir.IndexType):
        return number(value)
    return operation("arith.index_cast", [value], ir.IndexType.get())


def as_i64(value: int | Value) -> Number:
    """A number or an integer value as an i64, signed."""
    i64 = ir.IntegerType.get_signless(64)
    if not isinstance(value, Value):
        return constant(value, i64)
    return number(value) if value.type == i64 else number(value).to("i64")


def is_same(one: Size, other: Size) -> bool:
    """Whether two sizes are known to be equal."""
    if isinstance(one, int) or isinstance(other, int):
        return isinstance(one, int) and isinstance(other, int) and one == other
    return one.value == other.value


@overload
def ceil_divided(size: Number, by: Size) -> Number: ...
@overload
def ceil_divided(size: Size, by: Size) -> Size: ...
def ceil_divided(size: Size, by: Size) -> Size:
    """The quotient of sizes, rounded up."""
    return (size + (by - 1)) // by


def select(condition: Any, yes: Value | float, no: Value | float) -> Number:
    """One of both, of which one may be a Python number."""
    pair = [number(each) if isinstance(each, Value) else each for each in (yes, no)]
    return select_like(condition, *pair)


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


def _extreme(name: str, x: Any, y: Any) -> Number:
    like = number(x if isinstance(x, Value) else y)
    pair = [like.as_operand(x), like.as_operand(y)]
    has_sign = not any(getattr(each, "is_unsigned", False) for each in (like, *pair))
    kind = "imumf" if like.is_float else "si" if has_sign else "ui"
    made = operation(f"arith.{name}{kind}", pair, like.type)
    made.is_unsigned = not like.is_float and not has_sign
    return made


maximum, minimum = _extreme_of("max", max), _extreme_of("min", min)


def larger(x: Number, best: Number) -> Number:
    """The larger of an element and what was found so far, which NaN never becomes: one operation for processors."""
    return select(x > best, x, best)


# ---- division that no machine traps on ----
def divide(x: Number, y: Number) -> Number:
    """Integers round towards zero; an integer divided by 0 is 0."""
    return x / y if x.is_float else _divided("div", x, y)


def floor_divide(x: Number, y: Number) -> Number:
    """Rounded down; an integer divided by 0 is 0. Of floats the quotient is not rounded before, as in numpy."""
    if x.is_float:
        return intrinsic("floordiv", widened(x), widened(y)).to(x.dtype)
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
    return select(is_zero, 0, x.binary("", f"arith.{name}{'ui' if x.is_unsigned else 'si'}", safe))


def fma(x: Number, y: Operand, z: Operand) -> Number:
    """x * y + z, rounded once."""
    return operation("math.fma", [x, x.as_operand(y), x.as_operand(z)], x.type)


def polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Horner's scheme; the constant coefficient comes first."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def paired_polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Evaluate a polynomial by Estrin's scheme, whose longest chain of operations is shorter than Horner's.

    The constant coefficient comes first.
    """
    terms = [x.constant(each) for each in coefficients]
    power = x
    while len(terms) > 1:
        paired = [fma(power, high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = paired + terms[len(paired) * 2 :]
        power = power * power if len(terms) > 1 else power
    return terms[0]


def unary(name: str, x: Number) -> Number:
    """An operation that keeps the type: `unary("math.sqrt", x)`."""
    return operation(name, [x], x.type)


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
