# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on scalars inside of bodies, by element type: what signless MLIR types do not say, the caller does.

Element types are named as in the graph ("f32", "i8", "ui8", "i1"); unsigned ones are signless in PrimFuncs.
"""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from ...dialects.core.infos import bit_width, is_bool, is_float, is_unsigned
from ...dialects.tir import dialect as tir


def create(name: str, *operands: Any, type_: Any = None, **attributes: Any) -> Any:
    """An operation with one result, of the first operand's type unless told."""
    result = operands[0].type if type_ is None else type_
    return ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes).result


def constant(value: int | float | bool, type_: Any) -> Any:
    """A constant of a scalar type; integers wrap to its width."""
    if isinstance(type_, ir.FloatType):
        attribute = ir.FloatAttr.get(type_, float(value))
    else:
        attribute = ir.IntegerAttr.get(type_, _wrapped(int(value), type_))
    return ir.Operation.create("arith.constant", results=[type_], attributes={"value": attribute}).result


def _wrapped(value: int, type_: Any) -> int:
    width = 64 if isinstance(type_, ir.IndexType) else type_.width
    low = value & ((1 << width) - 1)
    return low - (1 << width) if width > 1 and low >> (width - 1) else low


def compare(predicate: str, left: Any, right: Any, dtype: str) -> Any:
    """`predicate`: eq, ne, lt, le, gt, ge. Comparisons with NaN are false, but ne is true."""
    i1 = ir.IntegerType.get_signless(1)
    i64 = ir.IntegerType.get_signless(64)
    if is_float(dtype):
        codes = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}
        return create("arith.cmpf", left, right, type_=i1, predicate=ir.IntegerAttr.get(i64, codes[predicate]))
    signed = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
    unsigned = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}
    codes = unsigned if is_unsigned(dtype) or is_bool(dtype) else signed
    return create("arith.cmpi", left, right, type_=i1, predicate=ir.IntegerAttr.get(i64, codes[predicate]))


def select(condition: Any, yes: Any, no: Any) -> Any:
    return create("arith.select", condition, yes, no, type_=yes.type)


def add(left: Any, right: Any, dtype: str) -> Any:
    return create("arith.addf" if is_float(dtype) else "arith.addi", left, right)


def subtract(left: Any, right: Any, dtype: str) -> Any:
    return create("arith.subf" if is_float(dtype) else "arith.subi", left, right)


def multiply(left: Any, right: Any, dtype: str) -> Any:
    return create("arith.mulf" if is_float(dtype) else "arith.muli", left, right)


def maximum(left: Any, right: Any, dtype: str) -> Any:
    """NaN when either is, as numpy has it."""
    if is_float(dtype):
        return create("arith.maximumf", left, right)
    return create("arith.maxui" if is_unsigned(dtype) else "arith.maxsi", left, right)


def minimum(left: Any, right: Any, dtype: str) -> Any:
    if is_float(dtype):
        return create("arith.minimumf", left, right)
    return create("arith.minui" if is_unsigned(dtype) else "arith.minsi", left, right)


def _safe_divisor(left: Any, right: Any, dtype: str) -> tuple[Any, Any]:
    """A divisor that no machine traps on, and whether the real one was 0: x / 0 is 0 here, as in numpy."""
    one = constant(1, right.type)
    is_zero = compare("eq", right, constant(0, right.type), dtype)
    safe = select(is_zero, one, right)
    if not is_unsigned(dtype):
        # The lowest number / -1 does not fit: dividing by 1 gives what wrapping around would.
        lowest = constant(1 << (bit_width(dtype) - 1), right.type)
        is_lowest = compare("eq", left, lowest, dtype)
        is_minus_one = compare("eq", right, constant(-1, right.type), dtype)
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
    is_rest = compare("ne", rest, zero, dtype)
    signs_differ = create("arith.xori", compare("lt", rest, zero, dtype), compare("lt", right, zero, dtype))
    return select(create("arith.andi", is_rest, signs_differ), add(rest, right, dtype), rest)
