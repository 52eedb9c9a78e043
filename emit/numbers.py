# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars and vectors with Python's operators, for rules: a Number is an SSA value with arithmetic.

    x = number(op.x)
    return select(x < 0.0, -x, x) * 2.0 + 1.0

Python numbers in operations with a Number become constants of its type. Comparisons of floats are ordered: with a NaN
they are false, and only `!=` is true. Integers are signed unless their type or `x.of("ui8")` says otherwise. Number
keeps the signedness that MLIR's signless types lack, and results inherit it. Static sizes are Python numbers.
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

#: Size or index: a number if static, else a computed value. Python's operators work on both; `//` and `%` require
#: operands that are not negative. Operations on static operands are folded.
Size = Union["Number", int]


class Number(Arithmetic):
    """Number for the computations of rules: `x.to("f32")` in addition to the operators."""

    __slots__ = ()

    def to(self, dtype: str, *, saturate: bool = False) -> Number:
        """Convert like relax.astype. `saturate`: a number too large for a small float becomes its largest number."""
        return converted(self, dtype, saturate)

    def astype(self, dtype: str) -> Number:
        """Convert like `to`, with TVM's names of types: "float16" is accepted, too."""
        return self.to(DTYPE_BY_NAME.get(dtype, dtype))


def number(value: Value) -> Number:
    """Return a scalar as a Number, `number(x) * 2.0 + 1.0`. Its `.value` is the SSA value."""
    return value if isinstance(value, Number) else Number(value)


def numbers(op: OpView) -> list[Number]:
    """Return the operands of an operation as Numbers."""
    return [Number(operand) for operand in op.operation.operands]


def given(values: Sequence[Value]) -> list[Value]:
    """Return the arguments of a body: Numbers for scalars, all other values unchanged."""
    scalars = (ir.FloatType, ir.IntegerType, ir.IndexType)
    return [Number(value) if isinstance(value.type, scalars) else value for value in values]


def operation(name: str, operands: Sequence[Value], result: Type, /, **attributes: Attribute) -> Number:
    """Create an operation and return its result as a Number."""
    return Number(result_of(name, operands, result, **attributes))


def intrinsic(name: str, *operands: Number) -> Number:
    """Call a function of tir: `intrinsic("exp", x)`."""
    return Number(tir.ops[name](*operands))


def constant(value: float | int, type_: Type | str) -> Number:
    """Return a constant scalar, or a vector of equal elements, of a type or of an element type's name.

    Integers wrap to the type's width.
    """
    if isinstance(type_, str):
        return Number(constant_value(value, element(type_)), unsigned=is_unsigned(type_))
    return Number(constant_value(value, type_))


def as_index(value: int | Value) -> Number:
    """Return a number or an integer value as a signed index."""
    if not isinstance(value, Value):
        return constant(value, ir.IndexType.get())
    if isinstance(value.type, ir.IndexType):
        return number(value)
    return operation("arith.index_cast", [value], ir.IndexType.get())


def as_i64(value: int | Value) -> Number:
    """Return a number or an integer value as a signed i64."""
    i64 = ir.IntegerType.get_signless(64)
    if not isinstance(value, Value):
        return constant(value, i64)
    return number(value) if value.type == i64 else number(value).to("i64")


def is_same(one: Size, other: Size) -> bool:
    """Return True if two sizes are known to be equal."""
    if isinstance(one, int) or isinstance(other, int):
        return isinstance(one, int) and isinstance(other, int) and one == other
    return one.value == other.value


@overload
def ceil_divided(size: Number, by: Size) -> Number: ...
@overload
def ceil_divided(size: Size, by: Size) -> Size: ...
def ceil_divided(size: Size, by: Size) -> Size:
    """Return the quotient of sizes, rounded up."""
    return (size + (by - 1)) // by


def select(condition: Any, yes: Value | float, no: Value | float) -> Number:
    """Select one of two values, of which one may be a Python number."""
    pair = [number(each) if isinstance(each, Value) else each for each in (yes, no)]
    return select_like(condition, *pair)


