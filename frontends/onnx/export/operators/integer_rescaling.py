# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporter of requantize: fixed-point forms in i64, form float in f32.

ONNX shifts unsigned integers only. A division by a power of two, which truncates, and the remainder replace the shift.
"""

from __future__ import annotations

from .....dialects.core.infos import bit_width, is_unsigned
from .....dialects.core.symbols import equal
from .....support.requantization import FRACTION_BITS, MOST_SHIFT
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import exports


@exports("relax.requantize")
def requantize(op: ExportedOp) -> Ref:
    whole = _float(op) if op.form == "float" else _double(op) if op.double_rounding else _once(op)
    total = op.node("Add", whole, _parameter(op, "zero_point", "i64"))
    dtype = op.result().dtype
    if not op.saturate:
        return op.cast(total, dtype)
    bits = bit_width(dtype) - (not is_unsigned(dtype))
    return op.cast(_clip(op, total, 0 if is_unsigned(dtype) else -(2**bits), 2**bits - 1), dtype)


def _once(op: ExportedOp) -> Ref:
    product = op.cast(op["data"], "i64")
    if op.form != "power_of_two":
        product = op.node("Mul", product, _parameter(op, "multiplier", "i64"))
    bits = FRACTION_BITS[op.form]
    places = op.node("Add", _shift(op), op.number(bits, "i64"))
    if bits < MOST_SHIFT:  # otherwise the places are never negative
        product = op.node("Mul", product, _power(op, op.node("Neg", places)))
    return _divide_rounded(op, product, _power(op, places))


def _double(op: ExportedOp) -> Ref:
    """Return gemmlowp's doubling high multiply, followed by a rounding division."""
    shift = _shift(op)
    left = op.node("Mul", op.cast(op["data"], "i64"), _power(op, op.node("Neg", shift)))
    # The lower 32 bits of the shifted sum.
    wrapped = op.cast(op.cast(left, "i32"), "i64")
    product = op.node("Mul", wrapped, _parameter(op, "multiplier", "i64"))
    high = _divide_rounded(op, product, op.number(2**31, "i64"), "half_up")
    return _divide_rounded(op, _clip(op, high, -(2**31), 2**31 - 1), _power(op, shift))


def _float(op: ExportedOp) -> Ref:
    product = op.node("Mul", op.cast(op["data"], "f32"), _parameter(op, "multiplier", "f32"))
    simple = {"half_even": "Round", "up": "Ceil", "down": "Floor"}
    if op.rounding in simple:
        rounded = op.node(simple[op.rounding], product)
    else:
        whole = op.node("Mul", op.node("Sign", product), op.node("Floor", op.node("Abs", product)))
        # Infinities minus themselves are NaN, for which no comparison holds.
        size = op.node("Abs", op.node("Sub", product, whole))
        rounded = op.node("Add", whole, _step(op, product, whole, size, op.number(0.5, "f32")))
    limited = _clip(op, rounded, -(2.0**31), 2.0**31)
    known = op.node("Where", op.node("IsNaN", limited), op.number(0, "f32"), limited)
    return _clip(op, op.cast(known, "i64"), -(2**31), 2**31 - 1)


def _divide_rounded(op: ExportedOp, number: Ref, divisor: Ref, rounding: str = "") -> Ref:
    """Return the rounded quotient of i64 and a power of two."""
    quotient = op.node("Div", number, divisor)
    rest = op.node("Sub", number, op.node("Mul", quotient, divisor))
    # Halves of the divisor are compared as a whole: twice the rest has at most 63 bits.
    size = op.node("Mul", op.node("Abs", rest), op.number(2, "i64"))
    return op.node("Add", quotient, _step(op, number, quotient, size, divisor, rounding))


def _step(op: ExportedOp, number: Ref, whole: Ref, size: Ref, tie: Ref, rounding: str = "") -> Ref:
    """Return the difference between a rounded number and its integer part: -1, 0 or 1.

    `size` is the distance from the integer part, and `tie` the distance of a tie, in the same unit.
    """
    rounding, dtype = rounding or op.rounding, number.dtype
    zero = op.number(0, dtype)
    sign = op.node("Sign", number)
    if rounding == "to_zero":
        return zero
    above, is_negative = op.node("Greater", size, tie), op.node("Less", number, zero)
    if rounding in ("up", "down"):
        is_away = is_negative if rounding == "down" else op.node("Not", is_negative)
        is_step = op.node("And", op.node("Greater", size, zero), is_away)
        return op.node("Where", is_step, sign, zero)
    is_tie = op.node("Equal", size, tie)
    if rounding == "half_even":
        is_away = op.cast(op.node("Mod", whole, op.number(2, dtype)), "i1")
    elif rounding in ("half_up", "half_down"):
        is_away = is_negative if rounding == "half_down" else op.node("Not", is_negative)
    else:
        is_away = op.const(rounding == "half_away", "i1")
    is_step = op.node("Or", above, op.node("And", is_tie, is_away))
    return op.node("Where", is_step, sign, zero)


def _power(op: ExportedOp, exponent: Ref) -> Ref:
    """Return 2**exponent, or 1 for a negative exponent."""
    table = op.const([2**place for place in range(63)], "i64")
    return op.node("Gather", table, op.node("Max", exponent, op.number(0, "i64")), axis=0)


def _shift(op: ExportedOp) -> Ref:
    return _clip(op, _parameter(op, "shift", "i64"), -MOST_SHIFT, MOST_SHIFT)


def _clip(op: ExportedOp, tensor: Ref, low: float, high: float) -> Ref:
    return op.node("Clip", tensor, op.number(low, tensor.dtype), op.number(high, tensor.dtype))


def _parameter(op: ExportedOp, name: str, dtype: str) -> Ref:
    """Return a parameter in the shape that broadcasts with the data."""
    tensor, shape = op.cast(op[name], dtype), op.shape(name)
    if not shape or equal(shape[0], 1) is True:
        return op.reshape(tensor, [])
    return op.along(tensor, op.axis_of("data", op.axis), op.rank("data"))
