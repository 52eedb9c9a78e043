# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on scalars inside of bodies, by element type: what signless MLIR types do not say, the caller does.

Element types are named as in the graph ("f32", "i8", "ui8", "i1"); unsigned ones are signless in PrimFuncs. The
functions take and give SSA values; what is the same for every type stands in emit/numbers.py.
"""

from __future__ import annotations

import operator
from typing import Any

from ..bindings.mlir import ir
from ..dialects.core.infos import bit_width, is_bool, is_float, is_unsigned, signless
from ..dialects.tir import dialect as tir
from . import numbers
from .numbers import Number, Operand, number

_COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def create(name: str, *operands: Any, type_: Any = None) -> Any:
    """An operation with one result, of the first operand's type unless told."""
    return numbers.operation(name, operands, operands[0].type if type_ is None else type_).value


def constant(value: int | float | bool, type_: Any) -> Any:
    """A constant of a scalar type; integers wrap to its width."""
    if not isinstance(type_, ir.FloatType):
        value = _wrapped(int(value), 64 if isinstance(type_, ir.IndexType) else type_.width)
    return numbers.constant(value, type_).value


def _wrapped(value: int, width: int) -> int:
    low = value & ((1 << width) - 1)
    return low - (1 << width) if width > 1 and low >> (width - 1) else low


def compare(sign: str, left: Any, right: Any, dtype: str) -> Any:
    """`sign`: ==, !=, <, <=, >, >=. Comparisons with NaN are false, but != is true."""
    if is_unsigned(dtype) or is_bool(dtype):
        return number(left).unsigned(sign, number(right)).value
    return _COMPARISONS[sign](number(left), number(right)).value


def select(condition: Any, yes: Any, no: Any) -> Any:
    return numbers.select(number(condition), number(yes), number(no)).value


def inverted(flag: Any) -> Any:
    return create("arith.xori", flag, constant(True, flag.type))


def incremented_if(flag: Any, count: Any) -> Any:
    """An index, one more where the flag is set."""
    return add(count, create("arith.index_castui", flag, type_=count.type), "index")


def add(left: Any, right: Any, dtype: str) -> Any:
    return (number(left) + number(right)).value


def subtract(left: Any, right: Any, dtype: str) -> Any:
    return (number(left) - number(right)).value


def multiply(left: Any, right: Any, dtype: str) -> Any:
    return (number(left) * number(right)).value


def larger(x: Number, y: Operand) -> Number:
    """Of floats or signed integers; NaN where either is."""
    other = y if isinstance(y, Number) else x.constant(y)
    return numbers.operation("arith.maximumf" if x.is_float else "arith.maxsi", [x, other], x.type)


def smaller(x: Number, y: Operand) -> Number:
    """Of floats or signed integers; NaN where either is."""
    other = y if isinstance(y, Number) else x.constant(y)
    return numbers.operation("arith.minimumf" if x.is_float else "arith.minsi", [x, other], x.type)


def maximum(left: Any, right: Any, dtype: str) -> Any:
    """NaN when either is, as numpy has it."""
    if is_unsigned(dtype) or is_bool(dtype):
        return create("arith.maxui", left, right)
    return larger(number(left), number(right)).value


def minimum(left: Any, right: Any, dtype: str) -> Any:
    if is_unsigned(dtype) or is_bool(dtype):
        return create("arith.minui", left, right)
    return smaller(number(left), number(right)).value


def _safe_divisor(left: Any, right: Any, dtype: str) -> tuple[Any, Any]:
    """A divisor that no machine traps on, and whether the real one was 0: x / 0 is 0 here, as in numpy."""
    one = constant(1, right.type)
    is_zero = compare("==", right, constant(0, right.type), dtype)
    safe = select(is_zero, one, right)
    if not is_unsigned(dtype):
        # The lowest number / -1 does not fit: dividing by 1 gives what wrapping around would.
        lowest = constant(1 << (bit_width(dtype) - 1), right.type)
        is_lowest = compare("==", left, lowest, dtype)
        is_minus_one = compare("==", right, constant(-1, right.type), dtype)
        safe = select(create("arith.andi", is_lowest, is_minus_one), one, safe)
    return safe, is_zero


def divide(left: Any, right: Any, dtype: str) -> Any:
    """Integers round towards zero; an integer divided by 0 is 0."""
    if is_float(dtype):
        return create("arith.divf", left, right)
    safe, is_zero = _safe_divisor(left, right, dtype)
    quotient = create("arith.divui" if is_unsigned(dtype) else "arith.divsi", left, safe)
    return select(is_zero, constant(0, left.type), quotient)


def floor_divide(left: Any, right: Any, dtype: str) -> Any:
    """Rounded down; an integer divided by 0 is 0."""
    if is_float(dtype):
        return tir.ops["floor"](divide(left, right, dtype))
    if is_unsigned(dtype):
        return divide(left, right, dtype)
    safe, is_zero = _safe_divisor(left, right, dtype)
    return select(is_zero, constant(0, left.type), create("arith.floordivsi", left, safe))


def remainder(left: Any, right: Any, dtype: str) -> Any:
    """With the sign of `left`; an integer modulo 0 is 0."""
    if is_float(dtype):
        return create("arith.remf", left, right)
    safe, is_zero = _safe_divisor(left, right, dtype)
    rest = create("arith.remui" if is_unsigned(dtype) else "arith.remsi", left, safe)
    return select(is_zero, constant(0, left.type), rest)


def floor_remainder(left: Any, right: Any, dtype: str) -> Any:
    """With the sign of `right`; an integer modulo 0 is 0."""
    rest = remainder(left, right, dtype)
    if is_unsigned(dtype):
        return rest
    zero = constant(0, left.type)
    is_rest = compare("!=", rest, zero, dtype)
    signs_differ = create("arith.xori", compare("<", rest, zero, dtype), compare("<", right, zero, dtype))
    return select(create("arith.andi", is_rest, signs_differ), add(rest, right, dtype), rest)


def from_index(value: Any, dtype: str) -> Any:
    """An index as a number of another type."""
    if dtype == "index":
        return value
    if not is_float(dtype):
        return create("arith.index_cast", value, type_=ir.Type.parse(signless(dtype)))
    wide = create("arith.index_cast", value, type_=ir.IntegerType.get_signless(64))
    if bit_width(dtype) >= 32:
        return create("arith.sitofp", wide, type_=ir.Type.parse(dtype))
    return numbers.to_float(number(create("arith.sitofp", wide, type_=ir.F32Type.get())), dtype).value


def to_index(value: Any, dtype: str) -> Any:
    """An integer as an index; unsigned ones that are too large become negative."""
    if dtype == "index":
        return value
    name = "arith.index_castui" if is_unsigned(dtype) or is_bool(dtype) else "arith.index_cast"
    return create(name, value, type_=ir.IndexType.get())