class _Extreme(Protocol):
    """Minimum or maximum: NaN if either operand is, as in NumPy, and a number for static sizes."""

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

    extreme.__doc__ = f"Return the {name}imum of two numbers, NaN if one is NaN. A number of Python may be one of them."
    return extreme


def _extreme(name: str, x: Any, y: Any) -> Number:
    like = number(x if isinstance(x, Value) else y)
    pair = [like.as_operand(x), like.as_operand(y)]
    has_sign = not any(getattr(value, "is_unsigned", False) for value in (like, *pair))
    kind = "imumf" if like.is_float else "si" if has_sign else "ui"
    made = operation(f"arith.{name}{kind}", pair, like.type)
    made.is_unsigned = not like.is_float and not has_sign
    return made


maximum = _extreme_of("max", max)
minimum = _extreme_of("min", min)


def larger(x: Number, best: Number) -> Number:
    """Return the larger of an element and the current maximum, which never becomes NaN.

    Processors need one instruction for this choice.
    """
    return select(x > best, x, best)


# ---- division that traps on no machine ----
def divide(x: Number, y: Number) -> Number:
    """Divide. Integers round towards zero; an integer divided by 0 is 0."""
    return x / y if x.is_float else _divide_integers("div", x, y)


def floor_divide(x: Number, y: Number) -> Number:
    """Divide and round down.

    An integer divided by 0 is 0. The quotient of floats is exact before rounding, as in NumPy.
    """
    if x.is_float:
        return intrinsic("floordiv", widened(x), widened(y)).to(x.dtype)
    return _divide_integers("div" if x.is_unsigned else "floordiv", x, y)


def remainder(x: Number, y: Number) -> Number:
    """Return the remainder with the sign of `x`. An integer modulo 0 is 0."""
    return operation("arith.remf", [x, y], x.type) if x.is_float else _divide_integers("rem", x, y)


def floor_remainder(x: Number, y: Number) -> Number:
    """Return the remainder with the sign of `y`. An integer modulo 0 is 0."""
    rest = remainder(x, y)
    return rest if x.is_unsigned else select((rest != 0) & ((rest < 0) ^ (y < 0)), rest + y, rest)


def _divide_integers(name: str, x: Number, y: Number) -> Number:
    """Divide integers. x / 0 is 0, as in NumPy."""
    is_zero = y == 0
    safe = select(is_zero, 1, y)
    if not x.is_unsigned:
        # The lowest number / -1 does not fit: dividing by 1 gives the wrapped result.
        safe = select((x == 1 << (x.bits - 1)) & (y == -1), 1, safe)
    return select(is_zero, 0, x.binary("", f"arith.{name}{'ui' if x.is_unsigned else 'si'}", safe))


def fma(x: Number, y: Operand, z: Operand) -> Number:
    """Return x * y + z, rounded once."""
    return operation("math.fma", [x, x.as_operand(y), x.as_operand(z)], x.type)


def polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Evaluate a polynomial by Horner's scheme. The constant coefficient comes first."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def paired_polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Evaluate a polynomial by Estrin's scheme, whose longest chain of operations is shorter than Horner's.

    The constant coefficient comes first.
    """
    terms = [x.constant(coefficient) for coefficient in coefficients]
    power = x
    while len(terms) > 1:
        paired = [fma(power, high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = paired + terms[len(paired) * 2 :]
        power = power * power if len(terms) > 1 else power
    return terms[0]


def unary(name: str, x: Number) -> Number:
    """Apply an operation that keeps the type: `unary("math.sqrt", x)`."""
    return operation(name, [x], x.type)


def on_each_element(function: Callable[..., Number], *operands: Number) -> Number:
    """Apply a function of scalars. Vectors are processed element by element."""
    result = operands[0]
    if not isinstance(result.type, ir.VectorType):
        return function(*operands)
    for position in itertools.product(*map(range, result.type.shape)):
        place = ir.DenseI64ArrayAttr.get(list(position))
        scalars = [
            operation("vector.extract", [operand], operand.element, static_position=place) for operand in operands
        ]
        result = operation("vector.insert", [function(*scalars), result], result.type, static_position=place)
    return result
